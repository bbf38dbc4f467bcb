// Asian call options by simulation: each path draws STEPS normal numbers (xorshift and Box-Muller), moves the price by them, and pays
// the mean of its prices above the strike 1.

constexpr int STEPS = 504;

__device__ __forceinline__ float draw(unsigned &state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (state >> 8) * 5.9604645e-8f + 2.9802322e-8f;
}

__device__ __forceinline__ void step(unsigned &state, float &price, float &sum, float drift, float width) {
    const float u = draw(state), v = draw(state);
    const float radius = sqrtf(fmaxf(-2.0f * __logf(u), 0.0f)) * __cosf(6.2831853f * (v - 0.5f));
    price *= __expf(drift + width * radius);
    sum += price;
}

// A thread a path.
extern "C" __global__ void paths_a(const unsigned *__restrict__ seeds, float *__restrict__ payoffs, float drift, float width) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = seeds[at] | 1u;
    float price = 1.0f, sum = 0.0f;
#pragma unroll
    for (int t = 0; t < STEPS; ++t) step(state, price, sum, drift, width);
    payoffs[at] = fmaxf(sum / STEPS - 1.0f, 0.0f);
}

extern "C" __global__ void paths_b(const unsigned *__restrict__ seeds, float *__restrict__ payoffs, float drift, float width) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = seeds[at] | 1u;
    float price = 1.0f, sum = 0.0f;
#pragma unroll 4
    for (int t = 0; t < STEPS; ++t) step(state, price, sum, drift, width);
    payoffs[at] = fmaxf(sum / STEPS - 1.0f, 0.0f);
}

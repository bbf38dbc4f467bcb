// y = sin(x) * (sum over k < 4 of exp(-(d - k)^2 / 2)), where x is beyond the range in which sinf needs no table.
constexpr int CENTRES = 4;

// Removes whole turns. x is below 411,774 (16 bits of turns), so that the product with 6.28125 (8 bits) is exact.
__device__ __forceinline__ float within_a_turn(float x) {
    const float turns = rintf(x * 0.15915494f);
    return fmaf(turns, -1.0253132e-11f, fmaf(turns, -1.93530717e-3f, fmaf(turns, -6.28125f, x)));
}

__device__ __forceinline__ float bumps(float d) {
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < CENTRES; ++k) {
        const float u = d - k;
        sum += expf(-0.5f * u * u);
    }
    return sum;
}

__device__ __forceinline__ float double_bumps(float d) {
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < CENTRES; ++k) {
        const float u = d - k;
        sum += exp(-0.5 * u * u);
    }
    return sum;
}

extern "C" __global__ void wave(const float *x, const float *d, float *y, int N) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = sinf(within_a_turn(x[i])) * bumps(d[i]);
}

extern "C" __global__ void slow_sine(const float *x, const float *d, float *y, int N) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = sinf(x[i]) * bumps(d[i]);
}

extern "C" __global__ void double_exp(const float *x, const float *d, float *y, int N) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = sinf(within_a_turn(x[i])) * double_bumps(d[i]);
}

extern "C" __global__ void slow_sine_double_exp(const float *x, const float *d, float *y, int N) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = sinf(x[i]) * double_bumps(d[i]);
}

// y = h / sqrt(mean(h * h) + 1e-5) * w with h = x + r, for rows of 2048 values: a residual addition and an RMS norm.
constexpr int COLUMNS = 2048, THREADS = 256;

__device__ __forceinline__ float block_sum(float v) {
    __shared__ float parts[THREADS / 32];
#pragma unroll
    for (int half = 16; half > 0; half /= 2) v += __shfl_xor_sync(0xffffffffu, v, half);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int warp = 0; warp < THREADS / 32; ++warp) sum += parts[warp];
    return sum;
}

__device__ __forceinline__ float4 added(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__device__ __forceinline__ float squares(float4 a) { return a.x * a.x + a.y * a.y + (a.z * a.z + a.w * a.w); }

__device__ __forceinline__ void normalise(float4 first, float4 second, const float4 *w, float4 *y) {
    const float scale = rsqrtf(block_sum(squares(first) + squares(second)) / COLUMNS + 1e-5f);
    const float4 one = w[threadIdx.x], two = w[THREADS + threadIdx.x];
    float4 *const row = y + blockIdx.x * (COLUMNS / 4) + threadIdx.x;
    row[0] = make_float4(first.x * scale * one.x, first.y * scale * one.y, first.z * scale * one.z, first.w * scale * one.w);
    row[THREADS] = make_float4(second.x * scale * two.x, second.y * scale * two.y, second.z * scale * two.z, second.w * scale * two.w);
}

// A block a row.
extern "C" __global__ void __launch_bounds__(THREADS) add_norm(const float4 *x, const float4 *r, const float4 *w, float4 *y) {
    const int at = blockIdx.x * (COLUMNS / 4) + threadIdx.x;
    normalise(added(x[at], r[at]), added(x[at + THREADS], r[at + THREADS]), w, y);
}

extern "C" __global__ void __launch_bounds__(THREADS) add(const float4 *x, const float4 *r, float4 *h) {
    const int at = blockIdx.x * (COLUMNS / 4) + threadIdx.x;
    h[at] = added(x[at], r[at]);
    h[at + THREADS] = added(x[at + THREADS], r[at + THREADS]);
}

extern "C" __global__ void __launch_bounds__(THREADS) norm_rows(const float4 *h, const float4 *w, float4 *y) {
    const int at = blockIdx.x * (COLUMNS / 4) + threadIdx.x;
    normalise(h[at], h[at + THREADS], w, y);
}

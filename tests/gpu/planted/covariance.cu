// C = X^T X / K for X [K, N] in fp32. A block of 256 threads computes 128 x 128 of C, a thread 8 x 8. N is a multiple of 128, K of 8.
__device__ __forceinline__ void covariance(const float *__restrict__ x, float *__restrict__ c, int N, int K) {
    __shared__ __align__(16) float left[8][128];
    __shared__ __align__(16) float right[8][128];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 128, column = blockIdx.x * 128;
    const int line = threadIdx.x / 32, chunk = threadIdx.x % 32 * 4;
    float sums[8][8] = {};
    for (int k = 0; k < K; k += 8) {
        const float *const from = x + static_cast<size_t>(k + line) * N;
        *reinterpret_cast<float4 *>(&left[line][chunk]) = *reinterpret_cast<const float4 *>(from + row + chunk);
        *reinterpret_cast<float4 *>(&right[line][chunk]) = *reinterpret_cast<const float4 *>(from + column + chunk);
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 8; ++kk) {
            float a[8], b[8];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float4 p = *reinterpret_cast<const float4 *>(&left[kk][half * 64 + ty * 4]);
                const float4 q = *reinterpret_cast<const float4 *>(&right[kk][half * 64 + tx * 4]);
                a[half * 4] = p.x, a[half * 4 + 1] = p.y, a[half * 4 + 2] = p.z, a[half * 4 + 3] = p.w;
                b[half * 4] = q.x, b[half * 4 + 1] = q.y, b[half * 4 + 2] = q.z, b[half * 4 + 3] = q.w;
            }
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
        }
        __syncthreads();
    }
    const float scale = 1.0f / K;
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float *const to = c + static_cast<size_t>(row + i / 4 * 64 + ty * 4 + i % 4) * N + column + half * 64 + tx * 4;
            *reinterpret_cast<float4 *>(to) = make_float4(sums[i][half * 4] * scale, sums[i][half * 4 + 1] * scale,
                                                          sums[i][half * 4 + 2] * scale, sums[i][half * 4 + 3] * scale);
        }
}

// Four blocks an SM, to hide latency.
extern "C" __global__ void __launch_bounds__(256, 4) covariance_four(const float *__restrict__ x, float *__restrict__ c, int N, int K) {
    covariance(x, c, N, K);
}

extern "C" __global__ void __launch_bounds__(256, 2) covariance_two(const float *__restrict__ x, float *__restrict__ c, int N, int K) {
    covariance(x, c, N, K);
}

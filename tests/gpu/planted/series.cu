// Power series at many places by Horner's rule, the coefficient of the highest power first. A thread a place; a block of 128 holds a part
// of the coefficients at a time. K is a multiple of 8192.
constexpr int PART = 8192;

__device__ __forceinline__ void fetch(const float *__restrict__ coefficients, int first, float *held) {
    __syncthreads();
#pragma unroll 8
    for (int at = threadIdx.x; at < PART / 4; at += 128)
        reinterpret_cast<float4 *>(held)[at] = reinterpret_cast<const float4 *>(coefficients + first)[at];
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(128) series_plain(const float *__restrict__ x, const float *__restrict__ coefficients, float *__restrict__ y, int K) {
    __shared__ __align__(16) float held[PART];
    const int at = blockIdx.x * 128 + threadIdx.x;
    const float place = x[at];
    float sum = 0.0f;
    for (int first = 0; first < K; first += PART) {
        fetch(coefficients, first, held);
#pragma unroll 16
        for (int k = 0; k < PART; ++k) sum = fmaf(sum, place, held[k]);
    }
    y[at] = sum;
}

// Eight series in the eighth power of x.
extern "C" __global__ void __launch_bounds__(128) series_eight(const float *__restrict__ x, const float *__restrict__ coefficients, float *__restrict__ y, int K) {
    __shared__ __align__(16) float held[PART];
    const int at = blockIdx.x * 128 + threadIdx.x;
    const float place = x[at], square = place * place, fourth = square * square, eighth = fourth * fourth;
    float sums[8] = {};
    for (int first = 0; first < K; first += PART) {
        fetch(coefficients, first, held);
#pragma unroll 4
        for (int k = 0; k < PART; k += 8)
#pragma unroll
            for (int j = 0; j < 8; ++j) sums[j] = fmaf(sums[j], eighth, held[k + j]);
    }
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; ++j) sum = fmaf(sum, place, sums[j]);
    y[at] = sum;
}

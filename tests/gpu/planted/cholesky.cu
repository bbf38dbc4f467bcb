// Cholesky factors of small symmetric matrices A + shift I, n x n with n <= 8, stored with 64 floats each. Only the lower triangle of A is
// read; above the diagonal the result is 0. A thread factors a matrix in shared memory; a block loads and stores 128 matrices together.
template <int STRIDE> __device__ __forceinline__ void factor(const float *__restrict__ a, float *__restrict__ l, int n, float shift, float *space) {
    const size_t first = static_cast<size_t>(blockIdx.x) * 128 * 64;
    for (int at = threadIdx.x; at < 128 * 64; at += 128) space[at / 64 * STRIDE + at % 64] = a[first + at];
    __syncthreads();
    float *const m = space + threadIdx.x * STRIDE;
    for (int j = 0; j < n; ++j) {
        float pivot = m[j * 8 + j] + shift;
        for (int k = 0; k < j; ++k) pivot -= m[j * 8 + k] * m[j * 8 + k];
        const float inverse = rsqrtf(pivot);
        m[j * 8 + j] = pivot * inverse;
        for (int i = j + 1; i < n; ++i) {
            float sum = m[i * 8 + j];
            for (int k = 0; k < j; ++k) sum -= m[i * 8 + k] * m[j * 8 + k];
            m[i * 8 + j] = sum * inverse;
            m[j * 8 + i] = 0.0f;
        }
    }
    __syncthreads();
    for (int at = threadIdx.x; at < 128 * 64; at += 128) l[first + at] = space[at / 64 * STRIDE + at % 64];
}

extern "C" __global__ void __launch_bounds__(128) factor_64(const float *__restrict__ a, float *__restrict__ l, int n, float shift) {
    __shared__ float space[128 * 64];
    factor<64>(a, l, n, shift, space);
}

extern "C" __global__ void __launch_bounds__(128) factor_65(const float *__restrict__ a, float *__restrict__ l, int n, float shift) {
    __shared__ float space[128 * 65];
    factor<65>(a, l, n, shift, space);
}

// The end of a branch of a residual network in half precision: y = residual + scale * silu(x + bias), silu(v) = v / (1 + exp(-v)).
// x, residual, y are [M, N], bias is [N].
#include <cuda_fp16.h>

// An element a thread.
extern "C" __global__ void add_bias(const __half *__restrict__ x, const __half *__restrict__ bias, __half *__restrict__ u, int N) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    u[at] = __float2half(__half2float(x[at]) + __half2float(bias[at % N]));
}

extern "C" __global__ void activate(const __half *__restrict__ u, __half *__restrict__ v) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const float value = __half2float(u[at]);
    v[at] = __float2half(__fdividef(value, 1.0f + __expf(-value)));
}

extern "C" __global__ void add_residual(const __half *__restrict__ v, const __half *__restrict__ residual, __half *__restrict__ y, float scale) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    y[at] = __float2half(__half2float(residual[at]) + scale * __half2float(v[at]));
}

// Eight elements a thread.
extern "C" __global__ void whole_branch(const uint4 *__restrict__ x, const uint4 *__restrict__ bias, const uint4 *__restrict__ residual, uint4 *__restrict__ y, int N, float scale) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 xs = x[at], biases = bias[at % (N / 8)], residuals = residual[at];
    uint4 out;
    const __half *const in = reinterpret_cast<const __half *>(&xs), *const b = reinterpret_cast<const __half *>(&biases);
    const __half *const r = reinterpret_cast<const __half *>(&residuals);
    __half *const o = reinterpret_cast<__half *>(&out);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float value = __half2float(in[k]) + __half2float(b[k]);
        o[k] = __float2half(__half2float(r[k]) + scale * __fdividef(value, 1.0f + __expf(-value)));
    }
    y[at] = out;
}

// SPDX-License-Identifier: MIT
// A row a block: y = weight * x / sqrt(mean(x^2) + eps).
#include <cuda_fp16.h>

extern "C" __global__ void rms_norm(const __half* x, const float* weight, __half* y, int columns, float eps)
{
    __shared__ float partial[32];
    const __half* row = x + (size_t)blockIdx.x * columns;
    float sum = 0.0f;
    for (int at = threadIdx.x; at < columns; at += blockDim.x) {
        const float value = __half2float(row[at]);
        sum += value * value;
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (threadIdx.x == 0) partial[0] = rsqrtf(sum / columns + eps);
    }
    __syncthreads();
    for (int at = threadIdx.x; at < columns; at += blockDim.x)
        y[(size_t)blockIdx.x * columns + at] = __float2half(weight[at] * __half2float(row[at]) * partial[0]);
}

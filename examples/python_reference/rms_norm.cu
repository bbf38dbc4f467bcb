// SPDX-License-Identifier: MIT
// A row a block: y = weight * x / sqrt(mean(x^2) + eps). A lane takes eight columns at a time, which is one load of 16 bytes of x:
// `columns` is a multiple of eight.
#include <cuda_fp16.h>

struct alignas(16) Eight {
    __half2 pair[4];
};

extern "C" __global__ void rms_norm(const Eight* __restrict__ x, const float4* __restrict__ weight, Eight* __restrict__ y,
                                    int columns, float eps)
{
    __shared__ float partial[32];
    const int groups = columns / 8;
    const Eight* row = x + (size_t)blockIdx.x * groups;
    float sum = 0.0f;
    for (int at = threadIdx.x; at < groups; at += blockDim.x) {
        const Eight values = row[at];
        for (int i = 0; i < 4; ++i) {
            const float2 value = __half22float2(values.pair[i]);
            sum += value.x * value.x + value.y * value.y;
        }
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
    const float scale = partial[0];
    for (int at = threadIdx.x; at < groups; at += blockDim.x) {
        const Eight values = row[at];
        const float4 weights[2] = {weight[2 * at], weight[2 * at + 1]};
        Eight scaled;
        for (int i = 0; i < 4; ++i) {
            const float2 value = __half22float2(values.pair[i]);
            const float2 by = i % 2 == 0 ? make_float2(weights[i / 2].x, weights[i / 2].y) : make_float2(weights[i / 2].z, weights[i / 2].w);
            scaled.pair[i] = __floats2half2_rn(by.x * value.x * scale, by.y * value.y * scale);
        }
        y[(size_t)blockIdx.x * groups + at] = scaled;
    }
}

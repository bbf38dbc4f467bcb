#include <cuda_fp16.h>

// Blocks of 32 elements as 8-bit integers with a scale, as quantised formats have them.
struct Block {
    half scale, sum;
    signed char q[32];
};

__device__ void quantise(const float* x, Block* y, int blocks, float most) {
    int block = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (block >= blocks) return;
    float value = x[(long long)block * 32 + lane], largest = fabsf(value);
    for (int o = 16; o > 0; o /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, o));
    float scale = largest / most;
    int q = scale > 0.0f ? (int)rintf(value / scale) : 0, sum = q;
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    y[block].q[lane] = (signed char)q;
    if (lane == 0) y[block].scale = __float2half(scale), y[block].sum = __float2half(scale * sum);
}

extern "C" __global__ void quantised_blocks(const float* x, Block* y, int blocks) { quantise(x, y, blocks, 127.0f); }

// A coarser scale: every field is near, and wrong.
extern "C" __global__ void coarser_blocks(const float* x, Block* y, int blocks) { quantise(x, y, blocks, 120.0f); }

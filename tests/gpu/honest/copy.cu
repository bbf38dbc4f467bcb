// Honest copies: wide, by few threads, by many launches, by launches that overlap, and through a grid barrier.
#include <cooperative_groups.h>

// 16 bytes a thread and step.
extern "C" __global__ void copy_wide(const float4* x, float4* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) y[i] = x[i];
}

// 4 bytes a thread and step. Neighbours of a warp are `blockDim.x * gridDim.x / 32` elements apart: no access is coalesced.
extern "C" __global__ void copy_strided(const float* x, float* y, int n) {
    const int threads = gridDim.x * blockDim.x;
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int place = thread % 32 * (threads / 32) + thread / 32;
    for (int i = place; i < n; i += threads) y[i] = x[i];
}

// A part of the buffers, after the launch before it. A launch without the attribute returns from the barrier at once.
extern "C" __global__ void copy_part(const float4* x, float4* y, int n) {
    cudaGridDependencySynchronize();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) y[i] = x[i];
}

// Each block copies the half of another block's elements after all have copied the first half.
extern "C" __global__ void copy_cooperative(const float* x, float* y, int n) {
    const int threads = gridDim.x * blockDim.x;
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = thread; i < n / 2; i += threads) y[i] = x[i];
    cooperative_groups::this_grid().sync();
    for (int i = n / 2 + threads - 1 - thread; i < n; i += threads) y[i] = x[i];
}

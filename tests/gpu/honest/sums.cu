// Honest sums of rows: a block or a warp a row, atomics, a grid barrier, two launches, and the block that ends last.
#include <cooperative_groups.h>

// The sum of `value` over the block, in thread 0.
__device__ float block_sum(float value) {
    __shared__ float warps[32];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
    if (threadIdx.x == 0)
        for (int warp = 0; warp < (blockDim.x + 31) / 32; ++warp) sum += warps[warp];
    return sum;
}

// The sum of this block's part of row blockIdx.y, in thread 0.
__device__ float part_of_row(const float* x, int columns) {
    const float* row = x + (size_t)blockIdx.y * columns;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += gridDim.x * blockDim.x) sum += row[i];
    return block_sum(sum);
}

// A block a row if the grid has one block along x.
extern "C" __global__ void sum_rows(const float* x, float* y, int columns) {
    const float sum = part_of_row(x, columns);
    if (threadIdx.x == 0) y[blockIdx.y] = sum;
}

// y is 0 before the launch.
extern "C" __global__ void sum_atomics(const float* x, float* y, int columns) {
    const float sum = part_of_row(x, columns);
    if (threadIdx.x == 0) atomicAdd(&y[blockIdx.y], sum);
}

extern "C" __global__ void sum_parts(const float* x, float* parts, int columns) {
    const float sum = part_of_row(x, columns);
    if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// A warp a row of parts.
extern "C" __global__ void add_parts(const float* parts, float* y, int blocks) {
    cudaGridDependencySynchronize();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < blocks; i += 32) sum += parts[blockIdx.x * blocks + i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void sum_cooperative(const float* x, float* parts, float* y, int columns) {
    const float sum = part_of_row(x, columns);
    if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x > 0) return;
    float total = 0.0f;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) total += parts[blockIdx.y * gridDim.x + i];
    total = block_sum(total);
    if (threadIdx.x == 0) y[blockIdx.y] = total;
}

// The block that ends last in a row adds the parts, and leaves the counter at 0.
extern "C" __global__ void sum_last_block(const float* x, float* parts, unsigned* done, float* y, int columns) {
    __shared__ bool last;
    const float sum = part_of_row(x, columns);
    if (threadIdx.x == 0) {
        parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&done[blockIdx.y], 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float total = 0.0f;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) total += __ldcg(&parts[blockIdx.y * gridDim.x + i]);
    total = block_sum(total);
    if (threadIdx.x == 0) {
        y[blockIdx.y] = total;
        done[blockIdx.y] = 0;
    }
}

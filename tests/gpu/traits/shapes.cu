// Kernels that one shape cannot launch: a row of dynamic shared memory, and one that takes whole tiles.
__global__ void row_in_shared(const float* x, float* y, int columns) {
    extern __shared__ float row[];
    const float* from = x + (size_t)blockIdx.x * columns;
    for (int at = threadIdx.x; at < columns; at += blockDim.x) row[at] = from[at];
    __syncthreads();
    for (int at = threadIdx.x; at < columns; at += blockDim.x) y[(size_t)blockIdx.x * columns + at] = row[columns - 1 - at];
}

__global__ void row_by_tiles(const float* x, float* y, int columns) {
    const int tile = blockDim.x * 4;
    for (int start = blockIdx.y * tile; start < columns; start += gridDim.y * tile)
        for (int at = threadIdx.x; at < tile; at += blockDim.x)
            y[(size_t)blockIdx.x * columns + start + at] = x[(size_t)blockIdx.x * columns + columns - 1 - start - at];
}

extern "C" __global__ void row_reversed(const float* x, float* y, int columns) {
    for (int at = threadIdx.x; at < columns; at += blockDim.x)
        y[(size_t)blockIdx.x * columns + at] = x[(size_t)blockIdx.x * columns + columns - 1 - at];
}

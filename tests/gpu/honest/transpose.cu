// Honest transposes of an R x C matrix, with blocks of 32 x 8 threads: writes that are not coalesced, reads that are not, and neither.

extern "C" __global__ void transpose_reads(const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    for (int i = 0; i < 32; i += 8)
        if (row + i < rows && column < columns) y[(size_t)column * rows + row + i] = x[(size_t)(row + i) * columns + column];
}

extern "C" __global__ void transpose_writes(const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.y * 32 + threadIdx.x, column = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (row < rows && column + i < columns) y[(size_t)(column + i) * rows + row] = x[(size_t)row * columns + column + i];
}

extern "C" __global__ void transpose_tiled(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[32][33];
    const int row = blockIdx.y * 32, column = blockIdx.x * 32;
    for (int i = threadIdx.y; i < 32; i += 8)
        if (row + i < rows && column + threadIdx.x < columns)
            tile[i][threadIdx.x] = x[(size_t)(row + i) * columns + column + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        if (row + threadIdx.x < rows && column + i < columns)
            y[(size_t)(column + i) * rows + row + threadIdx.x] = tile[threadIdx.x][i];
}

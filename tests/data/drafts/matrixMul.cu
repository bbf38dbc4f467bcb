// A square product through shared memory, as a sample of a toolkit has it.
#define TILE_WIDTH 16
__global__ void matrixMulShared(float* d_M, float* d_N, float* d_P, int width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int Row = by * TILE_WIDTH + ty;
    int Col = bx * TILE_WIDTH + tx;
    float value = 0;
    for (int ph = 0; ph < (width + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
        Mds[ty][tx] = Row < width && ph * TILE_WIDTH + tx < width ? d_M[Row * width + ph * TILE_WIDTH + tx] : 0;
        Nds[ty][tx] = Col < width && ph * TILE_WIDTH + ty < width ? d_N[(ph * TILE_WIDTH + ty) * width + Col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) value += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < width && Col < width) d_P[Row * width + Col] = value;
}

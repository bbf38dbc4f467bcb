// y = A x for a sparse matrix in compressed rows.

// A warp a row.
extern "C" __global__ void __launch_bounds__(256) spmv_warp(const int *starts, const int *columns, const float *values, const float *x, float *y,
                                                            int ROWS) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= ROWS) return;
    const int end = starts[row + 1];
    float sum = 0.0f;
#pragma unroll 4
    for (int at = starts[row] + lane; at < end; at += 32) sum = fmaf(values[at], x[columns[at]], sum);
#pragma unroll
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    if (lane == 0) y[row] = sum;
}

// A thread a row.
extern "C" __global__ void __launch_bounds__(256) spmv_thread(const int *starts, const int *columns, const float *values, const float *x, float *y,
                                                              int ROWS) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS) return;
    const int end = starts[row + 1];
    float sum = 0.0f;
#pragma unroll 4
    for (int at = starts[row]; at < end; ++at) sum = fmaf(values[at], x[columns[at]], sum);
    y[row] = sum;
}

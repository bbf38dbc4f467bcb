// y[r] = sum of the squares of row r. The grid's y axis splits the columns; y is 0 before the launch.

// A thread a row: the grid is ROWS / 256 blocks in x.
__device__ __forceinline__ void thread_a_row(const float *x, float *y, int COLUMNS) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x, part = COLUMNS / gridDim.y;
    const float *const from = x + static_cast<size_t>(row) * COLUMNS + blockIdx.y * part;
    float sums[4] = {};
#pragma unroll 1
    for (int c = 0; c < part; c += 4) {
#pragma unroll
        for (int k = 0; k < 4; ++k) sums[k] = fmaf(from[c + k], from[c + k], sums[k]);
    }
    const float sum = sums[0] + sums[1] + (sums[2] + sums[3]);
    if (gridDim.y == 1) y[row] = sum;
    else atomicAdd(&y[row], sum);
}

// A warp a row; a block of 8 warps takes rows until all are done.
__device__ __forceinline__ void warp_a_row(const float *x, float *y, int COLUMNS, int ROWS) {
    const int lane = threadIdx.x % 32;
    for (int row = blockIdx.x * 8 + threadIdx.x / 32; row < ROWS; row += gridDim.x * 8) {
        const float4 *const from = reinterpret_cast<const float4 *>(x + static_cast<size_t>(row) * COLUMNS);
        float sums[4] = {};
#pragma unroll 4
        for (int c = lane; c < COLUMNS / 4; c += 32) {
            const float4 four = from[c];
            sums[0] = fmaf(four.x, four.x, sums[0]);
            sums[1] = fmaf(four.y, four.y, sums[1]);
            sums[2] = fmaf(four.z, four.z, sums[2]);
            sums[3] = fmaf(four.w, four.w, sums[3]);
        }
        float sum = sums[0] + sums[1] + (sums[2] + sums[3]);
#pragma unroll
        for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
        if (lane == 0) y[row] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(256) rownorm_thread(const float *x, float *y, int COLUMNS, int ROWS) {
    thread_a_row(x, y, COLUMNS);
}

extern "C" __global__ void __launch_bounds__(256) rownorm_thread_split(const float *x, float *y, int COLUMNS, int ROWS) {
    thread_a_row(x, y, COLUMNS);
}

extern "C" __global__ void __launch_bounds__(256) rownorm_warp_looped(const float *x, float *y, int COLUMNS, int ROWS) {
    warp_a_row(x, y, COLUMNS, ROWS);
}

extern "C" __global__ void __launch_bounds__(256) rownorm_warp(const float *x, float *y, int COLUMNS, int ROWS) {
    warp_a_row(x, y, COLUMNS, ROWS);
}

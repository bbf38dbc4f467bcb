// Honest prefix sums of rows, in which an element waits for its neighbours: one warp a row, and one block a row.

extern "C" __global__ void scan_warp(const float* x, float* y, int columns) {
    const size_t start = (size_t)blockIdx.x * columns;
    float before = 0.0f;
    for (int at = 0; at < columns; at += 32) {
        const int i = at + threadIdx.x;
        float sum = i < columns ? x[start + i] : 0.0f;
        for (int offset = 1; offset < 32; offset *= 2) {
            const float left = __shfl_up_sync(0xffffffffu, sum, offset);
            if (threadIdx.x >= offset) sum += left;
        }
        if (i < columns) y[start + i] = before + sum;
        before += __shfl_sync(0xffffffffu, sum, 31);
    }
}

extern "C" __global__ void scan_block(const float* x, float* y, int columns) {
    __shared__ float warps[32];
    const size_t start = (size_t)blockIdx.x * columns;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float before = 0.0f;
    for (int at = 0; at < columns; at += blockDim.x) {
        const int i = at + threadIdx.x;
        float sum = i < columns ? x[start + i] : 0.0f;
        for (int offset = 1; offset < 32; offset *= 2) {
            const float left = __shfl_up_sync(0xffffffffu, sum, offset);
            if (lane >= offset) sum += left;
        }
        if (lane == 31) warps[warp] = sum;
        __syncthreads();
        float left = 0.0f, all = 0.0f;
        for (int other = 0; other < blockDim.x / 32; ++other) {
            if (other < warp) left += warps[other];
            all += warps[other];
        }
        if (i < columns) y[start + i] = before + left + sum;
        before += all;
        __syncthreads();
    }
}

// Inclusive prefix sums of rows of 1024 integers, a block a row.
constexpr int COLUMNS = 1024;

// 256 threads: four values a thread, then the warp by shuffles, then the 8 warps.
extern "C" __global__ void __launch_bounds__(256) scan_shuffled(const int *x, int *y) {
    __shared__ int totals[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, at = blockIdx.x * (COLUMNS / 4) + threadIdx.x;
    int4 v = reinterpret_cast<const int4 *>(x)[at];
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    int sum = v.w;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int left = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += left;
    }
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    int before = sum - v.w;
#pragma unroll
    for (int other = 0; other < 7; ++other)
        if (other < warp) before += totals[other];
    reinterpret_cast<int4 *>(y)[at] = make_int4(v.x + before, v.y + before, v.z + before, v.w + before);
}

// 1024 threads: ten steps in shared memory.
extern "C" __global__ void __launch_bounds__(1024) scan_stepped(const int *x, int *y) {
    __shared__ int sums[COLUMNS];
    const int t = threadIdx.x;
    sums[t] = x[blockIdx.x * COLUMNS + t];
    __syncthreads();
#pragma unroll 1
    for (int step = 1; step < COLUMNS; step *= 2) {
        const int left = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] += left;
        __syncthreads();
    }
    y[blockIdx.x * COLUMNS + t] = sums[t];
}

// A draw from each row of 1024 whole weights: the first index at which the running sum exceeds draws[row] % total. A block of 256 a row.
constexpr int WIDTH = 1024;

extern "C" __global__ void __launch_bounds__(256) sample_walk(const int4 *__restrict__ weights, const unsigned *__restrict__ draws, int *__restrict__ chosen) {
    __shared__ int4 row[WIDTH / 4];
    __shared__ int choice;
    row[threadIdx.x] = weights[blockIdx.x * (WIDTH / 4) + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        const int *const one = reinterpret_cast<const int *>(row);
        int total = 0;
        for (int c = 0; c < WIDTH; ++c) total += one[c];
        const int target = draws[blockIdx.x] % max(total, 1);
        int sum = 0, c = 0;
        while (c < WIDTH - 1 && (sum += one[c]) <= target) ++c;
        choice = c;
    }
    __syncthreads();
    if (threadIdx.x == 32) chosen[blockIdx.x] = choice;
}

extern "C" __global__ void __launch_bounds__(256) sample_scan(const int4 *__restrict__ weights, const unsigned *__restrict__ draws, int *__restrict__ chosen) {
    __shared__ int sums[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int4 own = weights[blockIdx.x * (WIDTH / 4) + threadIdx.x];
    const int four = own.x + own.y + own.z + own.w;
    int upto = four;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, upto, d);
        if (lane >= d) upto += other;
    }
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    int total = 0, before = 0;
#pragma unroll
    for (int w = 0; w < 8; ++w) {
        if (w == warp) before = total;
        total += sums[w];
    }
    const int target = draws[blockIdx.x] % max(total, 1), end = before + upto, start = end - four;
    // Of a row without weights the last index, as of the walk.
    if (total == 0 && threadIdx.x == 255) chosen[blockIdx.x] = WIDTH - 1;
    if (start <= target && target < end) {
        int c = 0, sum = start + own.x;
        if (sum <= target) c = 1, sum += own.y;
        if (c == 1 && sum <= target) c = 2, sum += own.z;
        if (c == 2 && sum <= target) c = 3;
        chosen[blockIdx.x] = threadIdx.x * 4 + c;
    }
}

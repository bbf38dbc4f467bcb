// y[z, r, c] = sum over 27 taps of taps[dz, dr, dc] * x[z + dz, r + dr, c + dc]; x is larger by 2 along each axis. A block of 32 * 16
// threads marches along z with one plane in shared memory and three sums a thread. X is a multiple of 32, Y of 16.
constexpr int COLUMNS = 32, ROWS = 16, WIDE = COLUMNS + 2, HIGH = ROWS + 2;

__constant__ float taps[27];

__device__ __forceinline__ void march(const float *x, float *y, int X, int Y, int first, int planes) {
    __shared__ float plane[HIGH * WIDE];
    const int column = blockIdx.x * COLUMNS, row = blockIdx.y * ROWS, thread = threadIdx.y * COLUMNS + threadIdx.x;
    const int pitch = X + 2, area = (X + 2) * (Y + 2);
    // The second element of a thread; only the first 100 threads have one.
    const int second = thread + COLUMNS * ROWS;
    const float *const corner = x + static_cast<size_t>(first) * area + row * pitch + column;
    const int one = thread / WIDE * pitch + thread % WIDE, two = second / WIDE * pitch + second % WIDE;
    const float *const mine = plane + threadIdx.y * WIDE + threadIdx.x;
    float *to = y + static_cast<size_t>(first) * X * Y + (row + threadIdx.y) * X + column + threadIdx.x;
    float oldest = 0.0f, middle = 0.0f;
#pragma unroll 1
    for (int z = 0; z < planes + 2; ++z) {
        const float *const from = corner + static_cast<size_t>(z) * area;
        plane[thread] = from[one];
        if (second < HIGH * WIDE) plane[second] = from[two];
        __syncthreads();
        float newest = 0.0f;
#pragma unroll
        for (int dr = 0; dr < 3; ++dr) {
#pragma unroll
            for (int dc = 0; dc < 3; ++dc) {
                const float v = mine[dr * WIDE + dc];
                newest = fmaf(taps[dr * 3 + dc], v, newest);
                middle = fmaf(taps[9 + dr * 3 + dc], v, middle);
                oldest = fmaf(taps[18 + dr * 3 + dc], v, oldest);
            }
        }
        if (z >= 2) {
            *to = oldest;
            to += static_cast<size_t>(X) * Y;
        }
        oldest = middle;
        middle = newest;
        __syncthreads();
    }
}

// Grid: X / 32, Y / 16.
extern "C" __global__ void __launch_bounds__(512, 4) conv3d_columns(const float *x, float *y, int X, int Y, int Z) {
    march(x, y, X, Y, 0, Z);
}

// Grid: X / 32, Y / 16, parts of z.
extern "C" __global__ void __launch_bounds__(512, 4) conv3d_slabs(const float *x, float *y, int X, int Y, int Z) {
    const int planes = Z / gridDim.z;
    march(x, y, X, Y, blockIdx.z * planes, planes);
}

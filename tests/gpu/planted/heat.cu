// Explicit steps of the heat equation on an N x N plate whose surroundings are 0. N is a multiple of 32.
constexpr float RATE = 0.2f;

extern "C" __global__ void heat_step(const float *__restrict__ from, float *__restrict__ to, int N) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= N || column >= N) return;
    const int at = row * N + column;
    const float own = from[at];
    const float north = row > 0 ? from[at - N] : 0.0f, south = row + 1 < N ? from[at + N] : 0.0f;
    const float west = column > 0 ? from[at - 1] : 0.0f, east = column + 1 < N ? from[at + 1] : 0.0f;
    to[at] = own + RATE * (north + south + west + east - 4.0f * own);
}

// Eight steps at once: a tile of 32 x 32 with eight cells around it, of which each step loses one on every side.
constexpr int STEPS = 8, SIDE = 32 + 2 * STEPS;

extern "C" __global__ void __launch_bounds__(768) heat_eight(const float *__restrict__ from, float *__restrict__ to, int N) {
    __shared__ float plate[2][SIDE][SIDE];
    const int x = threadIdx.x, top = blockIdx.y * 32 - STEPS, left = blockIdx.x * 32 - STEPS;
    for (int y = threadIdx.y; y < SIDE; y += blockDim.y) {
        const int row = top + y, column = left + x;
        const bool inside = row >= 0 && row < N && column >= 0 && column < N;
        plate[0][y][x] = inside ? from[row * N + column] : 0.0f;
        plate[1][y][x] = 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        const float(*const old)[SIDE] = plate[step % 2];
        float(*const next)[SIDE] = plate[(step + 1) % 2];
        for (int y = threadIdx.y; y < SIDE; y += blockDim.y) {
            const int row = top + y, column = left + x;
            if (x > step && x < SIDE - 1 - step && y > step && y < SIDE - 1 - step && row >= 0 && row < N && column >= 0 && column < N) {
                const float own = old[y][x];
                next[y][x] = own + RATE * (old[y - 1][x] + old[y + 1][x] + old[y][x - 1] + old[y][x + 1] - 4.0f * own);
            }
        }
        __syncthreads();
    }
    for (int y = threadIdx.y; y < SIDE; y += blockDim.y)
        if (x >= STEPS && x < STEPS + 32 && y >= STEPS && y < STEPS + 32) to[(top + y) * N + left + x] = plate[STEPS % 2][y][x];
}

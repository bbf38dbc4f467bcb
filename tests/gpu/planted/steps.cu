// Twelve steps of smoothing along closed rows of 1024 values.
constexpr int COLUMNS = 1024, STEPS = 12;

__device__ __forceinline__ float smooth(float left, float here, float right) { return fmaf(0.25f, left + right, 0.5f * here); }

// One step.
extern "C" __global__ void one_step(const float *x, float *y) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x, column = at % COLUMNS, row = at - column;
    y[at] = smooth(x[row + (column + COLUMNS - 1) % COLUMNS], x[at], x[row + (column + 1) % COLUMNS]);
}

// All steps of a row by a block of 256 threads.
extern "C" __global__ void __launch_bounds__(256) all_steps(const float *x, float *y) {
    __shared__ float rows[2][COLUMNS];
    for (int c = threadIdx.x; c < COLUMNS; c += 256) rows[0][c] = x[blockIdx.x * COLUMNS + c];
    __syncthreads();
    for (int step = 0; step < STEPS; ++step) {
        const float *const from = rows[step % 2];
        for (int c = threadIdx.x; c < COLUMNS; c += 256)
            rows[(step + 1) % 2][c] = smooth(from[(c + COLUMNS - 1) % COLUMNS], from[c], from[(c + 1) % COLUMNS]);
        __syncthreads();
    }
    for (int c = threadIdx.x; c < COLUMNS; c += 256) y[blockIdx.x * COLUMNS + c] = rows[STEPS % 2][c];
}

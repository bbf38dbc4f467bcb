// Honest smoothing, sixteen steps of a three-point mean with fixed ends: each step needs the one before it.
#include <cooperative_groups.h>

__device__ float smoothed(const float* x, int i, int n) {
    return i == 0 || i == n - 1 ? x[i] : 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
}

// One step. A launch that overlaps with the one before it waits for its end.
extern "C" __global__ void step(const float* x, float* y, int n) {
    cudaGridDependencySynchronize();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = smoothed(x, i, n);
}

// All steps in one launch, with a grid barrier after each. Even steps end in y, so the last one does.
extern "C" __global__ void steps_cooperative(const float* x, float* t, float* y, int n) {
    const auto grid = cooperative_groups::this_grid();
    for (int s = 0; s < 16; ++s) {
        const float* from = s == 0 ? x : s % 2 == 0 ? y : t;
        float* to = s % 2 == 0 ? t : y;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = smoothed(from, i, n);
        grid.sync();
    }
}

// All steps in one launch: each block loads 16 elements more on each side and computes its own steps in shared memory.
extern "C" __global__ void steps_tiled(const float* x, float* y, int n) {
    constexpr int STEPS = 16, TILE = 1024, WIDTH = TILE + 2 * STEPS;
    __shared__ float tiles[2][WIDTH];
    const int first = blockIdx.x * TILE - STEPS;
    for (int i = threadIdx.x; i < WIDTH; i += blockDim.x) {
        const int at = first + i;
        tiles[0][i] = at >= 0 && at < n ? x[at] : 0.0f;
    }
    __syncthreads();
    for (int s = 0; s < STEPS; ++s) {
        const float* from = tiles[s % 2];
        float* to = tiles[1 - s % 2];
        for (int i = threadIdx.x; i < WIDTH; i += blockDim.x) {
            const int at = first + i;
            const bool fixed = at <= 0 || at >= n - 1 || i == 0 || i == WIDTH - 1;
            to[i] = fixed ? from[i] : 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < TILE && blockIdx.x * TILE + i < n; i += blockDim.x)
        y[blockIdx.x * TILE + i] = tiles[0][STEPS + i];
}

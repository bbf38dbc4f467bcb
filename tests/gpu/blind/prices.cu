// Exponential moving averages of S price series of T ticks each, x and y [S, T]:
// level += (x[s, t] - level) / period, from level = x[s, 0].

// A thread a series. Block: 128.
extern "C" __global__ void average_a(const float *__restrict__ x, float *__restrict__ y, int T, float period) {
    const size_t first = (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * T;
    float level = x[first];
#pragma unroll 8
    for (int t = 0; t < T; ++t) {
        level += (x[first + t] - level) / period;
        y[first + t] = level;
    }
}

// A warp 32 series, in tiles of 32 ticks. Block: 128.
extern "C" __global__ void average_b(const float *__restrict__ x, float *__restrict__ y, int T, float period) {
    __shared__ float tiles[4][32][33];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float(*const tile)[33] = tiles[warp];
    const size_t first = (static_cast<size_t>(blockIdx.x) * blockDim.x + warp * 32) * T;
    const float rate = 1.0f / period;
    float level = x[first + static_cast<size_t>(lane) * T];
    for (int t = 0; t < T; t += 32) {
#pragma unroll
        for (int s = 0; s < 32; ++s) tile[s][lane] = x[first + static_cast<size_t>(s) * T + t + lane];
        __syncwarp();
#pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            level += (tile[lane][k] - level) * rate;
            tile[lane][k] = level;
        }
        __syncwarp();
#pragma unroll
        for (int s = 0; s < 32; ++s) y[first + static_cast<size_t>(s) * T + t + lane] = tile[s][lane];
        __syncwarp();
    }
}

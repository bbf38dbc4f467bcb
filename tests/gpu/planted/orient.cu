// Histograms of gradient orientation: for each tile of 32 x 64 pixels, the gradient magnitudes summed in 8 bins over half a turn.
// A block of 256 threads a tile, a warp for 8 of its rows. W is a multiple of 32, H of 64.
constexpr int BINS = 8;

struct Gradient {
    int bin;
    float size;
};

// Central differences, clamped at the rim. Orientation in integers: the sine and cosine of k pi / 8, times 1024.
__device__ __forceinline__ Gradient gradient(const int *image, int row, int column, int H, int W) {
    const int left = max(column - 1, 0), right = min(column + 1, W - 1), up = max(row - 1, 0), down = min(row + 1, H - 1);
    int gx = image[row * W + right] - image[row * W + left];
    int gy = image[down * W + column] - image[up * W + column];
    const float size = sqrtf(static_cast<float>(gx * gx + gy * gy));
    if (gy < 0 || (gy == 0 && gx < 0)) gx = -gx, gy = -gy;
    int bin = 0;
    bin += gy * 946 >= gx * 392;
    bin += gy * 724 >= gx * 724;
    bin += gy * 392 >= gx * 946;
    bin += 0 >= gx * 1024;
    bin += gy * -392 >= gx * 946;
    bin += gy * -724 >= gx * 724;
    bin += gy * -946 >= gx * 392;
    return {bin, size};
}

extern "C" __global__ void __launch_bounds__(256) orient_tile(const int *__restrict__ image, float *__restrict__ histogram, int H, int W) {
    __shared__ float bins[BINS];
    if (threadIdx.x < BINS) bins[threadIdx.x] = 0.0f;
    __syncthreads();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int column = blockIdx.x * 32 + lane, first = blockIdx.y * 64 + warp * 8;
#pragma unroll 2
    for (int r = 0; r < 8; ++r) {
        const Gradient g = gradient(image, first + r, column, H, W);
        atomicAdd(&bins[g.bin], g.size);
    }
    __syncthreads();
    if (threadIdx.x < BINS) histogram[(blockIdx.y * gridDim.x + blockIdx.x) * BINS + threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(256) orient_lanes(const int *__restrict__ image, float *__restrict__ histogram, int H, int W) {
    __shared__ float bins[8][BINS][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int b = 0; b < BINS; ++b) bins[warp][b][lane] = 0.0f;
    const int column = blockIdx.x * 32 + lane, first = blockIdx.y * 64 + warp * 8;
#pragma unroll 2
    for (int r = 0; r < 8; ++r) {
        const Gradient g = gradient(image, first + r, column, H, W);
        bins[warp][g.bin][lane] += g.size;
    }
    __syncthreads();
    // Warp b adds up bin b.
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < 8; ++w) sum += bins[w][warp][lane];
#pragma unroll
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    if (lane == 0) histogram[(blockIdx.y * gridDim.x + blockIdx.x) * BINS + warp] = sum;
}

// Steps until |z| > 2 in z = z * z + c, at most 256, for a picture of H rows and W columns. A block of 1024 threads draws H / gridDim.x
// rows. All rounding is explicit, so that every kernel counts the same.
constexpr int LIMIT = 256;

__device__ __forceinline__ int steps(float real, float imaginary) {
    float a = 0.0f, b = 0.0f;
    int n = 0;
    for (; n < LIMIT; ++n) {
        const float aa = __fmul_rn(a, a), bb = __fmul_rn(b, b);
        if (__fadd_rn(aa, bb) > 4.0f) break;
        b = fmaf(__fadd_rn(a, a), b, imaginary);
        a = __fadd_rn(__fsub_rn(aa, bb), real);
    }
    return n;
}

__device__ __forceinline__ void draw(const float *across, const float *down, int *counts, int row, int W) {
    const float imaginary = down[row];
    for (int column = threadIdx.x; column < W; column += blockDim.x) counts[row * W + column] = steps(across[column], imaginary);
}

extern "C" __global__ void __launch_bounds__(1024, 2) escape_cyclic(const float *across, const float *down, int *counts, int H, int W) {
    for (int row = blockIdx.x; row < H; row += gridDim.x) draw(across, down, counts, row, W);
}

extern "C" __global__ void __launch_bounds__(1024, 2) escape_bands(const float *across, const float *down, int *counts, int H, int W) {
    const int rows = H / gridDim.x;
    for (int row = blockIdx.x * rows; row < (blockIdx.x + 1) * rows; ++row) draw(across, down, counts, row, W);
}

// y[r, c] = sum over 9 taps of binomial(8, k) / 256 * x[r, c + k], for rows of W values of y and W + 8 of x.
#define TAPS {1 / 256.0f, 8 / 256.0f, 28 / 256.0f, 56 / 256.0f, 70 / 256.0f, 56 / 256.0f, 28 / 256.0f, 8 / 256.0f, 1 / 256.0f}

template <class Float> __device__ __forceinline__ void blur_row(Float *x, float *y, int W) {
    constexpr float taps[9] = TAPS;
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    Float *const from = x + row * (W + 8) + column;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 9; ++k) sum = fmaf(taps[k], from[k], sum);
    y[row * W + column] = sum;
}

extern "C" __global__ void __launch_bounds__(256) blur_cached(const float *x, float *y, int W) { blur_row<const float>(x, y, W); }

extern "C" __global__ void __launch_bounds__(256) blur_volatile(const volatile float *x, float *y, int W) {
    blur_row<const volatile float>(x, y, W);
}

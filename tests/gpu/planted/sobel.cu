// Sobel's edges of an int16 picture, clamped at the rim: y = sqrt(gx^2 + gy^2) / 4000 * gain.
template <bool FLAT, bool DOUBLE> __device__ __forceinline__ void sobel(const short *__restrict__ x, float *__restrict__ y, long long H, long long W, float gain) {
    int row, column;
    if constexpr (FLAT) {
        const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
        if (at >= H * W) return;
        row = at / W;
        column = at % W;
    } else {
        row = blockIdx.y;
        column = blockIdx.x * blockDim.x + threadIdx.x;
        if (column >= W) return;
    }
    const int wide = W;
    const int up = max(row - 1, 0) * wide, down = min(row + 1, static_cast<int>(H) - 1) * wide, own = row * wide;
    const int left = max(column - 1, 0), right = min(column + 1, wide - 1);
    const int a = x[up + left], b = x[up + column], c = x[up + right], d = x[own + left], f = x[own + right], g = x[down + left], h = x[down + column],
              i = x[down + right];
    const int gx = c + 2 * f + i - a - 2 * d - g, gy = g + 2 * h + i - a - 2 * b - c;
    if constexpr (DOUBLE) {
        const float sx = gx * 0.001, sy = gy * 0.001;
        y[own + column] = sqrt(1e-12 + sx * sx + sy * sy) / 4.0 * gain;
    } else {
        const float sx = gx * 0.001f, sy = gy * 0.001f;
        y[own + column] = sqrtf(1e-12f + sx * sx + sy * sy) * 0.25f * gain;
    }
}

#define ENTRY(NAME, FLAT, DOUBLE)                                                                                                                         \
    extern "C" __global__ void __launch_bounds__(256) NAME(const short *__restrict__ x, float *__restrict__ y, long long H, long long W, float gain) { \
        sobel<FLAT, DOUBLE>(x, y, H, W, gain);                                                                                                            \
    }
ENTRY(sobel_flat_double, true, true)
ENTRY(sobel_flat, true, false)
ENTRY(sobel_double, false, true)
ENTRY(sobel_rows, false, false)

// y[r, c] = sum over T * T taps of w[dy, dx] * x[r + dy, c + dx]. A block of 32 * 8 threads computes 32 * 32 outputs, four a thread.
// Shared memory holds the taps and the block's part of x.
constexpr int COLUMNS = 32, ROWS = 32, LINES = 8, EACH = ROWS / LINES;

enum class Taps { Nested, Divided, Barriers };

template <Taps TAPS> __device__ __forceinline__ void convolve(const float *x, const float *w, float *y, int W, int T) {
    extern __shared__ float space[];
    const int width = COLUMNS + T - 1, height = ROWS + T - 1, pitch = W + T - 1;
    float *taps = space, *tile = space + T * T;
    const int thread = threadIdx.y * COLUMNS + threadIdx.x;
    const int row = blockIdx.y * ROWS, column = blockIdx.x * COLUMNS;
    for (int at = thread; at < T * T; at += COLUMNS * LINES) taps[at] = w[at];
    if constexpr (TAPS == Taps::Divided) {
        for (int at = thread; at < width * height; at += COLUMNS * LINES)
            tile[at] = x[(row + at / width) * pitch + column + at % width];
    } else {
        for (int r = threadIdx.y; r < height; r += LINES)
            for (int c = threadIdx.x; c < width; c += COLUMNS) tile[r * width + c] = x[(row + r) * pitch + column + c];
    }
    __syncthreads();
    float sum[EACH] = {};
    const float *mine = tile + threadIdx.y * width + threadIdx.x;
    if constexpr (TAPS == Taps::Divided) {
#pragma unroll 1
        for (int tap = 0; tap < T * T; ++tap) {
            const float weight = taps[tap];
            const float *from = mine + tap / T * width + tap % T;
#pragma unroll
            for (int k = 0; k < EACH; ++k) sum[k] = fmaf(weight, from[k * LINES * width], sum[k]);
        }
    } else {
#pragma unroll 1
        for (int dy = 0; dy < T; ++dy) {
#pragma unroll 1
            for (int dx = 0; dx < T; ++dx) {
                const float weight = taps[dy * T + dx];
                const float *from = mine + dy * width + dx;
#pragma unroll
                for (int k = 0; k < EACH; ++k) {
                    sum[k] = fmaf(weight, from[k * LINES * width], sum[k]);
                    if constexpr (TAPS == Taps::Barriers) __syncthreads();
                }
            }
        }
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) y[(row + threadIdx.y + k * LINES) * W + column + threadIdx.x] = sum[k];
}

extern "C" __global__ void __launch_bounds__(256) stencil(const float *x, const float *w, float *y, int W, int T) {
    convolve<Taps::Nested>(x, w, y, W, T);
}

extern "C" __global__ void __launch_bounds__(256) divided_taps(const float *x, const float *w, float *y, int W, int T) {
    convolve<Taps::Divided>(x, w, y, W, T);
}

extern "C" __global__ void __launch_bounds__(256) barrier_taps(const float *x, const float *w, float *y, int W, int T) {
    convolve<Taps::Barriers>(x, w, y, W, T);
}

// Launched with shared memory for the largest T.
extern "C" __global__ void __launch_bounds__(256) crowded_stencil(const float *x, const float *w, float *y, int W, int T) {
    convolve<Taps::Nested>(x, w, y, W, T);
}

extern "C" __global__ void __launch_bounds__(256) crowded_divided_taps(const float *x, const float *w, float *y, int W, int T) {
    convolve<Taps::Divided>(x, w, y, W, T);
}

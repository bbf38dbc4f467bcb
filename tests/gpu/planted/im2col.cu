// columns[c, i, j, row, column] = x[c, row + i - 1, column + j - 1], 0 outside: the patches of a 3 x 3 convolution with padding 1.

// Grid: rows, channels. A thread a column of the image.
extern "C" __global__ void im2col_rows(const float *x, float *columns, int C, int H, int W, int K) {
    const int row = blockIdx.x, c = blockIdx.y, column = threadIdx.x;
    if (column >= W) return;
    const float *const from = x + c * H * W;
    float *const to = columns + c * 9 * H * W + row * W + column;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
#pragma unroll
        for (int j = 0; j < 3; ++j) {
            const int r = row + i - 1, k = column + j - 1;
            const bool inside = r >= 0 && r < H && k >= 0 && k < W;
            to[(i * 3 + j) * H * W] = inside ? from[r * W + k] : 0.0f;
        }
    }
}

// An element a thread.
extern "C" __global__ void im2col_flat(const float *x, float *columns, int C, int H, int W, int K) {
    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long width = W, height = H, kernel = K;
    if (at >= C * kernel * kernel * height * width) return;
    const long long column = at % width, row = at / width % height;
    const long long j = at / (width * height) % kernel, i = at / (width * height * kernel) % kernel;
    const long long c = at / (width * height * kernel * kernel);
    const long long r = row + i - kernel / 2, k = column + j - kernel / 2;
    const bool inside = r >= 0 && r < height && k >= 0 && k < width;
    columns[at] = inside ? x[(c * height + r) * width + k] : 0.0f;
}

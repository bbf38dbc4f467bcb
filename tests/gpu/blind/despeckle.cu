// A median filter over windows of (2 R + 1)^2 pixels, R at most 3, clamped at the edges: the median by odd-even exchanges.

// Block: 32 x 8.
extern "C" __global__ void median_a(const float *__restrict__ x, float *__restrict__ y, int H, int W, int R) {
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    const int side = 2 * R + 1, count = side * side;
    float values[49];
    for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j) values[i * side + j] = x[min(max(row + i - R, 0), H - 1) * W + min(max(column + j - R, 0), W - 1)];
    for (int round = 0; round < count; ++round)
        for (int k = round % 2; k + 1 < count; k += 2) {
            const float low = fminf(values[k], values[k + 1]), high = fmaxf(values[k], values[k + 1]);
            values[k] = low;
            values[k + 1] = high;
        }
    y[row * W + column] = values[count / 2];
}

// R is 2.
extern "C" __global__ void median_b(const float *__restrict__ x, float *__restrict__ y, int H, int W, int) {
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    constexpr int R = 2, side = 2 * R + 1, count = side * side;
    float values[count];
#pragma unroll
    for (int i = 0; i < side; ++i)
#pragma unroll
        for (int j = 0; j < side; ++j) values[i * side + j] = x[min(max(row + i - R, 0), H - 1) * W + min(max(column + j - R, 0), W - 1)];
#pragma unroll
    for (int round = 0; round < count; ++round)
#pragma unroll
        for (int k = round % 2; k + 1 < count; k += 2) {
            const float low = fminf(values[k], values[k + 1]), high = fmaxf(values[k], values[k + 1]);
            values[k] = low;
            values[k + 1] = high;
        }
    y[row * W + column] = values[count / 2];
}

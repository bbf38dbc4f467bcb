// A bilateral filter over 5 x 5 pixels, clamped at the edges: neighbours count by distance and by likeness.

// Block: 32 x 8.
extern "C" __global__ void smooth(const float *__restrict__ x, float *__restrict__ y, int H, int W, float sharpness) {
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    const float centre = x[row * W + column];
    float sum = 0.0f, weights = 0.0f;
#pragma unroll
    for (int i = -2; i <= 2; ++i)
#pragma unroll
        for (int j = -2; j <= 2; ++j) {
            const float value = x[min(max(row + i, 0), H - 1) * W + min(max(column + j, 0), W - 1)], difference = value - centre;
            const float weight = __expf(-0.1f * (i * i + j * j) - sharpness * difference * difference);
            sum += weight * value;
            weights += weight;
        }
    y[row * W + column] = __fdividef(sum, weights);
}

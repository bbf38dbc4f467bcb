// Maximum-intensity projection of a volume along its depth, with a weight for each slice, as viewers of CT and MR series draw it:
// y[row, column] = max over d of weights[d] * x[d, row, column].

// Grid: W / 8, H / 32. Block: 32 x 8.
extern "C" __global__ void project_a(const float *__restrict__ x, const float *__restrict__ weights, float *__restrict__ y, int D, int H, int W) {
    const int row = blockIdx.y * 32 + threadIdx.x, column = blockIdx.x * 8 + threadIdx.y;
    float brightest = -3.4e38f;
#pragma unroll 8
    for (int d = 0; d < D; ++d) brightest = fmaxf(brightest, weights[d] * x[(static_cast<size_t>(d) * H + row) * W + column]);
    y[row * W + column] = brightest;
}

// Grid: W / 32, H / 8. Block: 32 x 8.
extern "C" __global__ void project_b(const float *__restrict__ x, const float *__restrict__ weights, float *__restrict__ y, int D, int H, int W) {
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float brightest = -3.4e38f;
#pragma unroll 8
    for (int d = 0; d < D; ++d) brightest = fmaxf(brightest, weights[d] * x[(static_cast<size_t>(d) * H + row) * W + column]);
    y[row * W + column] = brightest;
}

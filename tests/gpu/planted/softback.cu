// dx = y * (dy - sum of y * dy) for rows of 32 values: the backward pass of softmax. A warp a row.
__device__ __forceinline__ void back(const float *y, const float *dy, float *dx, int at) {
    const float p = y[at], slope = dy[at];
    float sum = p * slope;
#pragma unroll
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    dx[at] = p * (slope - sum);
}

// 256 threads a block: 8 rows.
extern "C" __global__ void softback_eight_rows(const float *y, const float *dy, float *dx) {
    back(y, dy, dx, blockIdx.x * blockDim.x + threadIdx.x);
}

// 32 threads a block.
extern "C" __global__ void softback_one_row(const float *y, const float *dy, float *dx) {
    back(y, dy, dx, blockIdx.x * blockDim.x + threadIdx.x);
}

// SPDX-License-Identifier: MIT
// Softmax of a row a block, in f32.
extern "C" __global__ void softmax(const float* x, float* y, int columns)
{
    __shared__ float shared[32];
    const float* row = x + (size_t)blockIdx.x * columns;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    float largest = -INFINITY;
    for (int at = threadIdx.x; at < columns; at += blockDim.x) largest = fmaxf(largest, row[at]);
    for (int o = 16; o > 0; o /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, o));
    if (lane == 0) shared[warp] = largest;
    __syncthreads();
    largest = shared[0];
    for (int i = 1; i < warps; ++i) largest = fmaxf(largest, shared[i]);
    __syncthreads();
    float sum = 0.0f;
    for (int at = threadIdx.x; at < columns; at += blockDim.x) sum += expf(row[at] - largest);
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    if (lane == 0) shared[warp] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int i = 0; i < warps; ++i) sum += shared[i];
    for (int at = threadIdx.x; at < columns; at += blockDim.x)
        y[(size_t)blockIdx.x * columns + at] = expf(row[at] - largest) / sum;
}

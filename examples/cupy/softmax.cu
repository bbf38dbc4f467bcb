// Softmax of rows. One block has one row.

// The sum or the maximum over a block, in every thread.
template <class Operation> __device__ float reduce(float value, Operation operation) {
    __shared__ float partial[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int offset = 16; offset > 0; offset /= 2)
        value = operation(value, __shfl_xor_sync(~0u, value, offset));
    __syncthreads();
    if (lane == 0)
        partial[warp] = value;
    __syncthreads();
    value = partial[0];
    for (int other = 1; other < blockDim.x / 32; ++other)
        value = operation(value, partial[other]);
    return value;
}

extern "C" __global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int columns) {
    const float* from = x + blockIdx.x * (long long)columns;
    float* to = y + blockIdx.x * (long long)columns;
    float largest = __int_as_float(0xff800000);
    for (int column = threadIdx.x; column < columns; column += blockDim.x)
        largest = fmaxf(largest, from[column]);
    largest = reduce(largest, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0;
    for (int column = threadIdx.x; column < columns; column += blockDim.x)
        sum += expf(from[column] - largest);
    sum = reduce(sum, [](float a, float b) { return a + b; });
    for (int column = threadIdx.x; column < columns; column += blockDim.x)
        to[column] = expf(from[column] - largest) / sum;
}

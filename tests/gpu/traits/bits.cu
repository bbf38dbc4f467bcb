// Row sums and softmaxes whose bits depend on the order of blocks, on the batch, or on nothing.

// The sum of `own` over all threads of a block of 256, in a fixed order.
__device__ float block_sum(float own) {
    __shared__ float sums[256];
    sums[threadIdx.x] = own;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    float sum = sums[0];
    __syncthreads();
    return sum;
}

__device__ float slice_sum(const float* x, int columns, int slices) {
    int width = columns / slices, first = blockIdx.x * width;
    float own = 0;
    for (int i = threadIdx.x; i < width; i += 256) own += x[(size_t)blockIdx.y * columns + first + i];
    return block_sum(own);
}

// Split-K with atomics: the slices of a row are added in the order in which their blocks end.
extern "C" __global__ void sum_atomically(const float* x, float* y, int columns, int slices) {
    float sum = slice_sum(x, columns, slices);
    if (threadIdx.x == 0) atomicAdd(&y[blockIdx.y], sum);
}

// Split-K in a fixed order: slices are stored, and another launch adds them from the first to the last.
extern "C" __global__ void sum_slices(const float* x, float* parts, int columns, int slices) {
    float sum = slice_sum(x, columns, slices);
    if (threadIdx.x == 0) parts[blockIdx.y * slices + blockIdx.x] = sum;
}

extern "C" __global__ void add_slices(const float* parts, float* y, int rows, int slices) {
    int row = blockIdx.x * 256 + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int slice = 0; slice < slices; ++slice) sum += parts[row * slices + slice];
    y[row] = sum;
}

// A row per block, its exponentials summed in `splits` parts.
__device__ void softmax(const float* x, float* y, int columns, int splits) {
    x += (size_t)blockIdx.x * columns;
    y += (size_t)blockIdx.x * columns;
    int width = columns / splits;
    float sum = 0;
    for (int split = 0; split < splits; ++split) {
        float own = 0;
        for (int i = threadIdx.x; i < width; i += 256) own += __expf(x[split * width + i]);
        sum += block_sum(own);
    }
    for (int i = threadIdx.x; i < columns; i += 256) y[i] = __expf(x[i]) / sum;
}

extern "C" __global__ void softmax_rows(const float* x, float* y, int columns) { softmax(x, y, columns, 1); }

// As attention kernels do: a small batch is split to fill the chip, and a large one is not.
extern "C" __global__ void softmax_split(const float* x, float* y, int columns) {
    softmax(x, y, columns, gridDim.x < 64 ? 8 : 1);
}

// A histogram: each block counts into shared memory and a second kernel merges; or all blocks add to counts that are cleared first.

extern "C" __global__ void count_blocks(const int *x, int *partial, int N, int BINS) {
    extern __shared__ int bins[];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) bins[bin] = 0;
    __syncthreads();
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < N; at += gridDim.x * blockDim.x) atomicAdd(&bins[x[at]], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) partial[blockIdx.x * BINS + bin] = bins[bin];
}

extern "C" __global__ void merge_blocks(const int *partial, int *counts, int BLOCKS, int BINS) {
    int count = 0;
    for (int block = threadIdx.x; block < BLOCKS; block += blockDim.x) count += partial[block * BINS + blockIdx.x];
    for (int half = 16; half > 0; half /= 2) count += __shfl_down_sync(0xffffffffu, count, half);
    if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

extern "C" __global__ void count_global(const int *x, int *counts, int N) {
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < N; at += gridDim.x * blockDim.x) atomicAdd(&counts[x[at]], 1);
}

// The right answer, by another way: a block a bin.
extern "C" __global__ void count_plainly(const int *x, int *counts, int N) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int count = 0;
    for (int at = threadIdx.x; at < N; at += blockDim.x) count += x[at] == int(blockIdx.x);
    atomicAdd(&total, count);
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

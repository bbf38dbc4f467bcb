// Sums of blocks, as a first pass leaves them for a second one: the number of partial results follows the block.
extern "C" __global__ void partial_sums(const float* x, float* y, int n) {
    __shared__ float shared[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = i < n ? x[i] : 0.0f;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    if (threadIdx.x == 0) y[blockIdx.x] = shared[0];
}

// The last partial result is left out.
extern "C" __global__ void partial_sums_but_last(const float* x, float* y, int n) {
    __shared__ float shared[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = i < n ? x[i] : 0.0f;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x) y[blockIdx.x] = shared[0];
}

// Sums that are added up in memory, which is zero before.
extern "C" __global__ void partial_sums_added(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) atomicAdd(y + blockIdx.x, sum);
}

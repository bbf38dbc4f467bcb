// Counts of bytes into counters that somebody has set to 0.
extern "C" __global__ void histogram_global(const unsigned char* data, unsigned* counts, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(counts + data[i], 1u);
}

// Counts of a block in shared memory first.
extern "C" __global__ void histogram_shared(const unsigned char* data, unsigned* counts, int n) {
    __shared__ unsigned own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(own + data[i], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(counts + i, own[i]);
}

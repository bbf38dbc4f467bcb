// Honest histograms of bytes: atomics in global memory, in shared memory, for each warp, and parts that a second launch adds.

extern "C" __global__ void count_global(const unsigned char* x, unsigned* counts, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[x[i]], 1u);
}

extern "C" __global__ void count_shared(const unsigned char* x, unsigned* counts, int n) {
    __shared__ unsigned bins[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) bins[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) atomicAdd(&counts[bin], bins[bin]);
}

// Eight warps a block, each with its own bins.
extern "C" __global__ void count_warps(const unsigned char* x, unsigned* counts, int n) {
    __shared__ unsigned bins[8][256];
    for (int bin = threadIdx.x; bin < 8 * 256; bin += blockDim.x) bins[bin / 256][bin % 256] = 0;
    __syncthreads();
    unsigned* own = bins[threadIdx.x / 32];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
        unsigned count = 0;
        for (int warp = 0; warp < 8; ++warp) count += bins[warp][bin];
        atomicAdd(&counts[bin], count);
    }
}

// The counts of a block, without atomics in global memory.
extern "C" __global__ void count_parts(const unsigned char* x, unsigned* parts, int n) {
    __shared__ unsigned bins[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) bins[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) parts[blockIdx.x * 256 + bin] = bins[bin];
}

extern "C" __global__ void add_parts(const unsigned* parts, unsigned* counts, int blocks) {
    unsigned count = 0;
    for (int block = 0; block < blocks; ++block) count += parts[block * 256 + threadIdx.x];
    counts[threadIdx.x] = count;
}

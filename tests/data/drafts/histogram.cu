#ifndef NUM_THREADS
#define NUM_THREADS 256
#endif
__global__ void histogram_smem(const unsigned char* __restrict__ data, unsigned int* hist, size_t n, int num_bins) {
    __shared__ unsigned int local[256];
    for (int b = threadIdx.x; b < num_bins; b += NUM_THREADS) local[b] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * (size_t)NUM_THREADS + threadIdx.x; i < n; i += (size_t)NUM_THREADS * gridDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < num_bins; b += NUM_THREADS) atomicAdd(&hist[b], local[b]);
}

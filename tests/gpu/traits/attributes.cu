// Products of rows and a vector: by clusters of any size, and by a block a row, with the vector in the L2 cache.
#include <cooperative_groups.h>

__device__ float sum_of_block(float value) {
    __shared__ float shared[256];
    __syncthreads();
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    return shared[0];
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
extern "C" __global__ void sum_by_clusters(const float *x, const float *w, float *y, int C) {
    __shared__ float part;
    const auto cluster = cooperative_groups::this_cluster();
    const unsigned blocks = cluster.num_blocks();
    const float *row = x + size_t(blockIdx.y) * C;
    float sum = 0.0f;
    for (int at = blockIdx.x * 256 + threadIdx.x; at < C; at += blocks * 256) sum += row[at] * w[at];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) part = sum;
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        float total = 0.0f;
        for (unsigned block = 0; block < blocks; block++) total += *cluster.map_shared_rank(&part, block);
        y[blockIdx.y] = total;
    }
    cluster.sync();
}
#endif

extern "C" __global__ void sum_rows(const float *x, const float *w, float *y, int C) {
    const float *row = x + size_t(blockIdx.y) * C;
    float sum = 0.0f;
    for (int at = threadIdx.x; at < C; at += 256) sum += row[at] * w[at];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) y[blockIdx.y] = sum;
}

// The right answer, in double precision: a thread a row.
extern "C" __global__ void sum_plainly(const float *x, const float *w, float *y, int C, int R) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) return;
    double sum = 0.0;
    for (int at = 0; at < C; at++) sum += double(x[size_t(row) * C + at]) * w[at];
    y[row] = float(sum);
}

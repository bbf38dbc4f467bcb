// Kernels of evaluations that are several launches.
#include <cooperative_groups.h>

// Split-K GEMM, c = a * b in f32: each slice of K writes its own part, and a second kernel adds the parts.
extern "C" __global__ void gemm_slice(const float *a, const float *b, float *parts, int M, int N, int K, int SLICES) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, slice = blockIdx.z;
    if (column >= N) return;
    const int depth = (K + SLICES - 1) / SLICES;
    float sum = 0.0f;
    for (int k = slice * depth; k < min(K, (slice + 1) * depth); k++)
        sum += a[row * K + k] * b[k * N + column];
    parts[(size_t(slice) * M + row) * N + column] = sum;
}

extern "C" __global__ void add_slices(const float *parts, float *c, int M, int N, int SLICES) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= M * N) return;
    float sum = 0.0f;
    for (int slice = 0; slice < SLICES; slice++) sum += parts[size_t(slice) * M * N + at];
    c[at] = sum;
}

// Row sums in two passes: a part a block, then all parts of a row.
template <int THREADS> __device__ float block_sum(float value) {
    __shared__ float shared[THREADS];
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    return shared[0];
}

template <int THREADS> __global__ void sum_parts(const float *x, float *parts, int C) {
    const float *row = x + size_t(blockIdx.y) * C;
    float sum = 0.0f;
    for (int at = blockIdx.x * THREADS + threadIdx.x; at < C; at += gridDim.x * THREADS) sum += row[at];
    sum = block_sum<THREADS>(sum);
    if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

template <int THREADS> __global__ void sum_rows(const float *parts, float *y, int PARTS) {
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize(); // at once where it is an ordinary launch
#endif
    float sum = 0.0f;
    for (int at = threadIdx.x; at < PARTS; at += THREADS) sum += parts[blockIdx.x * PARTS + at];
    sum = block_sum<THREADS>(sum);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// The same in one cooperative launch: all blocks are resident, so that they can wait for each other.
extern "C" __global__ void sum_cooperative(const float *x, float *parts, float *y, int C) {
    const float *row = x + size_t(blockIdx.y) * C;
    float sum = 0.0f;
    for (int at = blockIdx.x * 256 + threadIdx.x; at < C; at += gridDim.x * 256) sum += row[at];
    sum = block_sum<256>(sum);
    if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        float total = 0.0f;
        for (unsigned at = 0; at < gridDim.x; at++) total += parts[blockIdx.y * gridDim.x + at];
        y[blockIdx.y] = total;
    }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
// The same by a cluster of four blocks a row, which read each other's shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) sum_cluster(const float *x, float *y, int C) {
    __shared__ float part;
    const auto cluster = cooperative_groups::this_cluster();
    const float *row = x + size_t(blockIdx.y) * C;
    float sum = 0.0f;
    for (int at = blockIdx.x * 256 + threadIdx.x; at < C; at += gridDim.x * 256) sum += row[at];
    sum = block_sum<256>(sum);
    if (threadIdx.x == 0) part = sum;
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        float total = 0.0f;
        for (int block = 0; block < 4; block++) total += *cluster.map_shared_rank(&part, block);
        y[blockIdx.y] = total;
    }
    cluster.sync();
}
#endif

// Histogram: each block has its own, and a second kernel merges them; or all blocks add to one that is cleared first.
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

// The right answer: a block a bin.
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

// Layer normalisation in two kernels: mean and reciprocal deviation of every row, then the rows.
extern "C" __global__ void row_statistics(const float *x, float *mean, float *rstd, int C) {
    const float *row = x + size_t(blockIdx.x) * C;
    float sum = 0.0f, squares = 0.0f;
    for (int at = threadIdx.x; at < C; at += 256) {
        sum += row[at];
        squares += row[at] * row[at];
    }
    sum = block_sum<256>(sum);
    __syncthreads();
    squares = block_sum<256>(squares);
    if (threadIdx.x == 0) {
        const float m = sum / C;
        mean[blockIdx.x] = m;
        rstd[blockIdx.x] = rsqrtf(squares / C - m * m + 1e-5f);
    }
}

extern "C" __global__ void normalise(const float *x, const float *mean, const float *rstd, const float *weight,
                                     const float *bias, float *y, int R, int C) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= R * C) return;
    const int row = at / C, column = at % C;
    y[at] = (x[at] - mean[row]) * rstd[row] * weight[column] + bias[column];
}

// The right answer, in double precision: a thread a row.
extern "C" __global__ void layernorm_plainly(const float *x, const float *weight, const float *bias, float *mean,
                                             float *rstd, float *y, int R, int C) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) return;
    double sum = 0.0, squares = 0.0;
    for (int at = 0; at < C; at++) sum += x[size_t(row) * C + at];
    const double m = sum / C;
    for (int at = 0; at < C; at++) {
        const double off = x[size_t(row) * C + at] - m;
        squares += off * off;
    }
    const double r = 1.0 / sqrt(squares / C + 1e-5);
    mean[row] = float(m);
    rstd[row] = float(r);
    for (int at = 0; at < C; at++)
        y[size_t(row) * C + at] = float((x[size_t(row) * C + at] - m) * r * weight[at] + bias[at]);
}

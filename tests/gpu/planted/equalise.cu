// Histogram equalisation of an 8-bit picture of N pixels in three launches. N is a multiple of 16 * 256.
__device__ __forceinline__ void histogram(const uint4 *__restrict__ x, int *__restrict__ counts, int N) {
    // A histogram a warp.
    __shared__ int own[8][256];
    for (int at = threadIdx.x; at < 8 * 256; at += 256) own[at / 256][at % 256] = 0;
    __syncthreads();
    int *const mine = own[threadIdx.x / 32];
    for (int at = blockIdx.x * 256 + threadIdx.x; at < N / 16; at += gridDim.x * 256) {
        const uint4 in = x[at];
        const unsigned words[4] = {in.x, in.y, in.z, in.w};
#pragma unroll
        for (int w = 0; w < 4; ++w)
#pragma unroll
            for (int b = 0; b < 4; ++b) atomicAdd(&mine[words[w] >> (8 * b) & 255u], 1);
    }
    __syncthreads();
    int sum = 0;
    for (int w = 0; w < 8; ++w) sum += own[w][threadIdx.x];
    if (sum) atomicAdd(&counts[threadIdx.x], sum);
}

// Launched with a block for each 128 rows of the picture, or as many as fit.
extern "C" __global__ void __launch_bounds__(256) histogram_few(const uint4 *__restrict__ x, int *__restrict__ counts, int N) { histogram(x, counts, N); }
extern "C" __global__ void __launch_bounds__(256) histogram_full(const uint4 *__restrict__ x, int *__restrict__ counts, int N) { histogram(x, counts, N); }

// One block: table[v] = 255 * (pixels up to v) / N, rounded down.
extern "C" __global__ void __launch_bounds__(256) cumulate(const int *__restrict__ counts, unsigned char *__restrict__ table, int N) {
    __shared__ int sums[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int upto = counts[threadIdx.x];
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, upto, d);
        if (lane >= d) upto += other;
    }
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    for (int w = 0; w < warp; ++w) upto += sums[w];
    table[threadIdx.x] = static_cast<unsigned char>(255ll * upto / N);
}

// 16 neighbouring pixels a thread.
extern "C" __global__ void __launch_bounds__(256) apply_runs(const unsigned char *__restrict__ x, const unsigned char *__restrict__ table, unsigned char *__restrict__ y) {
    __shared__ unsigned char held[256];
    held[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    const size_t first = (static_cast<size_t>(blockIdx.x) * 256 + threadIdx.x) * 16;
#pragma unroll 4
    for (int k = 0; k < 16; ++k) y[first + k] = held[x[first + k]];
}

extern "C" __global__ void __launch_bounds__(256) apply_words(const uint4 *__restrict__ x, const unsigned char *__restrict__ table, uint4 *__restrict__ y) {
    __shared__ unsigned char held[256];
    held[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    const size_t at = static_cast<size_t>(blockIdx.x) * 256 + threadIdx.x;
    const uint4 in = x[at];
    unsigned words[4] = {in.x, in.y, in.z, in.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        unsigned out = 0;
#pragma unroll
        for (int b = 0; b < 4; ++b) out |= static_cast<unsigned>(held[words[w] >> (8 * b) & 255u]) << (8 * b);
        words[w] = out;
    }
    y[at] = make_uint4(words[0], words[1], words[2], words[3]);
}

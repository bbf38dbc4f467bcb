// Softmax of each row of a matrix: the smallest family, bound by memory.
//
//     y[r, :] = exp(x[r, :] - max(x[r, :])) / sum(exp(x[r, :] - max(x[r, :])))      x, y: [rows, cols] f32, contiguous
//
// THREADS / ROWS_PER_BLOCK threads share a row. They read it three times: for the maximum, the sum and the result. After
// the first pass the row is in the L1 or L2 cache, so that DRAM sees one read and one write.
//
// Launch: grid = [(R + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK], block = [THREADS], no dynamic shared memory.
// Static shared memory: 4 * THREADS / 32 bytes where a row is shared by more than a warp, else none.
//
// Macros
//   THREADS          threads in a block, a multiple of 32: 32 to 1024 (default 256)
//   ROWS_PER_BLOCK   rows of a block, each by THREADS / ROWS_PER_BLOCK threads, at least 32 (default 1)
//   VEC              elements in a load and a store: 1, 2, 4 (default 4). VEC > 1 asks for cols to be a multiple of VEC;
//                    a kernel launched with other cols writes nothing.
#ifndef THREADS
#define THREADS 256
#endif
#ifndef ROWS_PER_BLOCK
#define ROWS_PER_BLOCK 1
#endif
#ifndef VEC
#define VEC 4
#endif

#if THREADS % 32 != 0 || THREADS < 32 || THREADS > 1024
#error "THREADS must be a multiple of 32 from 32 to 1024"
#endif
#if ROWS_PER_BLOCK < 1 || THREADS % (32 * ROWS_PER_BLOCK) != 0
#error "ROWS_PER_BLOCK must leave each row a whole number of warps: THREADS % (32 * ROWS_PER_BLOCK) must be 0"
#endif
#if VEC != 1 && VEC != 2 && VEC != 4
#error "VEC must be 1, 2 or 4"
#endif

namespace {

constexpr int TEAM = THREADS / ROWS_PER_BLOCK;               // threads of a row
constexpr int TEAM_WARPS = TEAM / 32;
constexpr float LOG2E = 1.4426950408889634f;

struct alignas(4 * VEC) Pack {
    float of[VEC];
};

struct Max {
    __device__ static float join(float a, float b) { return fmaxf(a, b); }
};
struct Sum {
    __device__ static float join(float a, float b) { return a + b; }
};

// Joins a value over the threads of a row: by shuffles in a warp, through shared memory between warps.
template <typename Op>
__device__ float over_team(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value = Op::join(value, __shfl_xor_sync(0xffffffffu, value, step));
    if constexpr (TEAM_WARPS > 1) {
        __shared__ float of_warp[THREADS / 32];
        __syncthreads();                                     // the last reduction's values are no longer read
        if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
        __syncthreads();
        const int first = threadIdx.x / TEAM * TEAM_WARPS;
        value = of_warp[first];
#pragma unroll
        for (int w = 1; w < TEAM_WARPS; ++w) value = Op::join(value, of_warp[first + w]);
    }
    return value;
}

}  // namespace

extern "C" __global__ void softmax_rows(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    if (cols % VEC != 0) return;
    const int wanted = blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / TEAM;
    const int row = min(wanted, rows - 1);                   // threads past the end repeat the last row, and do not write
    const int packs = cols / VEC;
    const Pack* from = reinterpret_cast<const Pack*>(x + static_cast<size_t>(row) * cols);
    Pack* to = reinterpret_cast<Pack*>(y + static_cast<size_t>(row) * cols);

    float highest = __int_as_float(0xff800000);              // minus infinity
    for (int i = threadIdx.x % TEAM; i < packs; i += TEAM) {
        const Pack pack = from[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) highest = fmaxf(highest, pack.of[j]);
    }
    highest = over_team<Max>(highest);

    float sum = 0.0f;
    for (int i = threadIdx.x % TEAM; i < packs; i += TEAM) {
        const Pack pack = from[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) sum += exp2f((pack.of[j] - highest) * LOG2E);
    }
    sum = over_team<Sum>(sum);

    if (wanted >= rows) return;
    for (int i = threadIdx.x % TEAM; i < packs; i += TEAM) {
        Pack pack = from[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) pack.of[j] = exp2f((pack.of[j] - highest) * LOG2E) / sum;
        to[i] = pack;
    }
}

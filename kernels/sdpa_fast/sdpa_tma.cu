// Attention for large grids on Hopper: products by warpgroups (wgmma), tiles by the bulk tensor copy engine (TMA).
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, 64] f16, contiguous
//
// A block is one warpgroup and owns 64 query rows of a head. One thread has the engine copy tiles of K and V, swizzled as wgmma reads them, into
// STAGES slots; barriers that count bytes say when a tile is there. So no thread reckons addresses or waits for its own copies, which took
// a third of the instructions of the same kernel with cp.async. In each step
//
//     scores of the next tile, and this tile's output   on the tensor cores, in one go
//     maxima, exponentials, sums                        in registers
//
// take turns, and while one block's warps have the one, those of the SM's other blocks have the other. S is not split over blocks: where the grid
// leaves SMs without a block, sdpa_fast is faster.
//
// Launch: grid = [(S + 63) / 64, H, B], with CAUSAL [H, B, (S + 63) / 64]: there the last rows have the most keys, and those of all heads go first,
// so that no long block starts late. Batch and head are axes of the grid: a division by H delays the first copy of every block.
// block = [128], dynamic shared memory = 8192 + 256*STAGES*TILE_N bytes. Any S >= 1. sm_90a only.
// q_tiles, k_tiles, v_tiles are tensor maps of q, k, v with boxes of [1][1][64][64] (Q) and [1][1][TILE_N][64] (K, V), swizzled by 128 bytes.
//
// Macros
//   TILE_N      keys of a step: 64 (default), 128
//   STAGES      tiles of K and V in flight: 2 (default), 3, 4
//   CAUSAL      1: query i sees keys 0 to i. 0 (default): all keys
//   MIN_BLOCKS  blocks an SM should hold, for __launch_bounds__ (default 4)
#include "softmax.cuh"

#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 4
#endif

#if TILE_N != 64 && TILE_N != 128
#error "TILE_N must be 64 or 128"
#endif
#if STAGES < 2
#error "STAGES must be at least 2: the scores of a tile are computed with the output of the one before"
#endif
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "sdpa_tma needs sm_90a: wgmma and the bulk tensor copy engine are Hopper's. sdpa_fast runs elsewhere"
#endif

#include "hopper.cuh"

namespace {

constexpr int TILE_M = 64;
constexpr int THREADS = 128;
constexpr int TILE_BYTES = TILE_N * ROW_BYTES;       // a tile of K or of V
constexpr int Q_BYTES = TILE_M * ROW_BYTES;
constexpr int N_TILES = TILE_N / 8;
constexpr uint32_t ROW = ROW_BYTES >> 4;             // in units of descriptors

using Score = Scores<1, N_TILES>;

template <int COUNT>
__device__ __forceinline__ void pin(float (&blocks)[COUNT][4]) {
#pragma unroll
    for (int i = 0; i < COUNT * 4; ++i) ptx::pin(blocks[i / 4][i % 4]);
}

// Starts q . k^T.
__device__ __forceinline__ void multiply_keys(Score& score, uint32_t q_tile, uint32_t k_tile) {
    pin(score[0]);
    ptx::wgmma_begin();
#pragma unroll
    for (int n = 0; n < TILE_N; n += 64) {
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 16; ++d) ptx::wgmma_rows(score[0] + n / 8, q_tile + 2 * d, k_tile + n * ROW + 2 * d, d > 0);
    }
}

// Starts p . v.
__device__ __forceinline__ void multiply_values(Rows<1>& rows, const uint32_t (&weights)[TILE_N / 16][4], uint32_t v_tile) {
    pin(rows.out[0]);
    ptx::wgmma_begin();
#pragma unroll
    for (int k = 0; k < TILE_N / 16; ++k) ptx::wgmma_columns(rows.out[0], weights[k], v_tile + k * 16 * ROW);
}

// Waits for all products under way.
__device__ __forceinline__ void products_wait(Rows<1>& rows, Score& score) {
    ptx::wgmma_wait();
    pin(score[0]);
    pin(rows.out[0]);
}

// The slots' barriers: tile t is in slot t % STAGES, in that slot's phase t / STAGES.
struct Slots {
    uint64_t keys[STAGES], values[STAGES];   // complete when the tile is there
    uint64_t free[STAGES];                   // when every warp is done with it
};

__device__ __forceinline__ void wait(uint64_t (&barriers)[STAGES], int tile) {
    ptx::barrier_wait(ptx::shared_address(barriers) + 8 * (tile % STAGES), tile / STAGES & 1);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sdpa_tma(const __grid_constant__ CUtensorMap q_tiles, const __grid_constant__ CUtensorMap k_tiles, const __grid_constant__ CUtensorMap v_tiles,
             __half* __restrict__ o, int S, float scale) {
    extern __shared__ __align__(1024) char shared[];   // the Q tile; STAGES tiles of K; as many of V
    __shared__ uint64_t query_there;
    __shared__ Slots slots;
    const uint32_t q_tile = ptx::shared_address(shared), k_first = q_tile + Q_BYTES, v_first = k_first + STAGES * TILE_BYTES;

    const int batch = CAUSAL ? blockIdx.y : blockIdx.z, head = CAUSAL ? blockIdx.x : blockIdx.y, heads = CAUSAL ? gridDim.x : gridDim.y;
    const int first_row = (CAUSAL ? gridDim.z - 1 - blockIdx.z : blockIdx.x) * TILE_M;
    const int tiles = ((CAUSAL ? min(S, first_row + TILE_M) : S) + TILE_N - 1) / TILE_N;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0), lane = threadIdx.x % 32;   // by shfl: the compiler then knows that all lanes agree
    const bool leader = threadIdx.x == 0;
    const float log2_scale = scale * 1.4426950408889634f;

    const auto copy = [&](uint32_t to, const CUtensorMap& map, int row, uint64_t& barrier, int bytes) {
        const uint32_t there = ptx::shared_address(&barrier);
        ptx::barrier_expect(there, bytes);
        ptx::copy_box(to, map, batch, head, row, there);
    };
    const auto stage = [&](int tile) {
        const int slot = tile % STAGES;
        copy(k_first + slot * TILE_BYTES, k_tiles, tile * TILE_N, slots.keys[slot], TILE_BYTES);
        copy(v_first + slot * TILE_BYTES, v_tiles, tile * TILE_N, slots.values[slot], TILE_BYTES);
    };
    if (leader) {
        ptx::fetch_map(q_tiles);
        ptx::fetch_map(k_tiles);
        ptx::fetch_map(v_tiles);
        ptx::barrier_init(ptx::shared_address(&query_there), 1);
        for (int slot = 0; slot < STAGES; ++slot) {
            ptx::barrier_init(ptx::shared_address(&slots.keys[slot]), 1);
            ptx::barrier_init(ptx::shared_address(&slots.values[slot]), 1);
            ptx::barrier_init(ptx::shared_address(&slots.free[slot]), THREADS / 32);
        }
        ptx::barriers_publish();
        copy(q_tile, q_tiles, first_row, query_there, Q_BYTES);
        for (int tile = 0; tile < min(STAGES, tiles); ++tile) stage(tile);
    }
    __syncthreads();

    const uint32_t query = ptx::tile_descriptor(q_tile), keys = ptx::tile_descriptor(k_first), values = ptx::tile_descriptor(v_first);
    Rows<1> rows;
    Score score;
    uint32_t weights[TILE_N / 16][4];
    const auto weigh_all = [&](int tile) {
        const int end = (tile + 1) * TILE_N;
        if (end > S || (CAUSAL && end > first_row + 1)) mask(score, first_row + warp * 16, tile * TILE_N, S, lane);
        make_room(rows, score, log2_scale);
#pragma unroll
        for (int k = 0; k < TILE_N / 16; ++k) weigh(weights[k], rows, score, 0, k, log2_scale);
    };

    ptx::barrier_wait(ptx::shared_address(&query_there), 0);
    wait(slots.keys, 0);
    multiply_keys(score, query, keys);
    products_wait(rows, score);
    weigh_all(0);
#pragma unroll 1
    for (int tile = 0; tile + 1 < tiles; ++tile) {
        wait(slots.values, tile);
        multiply_values(rows, weights, values + tile % STAGES * TILE_N * ROW);
        wait(slots.keys, tile + 1);
        multiply_keys(score, query, keys + (tile + 1) % STAGES * TILE_N * ROW);
        products_wait(rows, score);
        if (lane == 0) ptx::barrier_arrive(ptx::shared_address(&slots.free[tile % STAGES]));
        if (leader && tile + STAGES < tiles) {
            wait(slots.free, tile);
            stage(tile + STAGES);
        }
        weigh_all(tile + 1);
    }
    wait(slots.values, tiles - 1);
    multiply_values(rows, weights, values + (tiles - 1) % STAGES * TILE_N * ROW);
    products_wait(rows, score);
    __syncthreads();   // nobody reads Q any more, where the result is put together
    write_rows(rows, shared, o + static_cast<size_t>(batch * heads + head) * S * HEAD_DIM, first_row, S, warp, lane);
}

// Attention for Hopper: heads of 64 or 128 dimensions, f16 or bf16, any number of keys.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, HEAD_DIM] of ELEMENT, contiguous
//
// A block owns 64 * WARPGROUPS query rows of a head, 64 for each warpgroup. The warpgroups share tiles of K and V, which the bulk tensor copy
// engine (TMA) brings into STAGES slots each, swizzled as wgmma reads them. Sharing is what matters: with 64 rows a block, the tiles come from L2 at
// 64 bytes a cycle and SM if the tensor cores are to be busy, and L2 gives about half of that.
//
// In each step a warpgroup starts two products, and computes exponentials under the second:
//
//     tensor cores   scores of tile t+1 | output of tile t                     | scores of tile t+2 ...
//     registers                         | maxima, exponentials, sums of t+1    | pack
//
// There is no producer warp. Who of the warps is the last to be done with a slot has it filled again: nobody waits for a free slot, and every register of
// the SM is for products.
//
// Launch: grid = [(S + TILE_M - 1) / TILE_M, H, B] with TILE_M = 64 * WARPGROUPS, with CAUSAL [H, B, (S + TILE_M - 1) / TILE_M]: there the last rows
// have the most keys, and those of all heads go first, so that no long block starts late.
// block = [128 * WARPGROUPS], dynamic shared memory = HEAD_DIM * (128 * WARPGROUPS + 4 * STAGES * TILE_N) bytes. Any S >= 1. sm_90a only.
// q_tiles, k_tiles, v_tiles are tensor maps of q, k, v with boxes of [1][1][64][64] (Q) and [1][1][TILE_N][64] (K, V), swizzled by 128 bytes.
//
// Macros
//   HEAD_DIM    dimensions of a head: 64, 128 (default)
//   ELEMENT     type of q, k, v, o and of the weights: f16 (default), bf16
//   CAUSAL      1: query i sees keys 0 to i. 0 (default): all keys
//   WARPGROUPS  of a block, each with 64 query rows: 1, 2 (default), 3
//   TILE_N      keys of a step: 64 (default), 80, 96, 112, 128
//   STAGES      tiles of K, and as many of V, in flight: 2 (default), 3, 4
//   MIN_BLOCKS  blocks an SM should hold, for __launch_bounds__ (default 1): with WARPGROUPS it decides how many registers a thread has
#include "step.cuh"

#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

namespace {

constexpr int THREADS = 128 * WARPGROUPS;

// The slots of K or of V: tile t is in slot t % STAGES, in the phase t / STAGES of that slot's barrier.
struct Slots {
    uint64_t there[STAGES];   // complete when the tile is there
    uint32_t done[STAGES];    // warps that are done with it
};

// Which keys the block's rows see: those of the first tiles, for each warpgroup as many as it has rows for.
struct Extent {
    int first_row, S;

    // Tiles that a warpgroup needs: none where all of its rows are outside.
    __device__ __forceinline__ int tiles(int warpgroup) const {
        const int first = first_row + warpgroup * WARPGROUP_ROWS;
        if (first >= S) return 0;
        return ((CAUSAL ? min(S, first + WARPGROUP_ROWS) : S) + TILE_N - 1) / TILE_N;
    }

    __device__ __forceinline__ int most_tiles() const { return ((CAUSAL ? min(S, first_row + TILE_M) : S) + TILE_N - 1) / TILE_N; }

    // Warps that read a tile.
    __device__ __forceinline__ uint32_t readers(int tile) const {
        uint32_t warps = 0;
#pragma unroll
        for (int w = 0; w < WARPGROUPS; ++w) warps += tile < tiles(w) ? 4 : 0;
        return warps;
    }
};

// Brings the tiles of K, or those of V.
struct Tiles {
    const CUtensorMap& map;
    Slots& slots;
    uint32_t first;   // address of the first slot
    int batch, head;

    __device__ __forceinline__ void start(int tile) const {
        const int slot = tile % STAGES;
        const uint32_t there = ptx::shared_address(&slots.there[slot]);
        ptx::barrier_expect(there, TILE_BYTES);
#pragma unroll
        for (int box = 0; box < BOXES; ++box) ptx::copy_box(first + slot * TILE_BYTES + box * KV_BOX, map, batch, head, tile * TILE_N, box * 64, there);
    }

    __device__ __forceinline__ void wait(int tile) const { ptx::barrier_wait(ptx::shared_address(&slots.there[tile % STAGES]), tile / STAGES & 1); }

    // This warp is done with the tile. The last that is has the slot filled again.
    __device__ __forceinline__ void release(int tile, const Extent& extent, int lane) const {
        if (lane != 0 || tile + STAGES >= extent.most_tiles()) return;
        uint32_t& done = slots.done[tile % STAGES];
        if (ptx::count_up(ptx::shared_address(&done)) + 1 < extent.readers(tile)) return;
        done = 0;
        start(tile + STAGES);
    }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sdpa_hopper(const __grid_constant__ CUtensorMap q_tiles, const __grid_constant__ CUtensorMap k_tiles, const __grid_constant__ CUtensorMap v_tiles,
                void* __restrict__ o, int S, float scale) {
    extern __shared__ __align__(1024) char shared[];   // for each warpgroup its rows of Q; STAGES tiles of K; as many of V
    __shared__ uint64_t query_there[WARPGROUPS];
    __shared__ Slots key_slots, value_slots;

    const int batch = CAUSAL ? blockIdx.y : blockIdx.z, head = CAUSAL ? blockIdx.x : blockIdx.y, heads = CAUSAL ? gridDim.x : gridDim.y;
    const Extent extent = {static_cast<int>(CAUSAL ? gridDim.z - 1 - blockIdx.z : blockIdx.x) * TILE_M, S};
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0), lane = threadIdx.x % 32;   // by shfl: the compiler then knows that all lanes agree
    const int warpgroup = warp / 4;
    const float log2_scale = scale * 1.4426950408889634f;

    const uint32_t q_first = ptx::shared_address(shared), k_first = q_first + WARPGROUPS * Q_BYTES, v_first = k_first + STAGES * TILE_BYTES;
    const Tiles keys = {k_tiles, key_slots, k_first, batch, head}, values = {v_tiles, value_slots, v_first, batch, head};
    const auto fetch_query = [&](int w) {
        const uint32_t there = ptx::shared_address(&query_there[w]);
        ptx::barrier_expect(there, Q_BYTES);
#pragma unroll
        for (int box = 0; box < BOXES; ++box) {
            ptx::copy_box(q_first + w * Q_BYTES + box * Q_BOX, q_tiles, batch, head, extent.first_row + w * WARPGROUP_ROWS, box * 64, there);
        }
    };
    if (threadIdx.x == 0) {
        ptx::fetch_map(q_tiles);
        ptx::fetch_map(k_tiles);
        ptx::fetch_map(v_tiles);
        for (int w = 0; w < WARPGROUPS; ++w) ptx::barrier_init(ptx::shared_address(&query_there[w]), 1);
        for (int slot = 0; slot < STAGES; ++slot) {
            ptx::barrier_init(ptx::shared_address(&key_slots.there[slot]), 1);
            ptx::barrier_init(ptx::shared_address(&value_slots.there[slot]), 1);
            key_slots.done[slot] = value_slots.done[slot] = 0;
        }
        ptx::barriers_publish();
        fetch_query(0);
        keys.start(0);
        for (int w = 1; w < WARPGROUPS; ++w) {
            if (extent.tiles(w) > 0) fetch_query(w);   // a block must not end before its copies, and nobody would wait for this one
        }
        values.start(0);
        for (int tile = 1; tile < min(STAGES, extent.most_tiles()); ++tile) {
            keys.start(tile);
            values.start(tile);
        }
    }
    __syncthreads();

    const int tiles = extent.tiles(warpgroup);
    if (tiles == 0) return;   // all of this warpgroup's rows are outside
    const int first_row = extent.first_row + warpgroup * WARPGROUP_ROWS;
    const uint32_t query = ptx::tile_descriptor(q_first + warpgroup * Q_BYTES), key_tiles = ptx::tile_descriptor(k_first);
    const uint32_t value_tiles = ptx::column_descriptor(v_first, KV_BOX);
    const auto key_tile = [&](int tile) { return key_tiles + tile % STAGES * (TILE_BYTES >> 4); };
    const auto value_tile = [&](int tile) { return value_tiles + tile % STAGES * (TILE_BYTES >> 4); };

    Rows rows;
    Scores score;
    Weights weights;
    const auto mask_edges = [&](int tile) {
        const int end = (tile + 1) * TILE_N, row = first_row + warp % 4 * 16;
        if (end > S || (CAUSAL && end > row + 1)) mask(score, row, tile * TILE_N, S, lane);
    };

    ptx::barrier_wait(ptx::shared_address(&query_there[warpgroup]), 0);
    keys.wait(0);
    multiply_keys(score, query, key_tile(0));
    ptx::wgmma_arrive<0>();
    pin(score);
    keys.release(0, extent, lane);
    mask_edges(0);
    begin_rows(rows, score);   // finite: every row sees the first key
    exponentiate(score, rows, log2_scale);
    pack_weights(weights, score);

#pragma unroll 1
    for (int tile = 0; tile + 1 < tiles; ++tile) {
        keys.wait(tile + 1);
        multiply_keys(score, query, key_tile(tile + 1));
        values.wait(tile);
        multiply_values(rows, weights, value_tile(tile));
        if (tile > 0) values.release(tile - 1, extent, lane);   // now that the tensor cores have something to do
        ptx::wgmma_arrive<1>();   // the scores are there
        pin(score);
        mask_edges(tile + 1);
        float shrink[2];
        const bool raised = make_room(rows, shrink, score, log2_scale);
        exponentiate(score, rows, log2_scale);
        pin(score);
        keys.release(tile + 1, extent, lane);
        ptx::wgmma_arrive<0>();   // the output is there too
        pin(rows.out);
        if (raised) rescale(rows, shrink);
        pack_weights(weights, score);
    }
    values.wait(tiles - 1);
    multiply_values(rows, weights, value_tile(tiles - 1));
    if (tiles > 1) values.release(tiles - 2, extent, lane);
    ptx::wgmma_arrive<0>();
    pin(rows.out);
    values.release(tiles - 1, extent, lane);

    void* const o_head = static_cast<char*>(o) + static_cast<size_t>(batch * heads + head) * S * HEAD_DIM * 2;
    write_rows(rows, o_head, first_row + warp % 4 * 16, S, lane);
}

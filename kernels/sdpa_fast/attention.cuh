// The body of sdpa_fast.cu, which says what it does and explains the macros: one block's attention for one tile of one head.
#pragma once
#include "softmax.cuh"

#ifndef TILE_M
#define TILE_M 64
#endif
#ifndef WARP_M
#define WARP_M 32
#endif
#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef KEY_SPLIT
#define KEY_SPLIT 4
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

#if WARP_M != 16 && WARP_M != 32
#error "WARP_M must be 16 or 32"
#endif
#if TILE_M % WARP_M != 0
#error "TILE_M must be a multiple of WARP_M"
#endif
#if TILE_N % 16 != 0
#error "TILE_N must be a multiple of 16"
#endif
#if 32 * (TILE_M / WARP_M) * KEY_SPLIT > 1024
#error "more than 1024 threads: lower KEY_SPLIT or TILE_M, or raise WARP_M"
#endif
#if KEY_SPLIT > 15
#error "KEY_SPLIT must be at most 15: each group has a named barrier"
#endif
#if KEY_SPLIT * CLUSTER > 1 && STAGES * TILE_N < TILE_M
#error "the merge reuses the tiles of K and V: STAGES * TILE_N must be at least TILE_M where keys are split"
#endif
#if TILE_M % CLUSTER != 0
#error "TILE_M must be a multiple of CLUSTER"
#endif
#if CLUSTER > 1 && defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "CLUSTER > 1 needs sm_90: clusters and distributed shared memory came with Hopper"
#endif

namespace {

constexpr int GROUP = 32 * (TILE_M / WARP_M);        // threads of a group
constexpr int THREADS = GROUP * KEY_SPLIT;
constexpr int PARTS = KEY_SPLIT * CLUSTER;
constexpr int TILE_BYTES = TILE_N * ROW_BYTES;       // a tile of K or of V
constexpr int GROUP_BYTES = 2 * STAGES * TILE_BYTES; // K tiles, then V tiles
constexpr int M_TILES = WARP_M / 16;
constexpr int N_TILES = TILE_N / 8;
constexpr int FOURS = HEAD_DIM / 4;                  // pieces of four f32 in a row of partial output
constexpr int SHARE = TILE_M / CLUSTER;              // rows that each block of a cluster finishes
constexpr int SHARE_BYTES = SHARE * FOURS * 16;

// One thread of the COUNT that copy tiles: it has piece `chunk` of row `row` and of every STEP-th row after it.
template <int COUNT>
struct Copier {
    static constexpr int STEP = COUNT / CHUNKS;
    int row, chunk;
    uint32_t offset;   // of the first piece in a tile

    __device__ __forceinline__ explicit Copier(int thread)
        : row(thread / CHUNKS), chunk(thread % CHUNKS), offset(swizzled(thread / CHUNKS, thread % CHUNKS)) {}

    // This thread's first piece of the head's first tile.
    __device__ __forceinline__ const __half* start(const __half* head) const { return head + row * HEAD_DIM + chunk * 8; }

    // Starts copying ROWS rows, the first of them row `first` of the head's `rows`; rows that are not there become zeros.
    template <int ROWS>
    __device__ __forceinline__ void stage(uint32_t to, const __half* start, int first, int rows) const {
        const __half* from = start + static_cast<size_t>(first) * HEAD_DIM;
#pragma unroll
        for (int i = 0; i < (ROWS + STEP - 1) / STEP; ++i) {
            if (ROWS % STEP != 0 && row + i * STEP >= ROWS) break;
            const uint32_t at = STEP % 8 == 0 ? offset + i * STEP * ROW_BYTES : swizzled(row + i * STEP, chunk);
            ptx::copy16_async(to + at, from + i * STEP * HEAD_DIM, first + row + i * STEP < rows);
        }
    }
};

// Waits until at most PENDING of this thread's groups of copies are under way. After a barrier all threads have what they waited for.
template <int PENDING>
__device__ __forceinline__ void copies_arrive() { ptx::copies_wait<(PENDING > 0 ? PENDING : 0)>(); }

__device__ __forceinline__ void group_barrier(int group) {
    if constexpr (GROUP == 32) {
        __syncwarp();
    } else if constexpr (KEY_SPLIT == 1) {
        __syncthreads();
    } else {
        ptx::barrier(group + 1, GROUP);
    }
}

__device__ __forceinline__ void multiply_keys(Scores<M_TILES, N_TILES>& score, const uint32_t (&q)[M_TILES][4][4], uint32_t k_tile, int lane) {
#pragma unroll
    for (int d = 0; d < HEAD_DIM / 16; ++d) {
#pragma unroll
        for (int n = 0; n < N_TILES; n += 2) {
            uint32_t keys[4];
            ptx::load_matrices(keys, k_tile + swizzled(n * 8 + (lane & 7) + ((lane >> 4) << 3), 2 * d + ((lane >> 3) & 1)));
#pragma unroll
            for (int m = 0; m < M_TILES; ++m) {
                ptx::mma(score[m][n], q[m][d], keys[0], keys[1]);
                ptx::mma(score[m][n + 1], q[m][d], keys[2], keys[3]);
            }
        }
    }
}

__device__ __forceinline__ void multiply_values(Rows<M_TILES>& rows, const Scores<M_TILES, N_TILES>& score, uint32_t v_tile, float log2_scale, int lane) {
#pragma unroll
    for (int k = 0; k < TILE_N / 16; ++k) {
        uint32_t weights[M_TILES][4];
#pragma unroll
        for (int m = 0; m < M_TILES; ++m) weigh(weights[m], rows, score, m, k, log2_scale);
#pragma unroll
        for (int n = 0; n < D_TILES; n += 2) {
            uint32_t values[4];
            ptx::load_matrices_transposed(values, v_tile + swizzled(k * 16 + (lane & 15), n + (lane >> 4)));
#pragma unroll
            for (int m = 0; m < M_TILES; ++m) {
                ptx::mma(rows.out[m][n], weights[m], values[0], values[1]);
                ptx::mma(rows.out[m][n + 1], weights[m], values[2], values[3]);
            }
        }
    }
}

// Many parts. A group's partial output is [TILE_M][16] pieces of four f32, over its tiles of K and V, swizzled for pairs of f32.
__device__ __forceinline__ uint32_t partial_offset(int row, int four) { return row * 256 + ((four ^ ((row & 3) << 1)) << 4); }

__device__ __forceinline__ void publish(Rows<M_TILES>& rows, char* partial, float2* stats, int warp, int lane) {
#pragma unroll
    for (int m = 0; m < M_TILES; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float sum = quad_sum(rows.sum[m][h]);
            const int row = warp * WARP_M + m * 16 + h * 8 + lane / 4;
            if (lane % 4 == 0) stats[row] = make_float2(rows.max[m][h], sum);
#pragma unroll
            for (int n = 0; n < D_TILES; ++n) {
                char* at = partial + partial_offset(row, 2 * n + (lane % 4) / 2) + 8 * (lane % 2);
                *reinterpret_cast<float2*>(at) = make_float2(rows.out[m][n][2 * h], rows.out[m][n][2 * h + 1]);
            }
        }
    }
}

// Four dimensions of a row: the parts' outputs added up as if they had the largest of their maxima from the start.
struct Four {
    float out[4];
    float max, sum;
};

template <int COUNT>
__device__ __forceinline__ Four combine(uint32_t partials, int partial_bytes, uint32_t stats, int stats_rows, int row, int four,
                                        float log2_scale) {
    float2 of[COUNT];
    Four all = {{}, -INFINITY, 0.0f};
#pragma unroll
    for (int p = 0; p < COUNT; ++p) {
        of[p] = ptx::load2(stats + (p * stats_rows + row) * 8);
        all.max = fmaxf(all.max, of[p].x);
    }
    const float base = all.max == -INFINITY ? 0.0f : all.max * log2_scale;
#pragma unroll
    for (int p = 0; p < COUNT; ++p) {
        const float weight = ptx::exp2_fast(fmaf(of[p].x, log2_scale, -base));
        const float4 out = ptx::load4(partials + p * partial_bytes + partial_offset(row, four));
        all.sum = fmaf(weight, of[p].y, all.sum);
        all.out[0] = fmaf(weight, out.x, all.out[0]);
        all.out[1] = fmaf(weight, out.y, all.out[1]);
        all.out[2] = fmaf(weight, out.z, all.out[2]);
        all.out[3] = fmaf(weight, out.w, all.out[3]);
    }
    return all;
}

__device__ __forceinline__ void write_four(__half* o_head, int row, int four, int S, const Four& all) {
    if (row >= S) return;
    const float inverse = 1.0f / all.sum;
    const uint2 packed = make_uint2(ptx::pack(all.out[0] * inverse, all.out[1] * inverse), ptx::pack(all.out[2] * inverse, all.out[3] * inverse));
    reinterpret_cast<uint2*>(o_head + static_cast<size_t>(row) * HEAD_DIM)[four] = packed;
}

// The block's groups become one. Alone, that is the result; in a cluster each row goes to the block that finishes it.
__device__ __forceinline__ void merge_groups(uint32_t groups, uint32_t stats, uint32_t exchange, __half* o_head, int first_row, int S, int rank,
                                             float log2_scale) {
#pragma unroll 2
    for (int i = threadIdx.x; i < TILE_M * FOURS; i += THREADS) {
        const int row = i / FOURS, four = i % FOURS;
        const Four all = combine<KEY_SPLIT>(groups, GROUP_BYTES, stats, TILE_M, row, four, log2_scale);
        if constexpr (CLUSTER == 1) {
            write_four(o_head, first_row + row, four, S, all);
        } else {
            const uint32_t slot = ptx::address_in(exchange, row / SHARE);
            const float4 out = {all.out[0], all.out[1], all.out[2], all.out[3]};
            ptx::cluster_store4(slot + rank * SHARE_BYTES + partial_offset(row % SHARE, four), out);
            if (four == 0) ptx::cluster_store2(slot + CLUSTER * SHARE_BYTES + (rank * SHARE + row % SHARE) * 8, {all.max, all.sum});
        }
    }
}

// The cluster's blocks become one, in each block for its share of the rows.
__device__ __forceinline__ void merge_blocks(uint32_t exchange, __half* o_head, int first_row, int S, int rank, float log2_scale) {
    for (int i = threadIdx.x; i < SHARE * FOURS; i += THREADS) {
        const int row = i / FOURS, four = i % FOURS;
        const Four all = combine<CLUSTER>(exchange, SHARE_BYTES, exchange + CLUSTER * SHARE_BYTES, SHARE, row, four, log2_scale);
        write_four(o_head, first_row + rank * SHARE + row, four, S, all);
    }
}

// Attention of the query rows from `first_row` on, TILE_M of them; q, k, v and o are one head's, [S][HEAD_DIM]. All threads of the block,
// and all blocks of the cluster, call it together.
__device__ __forceinline__ void attend(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v,
                                       __half* __restrict__ o, int first_row, int S, float scale) {
    // The Q tile; for each group its K tiles and V tiles; for each group its statistics; where blocks exchange, their outputs and statistics.
    extern __shared__ __align__(1024) char shared[];
    char* groups = shared + TILE_M * ROW_BYTES;
    float2* stats = reinterpret_cast<float2*>(groups + KEY_SPLIT * GROUP_BYTES);

    const uint32_t exchange = ptx::shared_address(stats + KEY_SPLIT * TILE_M);
    if constexpr (CLUSTER > 1) ptx::cluster_arrive();

    const int lane = threadIdx.x % 32;
    const int group = threadIdx.x / GROUP;
    const int in_group = threadIdx.x % GROUP;
    const int warp = in_group / 32;                  // of the group: rows warp * WARP_M and on
    const int rank = blockIdx.x % CLUSTER;
    const int part = rank * KEY_SPLIT + group;
    const int seen = CAUSAL ? min(S, first_row + TILE_M) : S;
    const int tiles = ((seen + TILE_N - 1) / TILE_N - part + PARTS - 1) / PARTS;   // of this part
    const int turns = ((seen + TILE_N - 1) / TILE_N + PARTS - 1) / PARTS;          // of all: the most that a part has
    const float log2_scale = scale * 1.4426950408889634f;

    const uint32_t q_tile = ptx::shared_address(shared);
    const uint32_t k_tiles = ptx::shared_address(groups) + group * GROUP_BYTES;
    const uint32_t v_tiles = k_tiles + STAGES * TILE_BYTES;
    const auto first_key = [&](int tile) { return (part + tile * PARTS) * TILE_N; };
    const Copier<GROUP> copier(in_group);
    const __half* const k_start = copier.start(k);
    const __half* const v_start = copier.start(v);
    const auto stage_keys = [&](int tile) {
        if (tile < tiles) copier.stage<TILE_N>(k_tiles + tile % STAGES * TILE_BYTES, k_start, first_key(tile), S);
        ptx::copies_commit();
    };
    const auto stage_values = [&](int tile) {
        if (tile < tiles) copier.stage<TILE_N>(v_tiles + tile % STAGES * TILE_BYTES, v_start, first_key(tile), S);
        ptx::copies_commit();
    };

    // Copies are committed, and so complete, in the order Q and K 0, V 0, K 1, V 1, ...
    const Copier<THREADS> q_copier(threadIdx.x);
    q_copier.stage<TILE_M>(q_tile, q_copier.start(q), first_row, S);
#pragma unroll
    for (int tile = 0; tile < STAGES; ++tile) {
        stage_keys(tile);
        stage_values(tile);
    }
    copies_arrive<2 * STAGES - 1>();
    __syncthreads();

    uint32_t query[M_TILES][HEAD_DIM / 16][4];
#pragma unroll
    for (int m = 0; m < M_TILES; ++m) {
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 16; ++d) {
            ptx::load_matrices(query[m][d], q_tile + swizzled(warp * WARP_M + m * 16 + (lane & 15), 2 * d + (lane >> 4)));
        }
    }
    Rows<M_TILES> rows;

    const int warp_row = first_row + warp * WARP_M;
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        if constexpr (STAGES > 1) {
            if (tile == 0) {
                copies_arrive<2 * STAGES - 2>();     // K and V of this tile are there
            } else {
                copies_arrive<2 * STAGES - 4>();     // likewise: STAGES - 2 tiles are on their way
            }
            group_barrier(group);                    // for all, and nobody reads the last tile any more
            if (tile > 0) {
                stage_keys(tile - 1 + STAGES);
                stage_values(tile - 1 + STAGES);
            }
        } else if (tile > 0) {
            copies_arrive<0>();                      // K of this tile is there
            group_barrier(group);                    // for all, and nobody reads V of the last tile any more
            stage_values(tile);
        }
        const bool visible = !CAUSAL || first_key(tile) < warp_row + WARP_M;
        Scores<M_TILES, N_TILES> score = {};
        if (visible) {
            multiply_keys(score, query, k_tiles + tile % STAGES * TILE_BYTES, lane);
            const int end = first_key(tile) + TILE_N;
            if (end > S || (CAUSAL && end > warp_row + 1)) mask(score, warp_row, first_key(tile), S, lane);
            make_room(rows, score, log2_scale);
        }
        if constexpr (STAGES == 1) {
            copies_arrive<0>();                      // V of this tile is there
            group_barrier(group);                    // for all, and nobody reads K of this tile any more
            stage_keys(tile + 1);
        }
        if (visible) multiply_values(rows, score, v_tiles + tile % STAGES * TILE_BYTES, log2_scale, lane);
    }

    if constexpr (PARTS == 1) {
        write_rows(rows, shared, o, first_row, S, warp, lane);
    } else {
        // A group may have a tile less than others. It passes as many barriers: by their number racecheck tells what comes before what.
        if (tiles < turns) {
            group_barrier(group);
            if (STAGES == 1 && turns > 1) group_barrier(group);
        }
        ptx::copies_wait<0>();
        group_barrier(group);                        // the group's tiles are free for its partial output
        publish(rows, groups + group * GROUP_BYTES, stats + group * TILE_M, warp, lane);
        __syncthreads();
        if constexpr (CLUSTER > 1) ptx::cluster_wait();   // every block runs, and so has shared memory to write to
        merge_groups(ptx::shared_address(groups), ptx::shared_address(stats), exchange, o, first_row, S, rank, log2_scale);
        if constexpr (CLUSTER > 1) {
            ptx::cluster_arrive();
            ptx::cluster_wait();
            merge_blocks(exchange, o, first_row, S, rank, log2_scale);
        }
    }
}

}  // namespace

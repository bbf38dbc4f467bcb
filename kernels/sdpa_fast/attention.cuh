// The body of sdpa_fast.cu, which says what it does and explains the macros: one block's attention for one tile of one head.
#pragma once
#include "ptx.cuh"

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
#ifndef CAUSAL
#define CAUSAL 0
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
#ifndef WGMMA
#define WGMMA 0
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
#if WGMMA && (WARP_M != 16 || TILE_M % 64 != 0 || TILE_N % 64 != 0)
#error "WGMMA needs WARP_M=16, and TILE_M and TILE_N that are multiples of 64"
#endif
#if WGMMA == 2 && STAGES < 2
#error "WGMMA=2 needs two STAGES"
#endif
#if TILE_M % CLUSTER != 0
#error "TILE_M must be a multiple of CLUSTER"
#endif
#if CLUSTER > 1 && defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "CLUSTER > 1 needs sm_90: clusters and distributed shared memory came with Hopper"
#endif

namespace {

constexpr int HEAD_DIM = 64;
constexpr int CHUNKS = HEAD_DIM / 8;                 // 16-byte pieces of a row
constexpr int ROW_BYTES = 2 * HEAD_DIM;              // 128: a row is all 32 banks, hence the swizzle
constexpr int GROUP = 32 * (TILE_M / WARP_M);        // threads of a group
constexpr int THREADS = GROUP * KEY_SPLIT;
constexpr int PARTS = KEY_SPLIT * CLUSTER;
constexpr int TILE_BYTES = TILE_N * ROW_BYTES;       // a tile of K or of V
constexpr int GROUP_BYTES = 2 * STAGES * TILE_BYTES; // K tiles, then V tiles
constexpr int M_TILES = WARP_M / 16;
constexpr int N_TILES = TILE_N / 8;
constexpr int D_TILES = HEAD_DIM / 8;
constexpr int FOURS = HEAD_DIM / 4;                  // pieces of four f32 in a row of partial output
constexpr int SHARE = TILE_M / CLUSTER;              // rows that each block of a cluster finishes
constexpr int SHARE_BYTES = SHARE * FOURS * 16;
#if WGMMA && defined(__CUDA_ARCH_FEAT_SM90_ALL)
constexpr bool BY_WARPGROUP = true;
#else
constexpr bool BY_WARPGROUP = false;
#endif
constexpr int TOGETHER = BY_WARPGROUP ? 64 : WARP_M;  // rows of the warps that multiply together

// The byte of 16-byte piece `chunk` of row `row` in a tile. Eight rows' pieces of one column fall in different banks.
__device__ __forceinline__ uint32_t swizzled(int row, int chunk) { return row * ROW_BYTES + ((chunk ^ (row & 7)) << 4); }

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
__device__ __forceinline__ void copies_arrive() {
    ptx::copies_wait<(PENDING > 0 ? PENDING : 0)>();
    if constexpr (BY_WARPGROUP) ptx::publish_to_wgmma();
}

__device__ __forceinline__ void group_barrier(int group) {
    if constexpr (GROUP == 32) {
        __syncwarp();
    } else if constexpr (KEY_SPLIT == 1) {
        __syncthreads();
    } else {
        ptx::barrier(group + 1, GROUP);
    }
}

__device__ __forceinline__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// What a warp knows of its WARP_M rows. Index [m][h] is row 16*m + 8*h + lane/4; out[m][n][2*h + i] its dimension 8*n + 2*(lane%4) + i.
struct Rows {
    float out[M_TILES][D_TILES][4] = {};
    float max[M_TILES][2];   // of the raw scores, or nearly; the same in a quad of lanes
    float sum[M_TILES][2];   // of this lane's keys only
};

using Scores = float[M_TILES][N_TILES][4];

// Blocks of 8 columns of accumulators are the same for mma and wgmma; so are a warp's 16 rows.
template <int COUNT>
__device__ __forceinline__ void pin(float (&blocks)[COUNT][4]) {
#pragma unroll
    for (int i = 0; i < COUNT * 4; ++i) ptx::pin(blocks[i / 4][i % 4]);
}

// Waits for all products under way, of scores and of output.
__device__ __forceinline__ void products_wait(Rows& rows, Scores& score) {
    ptx::wgmma_wait();
    pin(score[0]);
    pin(rows.out[0]);
}

// Starts q . k^T, with the warpgroup's 64 rows of Q in shared memory. In registers they would be the left side too, but nvcc 13.0 loses them:
// in some loops ptxas takes them for dead after the first products, and reuses their registers.
__device__ __forceinline__ void multiply_keys_by_warpgroup(Scores& score, uint32_t q_rows, uint32_t k_tile) {
    pin(score[0]);
    ptx::wgmma_begin();
#pragma unroll
    for (int n = 0; n < TILE_N; n += 64) {
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 16; ++d) {
            ptx::wgmma_rows(score[0] + n / 8, ptx::tile_descriptor(q_rows + d * 32), ptx::tile_descriptor(k_tile + n * ROW_BYTES + d * 32), d > 0);
        }
    }
}

__device__ __forceinline__ void multiply_keys_by_warp(Scores& score, const uint32_t (&q)[M_TILES][4][4], uint32_t k_tile, int lane) {
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

// Scores of keys that a row may not see become minus infinity.
__device__ __forceinline__ void mask(Scores& score, int first_row, int first_key, int S, int lane) {
#pragma unroll
    for (int m = 0; m < M_TILES; ++m) {
#pragma unroll
        for (int n = 0; n < N_TILES; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int row = first_row + m * 16 + (i / 2) * 8 + lane / 4;
                const int key = first_key + n * 8 + 2 * (lane % 4) + i % 2;
                if (key >= S || (CAUSAL && key > row)) score[m][n][i] = -INFINITY;
            }
        }
    }
}

// The power of two that a row's scores are taken relative to. A row that has seen no key has -inf: any finite one gives it 2^-inf = 0 everywhere.
__device__ __forceinline__ float base_of(float max, float log2_scale) { return CAUSAL && max == -INFINITY ? 0.0f : max * log2_scale; }

// Raises the maxima to `highest`, and scales output and sums down to them.
__device__ __forceinline__ void raise(Rows& rows, const float (&highest)[M_TILES][2], float log2_scale) {
#pragma unroll
    for (int m = 0; m < M_TILES; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float max = fmaxf(rows.max[m][h], highest[m][h]);
            const float shrink = ptx::exp2_fast(fmaf(rows.max[m][h], log2_scale, -base_of(max, log2_scale)));
            rows.max[m][h] = max;
            rows.sum[m][h] *= shrink;
#pragma unroll
            for (int n = 0; n < D_TILES; ++n) {
                rows.out[m][n][2 * h] *= shrink;
                rows.out[m][n][2 * h + 1] *= shrink;
            }
        }
    }
}

// Raises the maxima where a score would be more than 2^SLACK of one: an f16 has room for that, and after the first tiles most need no raising.
__device__ __forceinline__ void make_room(Rows& rows, const Scores& score, float log2_scale) {
    constexpr float SLACK = 8.0f;
    float highest[M_TILES][2];
    bool exceeds = false;
#pragma unroll
    for (int m = 0; m < M_TILES; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            highest[m][h] = -INFINITY;
#pragma unroll
            for (int n = 0; n < N_TILES; ++n) highest[m][h] = fmaxf(highest[m][h], fmaxf(score[m][n][2 * h], score[m][n][2 * h + 1]));
            highest[m][h] = quad_max(highest[m][h]);
            exceeds |= (highest[m][h] - rows.max[m][h]) * log2_scale > SLACK;
        }
    }
    if (__any_sync(0xffffffffu, exceeds)) raise(rows, highest, log2_scale);
}

// Turns the scores of 16 keys, of the 16 rows m, into probabilities: the left side of a product with their values.
__device__ __forceinline__ void weigh(uint32_t (&weights)[4], Rows& rows, const Scores& score, int m, int k, float log2_scale) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float(&pair)[4] = score[m][2 * k + i / 2];
        const int h = i % 2;
        const float base = base_of(rows.max[m][h], log2_scale);
        const float low = ptx::exp2_fast(fmaf(pair[2 * h], log2_scale, -base)), high = ptx::exp2_fast(fmaf(pair[2 * h + 1], log2_scale, -base));
        rows.sum[m][h] += low + high;
        weights[i] = ptx::pack(low, high);
    }
}

// Starts p . v. The exponentials of a step are computed while the tensor cores still have the step before.
__device__ __forceinline__ void multiply_values_by_warpgroup(Rows& rows, const Scores& score, uint32_t v_tile, float log2_scale) {
    uint32_t weights[TILE_N / 16][4];
    pin(rows.out[0]);
#pragma unroll
    for (int k = 0; k < TILE_N / 16; ++k) {
        weigh(weights[k], rows, score, 0, k, log2_scale);
        ptx::wgmma_begin();
        ptx::wgmma_columns(rows.out[0], weights[k], ptx::tile_descriptor(v_tile + k * 16 * ROW_BYTES));
    }
}

__device__ __forceinline__ void multiply_values_by_warp(Rows& rows, const Scores& score, uint32_t v_tile, float log2_scale, int lane) {
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

// One part: divides by the sums, and writes whole 16-byte pieces by way of the warp's own rows of the Q tile.
__device__ __forceinline__ void finish_alone(Rows& rows, char* q_tile, __half* o_head, int first_row, int S, int warp, int lane) {
#pragma unroll
    for (int m = 0; m < M_TILES; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float inverse = 1.0f / quad_sum(rows.sum[m][h]);
            const int row = warp * WARP_M + m * 16 + h * 8 + lane / 4;
#pragma unroll
            for (int n = 0; n < D_TILES; ++n) {
                const uint32_t pair = ptx::pack(rows.out[m][n][2 * h] * inverse, rows.out[m][n][2 * h + 1] * inverse);
                *reinterpret_cast<uint32_t*>(q_tile + swizzled(row, n) + 4 * (lane % 4)) = pair;
            }
        }
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < WARP_M * CHUNKS; i += 32) {
        const int row = warp * WARP_M + i / CHUNKS, chunk = i % CHUNKS;
        if (first_row + row < S) {
            const uint4 piece = *reinterpret_cast<const uint4*>(q_tile + swizzled(row, chunk));
            reinterpret_cast<uint4*>(o_head + static_cast<size_t>(first_row + row) * HEAD_DIM)[chunk] = piece;
        }
    }
}

// Many parts. A group's partial output is [TILE_M][16] pieces of four f32, over its tiles of K and V, swizzled for pairs of f32.
__device__ __forceinline__ uint32_t partial_offset(int row, int four) { return row * 256 + ((four ^ ((row & 3) << 1)) << 4); }

__device__ __forceinline__ void publish(Rows& rows, char* partial, float2* stats, int warp, int lane) {
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

    const uint32_t q_rows = q_tile + warp * WARP_M / TOGETHER * TOGETHER * ROW_BYTES;   // of the warps that multiply together
    uint32_t query[M_TILES][HEAD_DIM / 16][4];
#pragma unroll
    for (int m = 0; m < (BY_WARPGROUP ? 0 : M_TILES); ++m) {
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 16; ++d) {
            ptx::load_matrices(query[m][d], q_tile + swizzled(warp * WARP_M + m * 16 + (lane & 15), 2 * d + (lane >> 4)));
        }
    }
    Rows rows;
#pragma unroll
    for (int m = 0; m < M_TILES; ++m) {
        rows.max[m][0] = rows.max[m][1] = -INFINITY;
        rows.sum[m][0] = rows.sum[m][1] = 0.0f;
    }

    const int warp_row = first_row + warp * WARP_M;
    const auto k_tile = [&](int tile) { return k_tiles + tile % STAGES * TILE_BYTES; };
    const auto v_tile = [&](int tile) { return v_tiles + tile % STAGES * TILE_BYTES; };
    const auto visible = [&](int tile) { return !CAUSAL || first_key(tile) < first_row + (warp * WARP_M / TOGETHER + 1) * TOGETHER; };
    const auto hide_and_make_room = [&](Scores& score, int tile) {
        const int end = first_key(tile) + TILE_N;
        if (end > S || (CAUSAL && end > warp_row + 1)) mask(score, warp_row, first_key(tile), S, lane);
        make_room(rows, score, log2_scale);
    };

    if constexpr (BY_WARPGROUP && WGMMA == 2) {
        // The scores of the next tile are under way behind the output of this one. Products stand in no branch, or ptxas makes them wait for each other;
        // so those of a tile that is not there or that nobody sees are computed too, and come to nothing.
        Scores score;
        multiply_keys_by_warpgroup(score, q_rows, k_tile(0));
        products_wait(rows, score);
#pragma unroll 1
        for (int tile = 0; tile < tiles; ++tile) {
            hide_and_make_room(score, tile);
            copies_arrive<2 * STAGES - 3>();             // V of this tile is there
            group_barrier(group);                        // for all, and nobody reads K of this tile and V of the last any more
            if (tile > 0) stage_values(tile - 1 + STAGES);
            stage_keys(tile + STAGES);
            multiply_values_by_warpgroup(rows, score, v_tile(tile), log2_scale);
            copies_arrive<2 * STAGES - 2>();             // K of the next is there
            group_barrier(group);                        // for all
            multiply_keys_by_warpgroup(score, q_rows, k_tile(tile + 1));
            products_wait(rows, score);
        }
        group_barrier(group);                            // nobody reads Q any more, where the result is put together
    } else {
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
            Scores score = {};
            if (visible(tile)) {
                if constexpr (BY_WARPGROUP) {
                    multiply_keys_by_warpgroup(score, q_rows, k_tile(tile));
                    products_wait(rows, score);
                } else {
                    multiply_keys_by_warp(score, query, k_tile(tile), lane);
                }
                hide_and_make_room(score, tile);
            }
            if constexpr (STAGES == 1) {
                copies_arrive<0>();                      // V of this tile is there
                group_barrier(group);                    // for all, and nobody reads K of this tile any more
                stage_keys(tile + 1);
            }
            if (visible(tile)) {
                if constexpr (BY_WARPGROUP) {
                    multiply_values_by_warpgroup(rows, score, v_tile(tile), log2_scale);
                    products_wait(rows, score);
                } else {
                    multiply_values_by_warp(rows, score, v_tile(tile), log2_scale, lane);
                }
            }
        }
    }

    if constexpr (PARTS == 1) {
        finish_alone(rows, shared, o, first_row, S, warp, lane);
    } else {
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

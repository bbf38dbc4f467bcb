// Attention on tensor cores, split over keys where the grid is small.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, 64] f16, contiguous
//
// A block owns TILE_M query rows of a head. Its warps stand in a grid: TILE_M / WARP_M of them share the rows, and KEY_SPLIT such
// groups share the keys. With CLUSTER > 1 that many blocks, one cluster, own the same rows and share the keys further. So
//
//     parts = KEY_SPLIT * CLUSTER,     part p takes the key tiles p, p + parts, p + 2 * parts, ... of TILE_N keys each.
//
// Each part is a FlashAttention-2 of its own: cp.async keeps STAGES tiles of K and V in flight into XOR-swizzled shared memory,
// ldmatrix feeds mma.m16n8k16 with f32 accumulators, and the softmax is online, in powers of two. At the end the parts' outputs, maxima
// and sums meet in shared memory (of the whole cluster) and are merged. One part needs no merge.
//
// Why: B=1 H=8 S=512 is 128 tiles of 32 rows or 64 of 64 for 132 SMs, each with all of its head's K and V to read from L2. Taller
// tiles read less in all, and the split over keys still gives every SM a block and every scheduler two warps.
//
// Launch: grid = [(S + TILE_M - 1) / TILE_M * CLUSTER, B * H], block = [32 * TILE_M / WARP_M * KEY_SPLIT],
// dynamic shared memory = 128*TILE_M + 256*KEY_SPLIT*STAGES*TILE_N + 8*KEY_SPLIT*TILE_M bytes. Any S >= 1.
//
// Macros
//   TILE_M      query rows of a block, a multiple of WARP_M: 16, 32, 64, 128 (default 64)
//   WARP_M      query rows of a warp: 16 or 32 (default 32). 32 reads K and V from shared memory half as often, for more registers
//   TILE_N      keys of a step, a multiple of 16: 32, 64, 128 (default 64)
//   KEY_SPLIT   groups of warps of a block that share the keys: 1, 2, 4, 8 (default 4)
//   CLUSTER     blocks that share the keys: 1 (default), 2, 4, 8; above 1 needs sm_90
//   STAGES      tiles of K and V in flight for each group: 1, 2, 3, 4 (default 2)
//   CAUSAL      1: query i sees keys 0 to i. 0 (default): all keys
//   MIN_BLOCKS  blocks an SM should hold, for __launch_bounds__ (default 1)
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

// The byte of 16-byte piece `chunk` of row `row` in a tile. Eight rows' pieces of one column fall in different banks.
__device__ __forceinline__ uint32_t swizzled(int row, int chunk) { return row * ROW_BYTES + ((chunk ^ (row & 7)) << 4); }

// Starts copying ROWS rows, the first of them row `first` of the head's `rows`, by the COUNT threads numbered `thread`.
template <int ROWS, int COUNT>
__device__ __forceinline__ void stage(uint32_t to, const __half* head, int first, int rows, int thread) {
#pragma unroll
    for (int i = 0; i < (ROWS * CHUNKS + COUNT - 1) / COUNT; ++i) {
        const int piece = thread + i * COUNT;
        const int row = piece / CHUNKS, chunk = piece % CHUNKS;
        if (ROWS * CHUNKS % COUNT != 0 && row >= ROWS) break;
        const bool inside = first + row < rows;
        const __half* from = head + static_cast<size_t>(inside ? first + row : 0) * HEAD_DIM + chunk * 8;
        ptx::copy16_async(to + swizzled(row, chunk), from, inside);
    }
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

// All threads of all blocks that share the rows.
__device__ __forceinline__ void meet() {
    if constexpr (CLUSTER > 1) {
        ptx::cluster_barrier();
    } else {
        __syncthreads();
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
    float max[M_TILES][2];   // of the raw scores, the same in a quad of lanes
    float sum[M_TILES][2];   // of this lane's keys only
};

using Scores = float[M_TILES][N_TILES][4];

__device__ __forceinline__ void multiply_keys(Scores& score, const uint32_t (&q)[M_TILES][4][4], uint32_t k_tile, int lane) {
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

// Raises the maxima, scales output and sums down to them, and turns scores into probabilities.
__device__ __forceinline__ void soften(Rows& rows, Scores& score, float log2_scale) {
#pragma unroll
    for (int m = 0; m < M_TILES; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float highest = rows.max[m][h];
#pragma unroll
            for (int n = 0; n < N_TILES; ++n) highest = fmaxf(highest, fmaxf(score[m][n][2 * h], score[m][n][2 * h + 1]));
            highest = quad_max(highest);
            // A row that has seen no key yet has -inf: any finite base gives it 2^-inf = 0 everywhere.
            const float base = CAUSAL && highest == -INFINITY ? 0.0f : highest * log2_scale;
            const float shrink = ptx::exp2_fast(fmaf(rows.max[m][h], log2_scale, -base));
            rows.max[m][h] = highest;
            float sum = 0.0f;
#pragma unroll
            for (int n = 0; n < N_TILES; ++n) {
#pragma unroll
                for (int i = 2 * h; i < 2 * h + 2; ++i) {
                    score[m][n][i] = ptx::exp2_fast(fmaf(score[m][n][i], log2_scale, -base));
                    sum += score[m][n][i];
                }
            }
            rows.sum[m][h] = fmaf(rows.sum[m][h], shrink, sum);
#pragma unroll
            for (int n = 0; n < D_TILES; ++n) {
                rows.out[m][n][2 * h] *= shrink;
                rows.out[m][n][2 * h + 1] *= shrink;
            }
        }
    }
}

__device__ __forceinline__ void multiply_values(Rows& rows, const Scores& p, uint32_t v_tile, int lane) {
#pragma unroll
    for (int k = 0; k < TILE_N / 16; ++k) {
        uint32_t weights[M_TILES][4];
#pragma unroll
        for (int m = 0; m < M_TILES; ++m) {
            weights[m][0] = ptx::pack(p[m][2 * k][0], p[m][2 * k][1]);
            weights[m][1] = ptx::pack(p[m][2 * k][2], p[m][2 * k][3]);
            weights[m][2] = ptx::pack(p[m][2 * k + 1][0], p[m][2 * k + 1][1]);
            weights[m][3] = ptx::pack(p[m][2 * k + 1][2], p[m][2 * k + 1][3]);
        }
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

__device__ __forceinline__ uint32_t in_block(uint32_t address, int rank) { return CLUSTER > 1 ? ptx::address_in(address, rank) : address; }

// Each block of the cluster merges its share of the rows: sum of 2^(max_p - max) out_p over sum of 2^(max_p - max) sum_p.
__device__ __forceinline__ void merge(uint32_t partials, uint32_t stats, __half* o_head, int first_row, int S, int rank, float log2_scale) {
    constexpr int SHARE = TILE_M / CLUSTER;
#pragma unroll 1
    for (int i = threadIdx.x; i < SHARE * CHUNKS; i += THREADS) {
        const int row = rank * SHARE + i / CHUNKS, chunk = i % CHUNKS;
        if (first_row + row >= S) break;
        float2 of[PARTS];
        float highest = -INFINITY;
#pragma unroll
        for (int p = 0; p < PARTS; ++p) {
            of[p] = ptx::load2(in_block(stats + ((p % KEY_SPLIT) * TILE_M + row) * 8, p / KEY_SPLIT));
            highest = fmaxf(highest, of[p].x);
        }
        float total = 0.0f;
        float sum[8] = {};
#pragma unroll
        for (int p = 0; p < PARTS; ++p) {
            const float weight = ptx::exp2_fast((of[p].x - highest) * log2_scale);
            total = fmaf(weight, of[p].y, total);
            const uint32_t partial = in_block(partials + (p % KEY_SPLIT) * GROUP_BYTES, p / KEY_SPLIT);
            const float4 low = ptx::load4(partial + partial_offset(row, 2 * chunk));
            const float4 high = ptx::load4(partial + partial_offset(row, 2 * chunk + 1));
            sum[0] = fmaf(weight, low.x, sum[0]);
            sum[1] = fmaf(weight, low.y, sum[1]);
            sum[2] = fmaf(weight, low.z, sum[2]);
            sum[3] = fmaf(weight, low.w, sum[3]);
            sum[4] = fmaf(weight, high.x, sum[4]);
            sum[5] = fmaf(weight, high.y, sum[5]);
            sum[6] = fmaf(weight, high.z, sum[6]);
            sum[7] = fmaf(weight, high.w, sum[7]);
        }
        const float inverse = 1.0f / total;
        const uint4 piece = make_uint4(ptx::pack(sum[0] * inverse, sum[1] * inverse), ptx::pack(sum[2] * inverse, sum[3] * inverse),
                                       ptx::pack(sum[4] * inverse, sum[5] * inverse), ptx::pack(sum[6] * inverse, sum[7] * inverse));
        reinterpret_cast<uint4*>(o_head + static_cast<size_t>(first_row + row) * HEAD_DIM)[chunk] = piece;
    }
}

}  // namespace

#if CLUSTER > 1
#define CLUSTER_DIMS __cluster_dims__(CLUSTER, 1, 1)
#else
#define CLUSTER_DIMS
#endif

extern "C" __global__ void CLUSTER_DIMS __launch_bounds__(THREADS, MIN_BLOCKS)
    sdpa_fast(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v, __half* __restrict__ o, int S,
              float scale) {
    extern __shared__ __align__(128) char shared[];  // Q tile; for each group its K tiles and V tiles; for each group its statistics
    char* groups = shared + TILE_M * ROW_BYTES;
    float2* stats = reinterpret_cast<float2*>(groups + KEY_SPLIT * GROUP_BYTES);

    const int lane = threadIdx.x % 32;
    const int group = threadIdx.x / GROUP;
    const int in_group = threadIdx.x % GROUP;
    const int warp = in_group / 32;                  // of the group: rows warp * WARP_M and on
    const int rank = blockIdx.x % CLUSTER;
    const int part = rank * KEY_SPLIT + group;
    // The last rows first: under a causal mask they have the most keys.
    const int first_row = static_cast<int>(gridDim.x / CLUSTER - 1 - blockIdx.x / CLUSTER) * TILE_M;
    const size_t head = static_cast<size_t>(blockIdx.y) * S * HEAD_DIM;
    const int seen = CAUSAL ? min(S, first_row + TILE_M) : S;
    const int tiles = ((seen + TILE_N - 1) / TILE_N - part + PARTS - 1) / PARTS;   // of this part
    const float log2_scale = scale * 1.4426950408889634f;

    const uint32_t q_tile = ptx::shared_address(shared);
    const uint32_t k_tiles = ptx::shared_address(groups) + group * GROUP_BYTES;
    const uint32_t v_tiles = k_tiles + STAGES * TILE_BYTES;
    const auto first_key = [&](int tile) { return (part + tile * PARTS) * TILE_N; };
    const auto stage_keys = [&](int tile) {
        if (tile < tiles) stage<TILE_N, GROUP>(k_tiles + tile % STAGES * TILE_BYTES, k + head, first_key(tile), S, in_group);
        ptx::copies_commit();
    };
    const auto stage_values = [&](int tile) {
        if (tile < tiles) stage<TILE_N, GROUP>(v_tiles + tile % STAGES * TILE_BYTES, v + head, first_key(tile), S, in_group);
        ptx::copies_commit();
    };

    // Copies are committed, and so complete, in the order Q and K 0, V 0, K 1, V 1, ...
    stage<TILE_M, THREADS>(q_tile, q + head, first_row, S, threadIdx.x);
#pragma unroll
    for (int tile = 0; tile < STAGES; ++tile) {
        stage_keys(tile);
        stage_values(tile);
    }
    ptx::copies_wait<2 * STAGES - 1>();
    __syncthreads();

    uint32_t query[M_TILES][HEAD_DIM / 16][4];
#pragma unroll
    for (int m = 0; m < M_TILES; ++m) {
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
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile > 0) {
            ptx::copies_wait<2 * STAGES - 2>();      // K of this tile is there
            group_barrier(group);                    // for all, and nobody reads V of the last tile any more
            stage_values(tile - 1 + STAGES);
        }
        const bool visible = !CAUSAL || first_key(tile) < warp_row + WARP_M;
        Scores score = {};
        if (visible) {
            multiply_keys(score, query, k_tiles + tile % STAGES * TILE_BYTES, lane);
            const int end = first_key(tile) + TILE_N;
            if (end > S || (CAUSAL && end > warp_row + 1)) mask(score, warp_row, first_key(tile), S, lane);
            soften(rows, score, log2_scale);
        }
        ptx::copies_wait<2 * STAGES - 2>();          // V of this tile is there
        group_barrier(group);                        // for all, and nobody reads K of this tile any more
        stage_keys(tile + STAGES);
        if (visible) multiply_values(rows, score, v_tiles + tile % STAGES * TILE_BYTES, lane);
    }

    if constexpr (PARTS == 1) {
        finish_alone(rows, shared, o + head, first_row, S, warp, lane);
    } else {
        ptx::copies_wait<0>();
        group_barrier(group);                        // the group's tiles are free for its partial output
        publish(rows, groups + group * GROUP_BYTES, stats + group * TILE_M, warp, lane);
        meet();
        merge(ptx::shared_address(groups), ptx::shared_address(stats), o + head, first_row, S, rank, log2_scale);
        if constexpr (CLUSTER > 1) meet();           // no block leaves while others read its shared memory
    }
}

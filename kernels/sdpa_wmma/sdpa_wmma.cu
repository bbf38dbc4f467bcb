// Attention on tensor cores, written in the order of a plan's commits, with a scalar fallback in the same source.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, 64] f16, contiguous
//
// A block owns TILE_M query rows of a head, 16 for each warp, and walks over the keys in tiles of TILE_N. A warp takes 16 keys in a step: a 16x16
// block of scores with f32 accumulators, the online softmax, and the block of probabilities times 16 rows of V. WMMA does not say which lane holds
// which element, so scores and probabilities pass through shared memory.
//
//   COMMIT  1  q . k^T on tensor cores; one lane has a row in the softmax; P . V by f32 FMAs; tiles are copied through registers
//           2  the softmax by two lanes a row, which exchange maximum and sum by shuffles
//           3  cp.async brings K and V into a ring of STAGES tiles
//           4  P . V on tensor cores too
//
// Launch: grid = [(S + TILE_M - 1) / TILE_M, B * H], block = [2 * TILE_M], dynamic shared memory in bytes (Q; K and V; 1280 for each warp):
// 144*TILE_M + 288*STAGES*TILE_N + 80*TILE_M, or with SWIZZLE=1 128*TILE_M + 256*STAGES*TILE_N + 80*TILE_M. Any S >= 1.
//
// Macros
//   USE_WMMA        1 (default): tensor cores. 0: f32 FMAs, the same steps
//   COMMIT          1 to 4 (default), see above
//   LDMATRIX        0 (default): WMMA. 1: ldmatrix and mma.m16n8k16; needs COMMIT=4
//   SWIZZLE         0 (default): rows are padded by 16 bytes. 1: 16-byte chunks are XORed with the row instead; needs LDMATRIX=1
//   TILE_M          query rows of a block, a multiple of 16: 64, 128 (default 128)
//   TILE_N          keys in a tile of the ring, a multiple of 16: 32, 64 (default 64)
//   TILE_K          dimensions of q . k^T unrolled at a time: 16, 32, 64 (default 32); fewer keep fewer fragments in registers
//   STAGES          tiles in the ring: 1, 2, 3 (default 2, and 1 before COMMIT 3, which has no ring)
//   Q_IN_REGISTERS  1: a warp's Q stays in fragments, 32 registers; needs USE_WMMA=1 and TILE_K=64. 0 (default): from shared memory each time
//   MIN_BLOCKS      blocks an SM should hold, for __launch_bounds__ (default 1)
//   CAUSAL          1: query i sees keys 0 to i. 0 (default): all keys
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#ifndef USE_WMMA
#define USE_WMMA 1
#endif
#ifndef COMMIT
#define COMMIT 4
#endif
#ifndef LDMATRIX
#define LDMATRIX 0
#endif
#ifndef SWIZZLE
#define SWIZZLE 0
#endif
#ifndef TILE_M
#define TILE_M 128
#endif
#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef TILE_K
#define TILE_K 32
#endif
#ifndef STAGES
#define STAGES (COMMIT < 3 ? 1 : 2)
#endif
#ifndef Q_IN_REGISTERS
#define Q_IN_REGISTERS 0
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
#ifndef CAUSAL
#define CAUSAL 0
#endif

#if COMMIT < 1 || COMMIT > 4
#error "COMMIT must be 1 to 4"
#endif
#if COMMIT < 3 && STAGES != 1
#error "STAGES must be 1 before COMMIT 3, which brings the ring of tiles"
#endif
#if COMMIT < 4 && (!USE_WMMA || LDMATRIX || Q_IN_REGISTERS)
#error "USE_WMMA=0, LDMATRIX=1 and Q_IN_REGISTERS=1 need COMMIT=4"
#endif
#if LDMATRIX && !USE_WMMA
#error "LDMATRIX=1 needs USE_WMMA=1"
#endif
#if SWIZZLE && !LDMATRIX
#error "SWIZZLE=1 needs LDMATRIX=1: WMMA addresses rows by a stride"
#endif
#if TILE_M % 16 != 0 || TILE_M > 512
#error "TILE_M must be a multiple of 16, at most 512"
#endif
#if TILE_N % 16 != 0
#error "TILE_N must be a multiple of 16"
#endif
#if TILE_K != 16 && TILE_K != 32 && TILE_K != 64
#error "TILE_K must be 16, 32 or 64"
#endif
#if Q_IN_REGISTERS && (TILE_K != 64 || !USE_WMMA)
#error "Q_IN_REGISTERS needs USE_WMMA=1 and TILE_K=64: fragments in registers cannot be chosen by a loop that is not unrolled"
#endif

namespace {

constexpr int HEAD_DIM = 64;
constexpr int CHUNK = 8;                                          // f16 in 16 bytes
constexpr int CHUNKS = HEAD_DIM / CHUNK;
constexpr int TILE_STRIDE = SWIZZLE ? HEAD_DIM : HEAD_DIM + CHUNK;   // f16 from row to row in shared memory
constexpr int THREADS = 2 * TILE_M;
constexpr int ROW_LANES = COMMIT >= 2 ? 2 : 1;                    // lanes of a row in the softmax
constexpr int KEYS = 16 / ROW_LANES;                              // scores of such a lane
constexpr int SCORE_STRIDE = 20;                                  // f32, of a warp's 16x16 block of scores
constexpr int P_STRIDE = 24;                                      // f16, of its probabilities, which take the scores' place
constexpr int SCRATCH = 16 * SCORE_STRIDE;                        // f32 of a warp
constexpr int SHRINK = 16 * P_STRIDE / 2;                         // f32 into the scratch: 16 factors, one for each row, behind the probabilities
constexpr float LOG2E = 1.4426950408889634f;

static_assert(SHRINK + 16 <= SCRATCH, "probabilities and factors fit where the scores were");

// The f16 of a tile at which chunk `chunk` of row `row` begins. Either way, the chunks of eight rows in one column are in different banks.
__device__ __forceinline__ int place(int row, int chunk) { return row * TILE_STRIDE + (SWIZZLE ? chunk ^ (row & 7) : chunk) * CHUNK; }

// Copies `rows` rows of a head, the first of them row `first` of S, into a tile; zeros past the end. From COMMIT 3 on it only starts the copies.
__device__ __forceinline__ void stage(__half* to, const __half* head, int first, int rows, int S) {
    for (int i = threadIdx.x; i < rows * CHUNKS; i += THREADS) {
        const int row = i / CHUNKS, chunk = i % CHUNKS;
        const bool inside = first + row < S;
        const __half* from = head + static_cast<size_t>(inside ? first + row : 0) * HEAD_DIM + chunk * CHUNK;
        if constexpr (COMMIT >= 3) {
            __pipeline_memcpy_async(to + place(row, chunk), from, 16, inside ? 0 : 16);
        } else {
            *reinterpret_cast<uint4*>(to + place(row, chunk)) = inside ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
        }
    }
}

// The softmax's state of a row; all lanes of the row hold the same.
struct Row {
    float max = -INFINITY;
    float sum = 0.0f;
};

// Turns a lane's scores, in powers of two, into probabilities, and returns what the row's earlier output has to be multiplied by.
__device__ __forceinline__ float soften(Row& row, float (&score)[KEYS]) {
    float highest = row.max;
#pragma unroll
    for (int j = 0; j < KEYS; ++j) highest = fmaxf(highest, score[j]);
    if constexpr (ROW_LANES == 2) highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
    const float base = highest == -INFINITY ? 0.0f : highest;     // a row that has seen no key yet: 2^-inf is 0
    const float shrink = exp2f(row.max - base);
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < KEYS; ++j) {
        score[j] = exp2f(score[j] - base);
        sum += score[j];
    }
    if constexpr (ROW_LANES == 2) sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    row.max = highest;
    row.sum = fmaf(row.sum, shrink, sum);
    return shrink;
}

}  // namespace

#if USE_WMMA
#include "blocks.cuh"
#endif

namespace {

#if USE_WMMA

// q . k^T of a warp's 16 rows on tensor cores.
struct Queries {
#if Q_IN_REGISTERS
    Left fragments[HEAD_DIM / 16];
#endif

    __device__ __forceinline__ void start([[maybe_unused]] const __half* q_tile, [[maybe_unused]] int first_row) {
#if Q_IN_REGISTERS
#pragma unroll
        for (int d = 0; d < HEAD_DIM; d += 16) fragments[d / 16] = left_of(q_tile, first_row, d);
#endif
    }

    // Scores of 16 keys: this lane's row is lane / ROW_LANES, its keys lane % ROW_LANES * KEYS and on. Lanes without a row get zeros.
    __device__ __forceinline__ void multiply_keys(float (&score)[KEYS], const __half* q_tile, int first_row, const __half* k_tile, int first_key,
                                                  float* scratch, int lane) {
        Accumulator block;
#pragma unroll 1
        for (int step = 0; step < HEAD_DIM; step += TILE_K) {
#pragma unroll
            for (int d = 0; d < TILE_K; d += 16) {
#if Q_IN_REGISTERS
                block.add(fragments[d / 16], keys_of(k_tile, first_key, step + d));
#else
                block.add(left_of(q_tile, first_row, step + d), keys_of(k_tile, first_key, step + d));
#endif
            }
        }
        block.store(scratch, SCORE_STRIDE);
        __syncwarp();
#pragma unroll
        for (int j = 0; j < KEYS; j += 4) {
            const float* from = scratch + lane / ROW_LANES * SCORE_STRIDE + lane % ROW_LANES * KEYS + j;
            const float4 four = lane < 16 * ROW_LANES ? *reinterpret_cast<const float4*>(from) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            score[j] = four.x, score[j + 1] = four.y, score[j + 2] = four.z, score[j + 3] = four.w;
        }
        __syncwarp();                         // the scores' place is free for the probabilities
    }
};

#else

// The same by f32 FMAs.
struct Queries {
    __device__ __forceinline__ void start(const __half*, int) {}

    __device__ __forceinline__ void multiply_keys(float (&score)[KEYS], const __half* q_tile, int first_row, const __half* k_tile, int first_key,
                                                  float*, int lane) {
        const __half* q_row = q_tile + place(first_row + lane / 2, 0);
        const __half* k_rows = k_tile + place(first_key + lane % 2 * KEYS, 0);
#pragma unroll
        for (int j = 0; j < KEYS; ++j) score[j] = 0.0f;
#pragma unroll 1
        for (int step = 0; step < HEAD_DIM; step += TILE_K) {
#pragma unroll
            for (int d = step; d < step + TILE_K; d += 2) {
                const float2 q = __half22float2(*reinterpret_cast<const __half2*>(q_row + d));
#pragma unroll
                for (int j = 0; j < KEYS; ++j) {
                    const float2 k = __half22float2(*reinterpret_cast<const __half2*>(k_rows + j * TILE_STRIDE + d));
                    score[j] = fmaf(q.x, k.x, fmaf(q.y, k.y, score[j]));
                }
            }
        }
    }
};

#endif

#if USE_WMMA && COMMIT >= 4

// P . V of a warp's 16 rows on tensor cores. `p` and `shrink` are a step's probabilities and its factors by row.
struct Output {
    Accumulator out[HEAD_DIM / 16];
    Accumulator::Rows rows;                   // of a lane's elements of a block

    __device__ __forceinline__ void start(float* scratch) { rows.find(scratch); }

    __device__ __forceinline__ void multiply_values(const __half* p, const float* shrink, const __half* v_tile, int first_key, int) {
        const Left weights = weights_of(p, 0);
        float factor[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) factor[i] = shrink[rows.of[i]];
#pragma unroll
        for (int d = 0; d < HEAD_DIM; d += 16) {
            out[d / 16].multiply(factor);
            out[d / 16].add(weights, values_of(v_tile, first_key, d));
        }
    }

    // `inverse` is that of the lane's row, lane / 2, which starts at `o_row`.
    __device__ __forceinline__ void finish(__half* o_row, bool inside, float inverse, float* scratch, int lane) {
#pragma unroll
        for (int d = 0; d < HEAD_DIM; d += 16) {
            out[d / 16].store(scratch, SCORE_STRIDE);
            __syncwarp();
            const float* from = scratch + lane / 2 * SCORE_STRIDE + lane % 2 * 8;
            __half2 pairs[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) pairs[j] = __floats2half2_rn(from[2 * j] * inverse, from[2 * j + 1] * inverse);
            if (inside) *reinterpret_cast<uint4*>(o_row + d + lane % 2 * 8) = *reinterpret_cast<const uint4*>(pairs);
            __syncwarp();
        }
    }
};

#else

// The same by f32 FMAs: a lane has row lane / 2, and of its output the dimensions lane % 2 * 32 and on.
struct Output {
    float out[HEAD_DIM / 2];

    __device__ __forceinline__ void start(float*) {
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 2; ++d) out[d] = 0.0f;
    }

    __device__ __forceinline__ void multiply_values(const __half* p, const float* shrink, const __half* v_tile, int first_key, int lane) {
        const float factor = shrink[lane / 2];
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 2; ++d) out[d] *= factor;
#pragma unroll 2
        for (int key = 0; key < 16; ++key) {
            const float weight = __half2float(p[lane / 2 * P_STRIDE + key]);
            const __half2* values = reinterpret_cast<const __half2*>(v_tile + (first_key + key) * TILE_STRIDE + lane % 2 * 32);
#pragma unroll
            for (int d = 0; d < HEAD_DIM / 4; ++d) {
                const float2 v = __half22float2(values[d]);
                out[2 * d] = fmaf(weight, v.x, out[2 * d]);
                out[2 * d + 1] = fmaf(weight, v.y, out[2 * d + 1]);
            }
        }
    }

    __device__ __forceinline__ void finish(__half* o_row, bool inside, float inverse, float*, int lane) {
        __half2* to = reinterpret_cast<__half2*>(o_row + lane % 2 * 32);
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 4; ++d) {
            if (inside) to[d] = __floats2half2_rn(out[2 * d] * inverse, out[2 * d + 1] * inverse);
        }
    }
};

#endif

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sdpa_wmma(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v, __half* __restrict__ o, int S,
              float scale) {
    extern __shared__ __align__(128) char shared[];
    __half* q_tile = reinterpret_cast<__half*>(shared);
    __half* k_ring = q_tile + TILE_M * TILE_STRIDE;
    __half* v_ring = k_ring + STAGES * TILE_N * TILE_STRIDE;
    float* scratches = reinterpret_cast<float*>(v_ring + STAGES * TILE_N * TILE_STRIDE);

    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int first_row = static_cast<int>(gridDim.x - 1 - blockIdx.x) * TILE_M;   // the last rows first: a causal mask gives them most keys
    const int warp_row = first_row + warp * 16;
    const size_t head = static_cast<size_t>(blockIdx.y) * S * HEAD_DIM;
    const int seen = CAUSAL ? min(S, first_row + TILE_M) : S;
    const int tiles = (seen + TILE_N - 1) / TILE_N;
    float* scratch = scratches + warp * SCRATCH;

    const auto stage_tile = [&](int tile) {
        if (tile < tiles) {
            stage(k_ring + tile % STAGES * TILE_N * TILE_STRIDE, k + head, tile * TILE_N, TILE_N, S);
            stage(v_ring + tile % STAGES * TILE_N * TILE_STRIDE, v + head, tile * TILE_N, TILE_N, S);
        }
        __pipeline_commit();
    };
    stage(q_tile, q + head, first_row, TILE_M, S);
    if (STAGES == 1) __pipeline_commit();
    for (int tile = 0; tile < STAGES - 1; ++tile) stage_tile(tile);

    Queries queries;
    Output output;
    Row state;
    for (int tile = 0; tile < tiles; ++tile) {
        stage_tile(tile + STAGES - 1);
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();                      // this tile is there for all
        if (tile == 0) {
            queries.start(q_tile, warp * 16);
            output.start(scratch);
        }

        const __half* k_tile = k_ring + tile % STAGES * TILE_N * TILE_STRIDE;
        const __half* v_tile = v_ring + tile % STAGES * TILE_N * TILE_STRIDE;
#pragma unroll 1
        for (int step = 0; step < TILE_N; step += 16) {
            const int first_key = tile * TILE_N + step;
            if (first_key >= S || (CAUSAL && first_key > warp_row + 15)) break;
            float score[KEYS];
            queries.multiply_keys(score, q_tile, warp * 16, k_tile, step, scratch, lane);
            const int row = warp_row + lane / ROW_LANES;
#pragma unroll
            for (int j = 0; j < KEYS; ++j) {
                const int key = first_key + lane % ROW_LANES * KEYS + j;
                score[j] = key >= S || (CAUSAL && key > row) ? -INFINITY : score[j] * (scale * LOG2E);
            }
            const float shrink = soften(state, score);

            __half* p = reinterpret_cast<__half*>(scratch);
            if (lane < 16 * ROW_LANES) {
#pragma unroll
                for (int j = 0; j < KEYS; j += 8) {
                    __half2 pairs[4];
#pragma unroll
                    for (int i = 0; i < 4; ++i) pairs[i] = __floats2half2_rn(score[j + 2 * i], score[j + 2 * i + 1]);
                    __half* to = p + lane / ROW_LANES * P_STRIDE + lane % ROW_LANES * KEYS + j;
                    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(pairs);
                }
                if (lane % ROW_LANES == 0) scratch[SHRINK + lane / ROW_LANES] = shrink;
            }
            __syncwarp();
            output.multiply_values(p, scratch + SHRINK, v_tile, step, lane);
            __syncwarp();                     // the scratch is free for the next scores
        }
        __syncthreads();                      // this tile's place in the ring is free
    }
    const float sum = ROW_LANES == 2 ? state.sum : __shfl_sync(0xffffffffu, state.sum, lane / 2);
    const int row = warp_row + lane / 2;
    output.finish(o + head + static_cast<size_t>(row) * HEAD_DIM, row < S, 1.0f / sum, scratch, lane);
}

// Attention on tensor cores through the WMMA interface, with a scalar fallback in the same source.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, 64] f16, contiguous
//
// A block owns TILE_M query rows of a head, 16 for each warp, and walks over the keys, TILE_N at a time, which cp.async brings into a ring of
// STAGES tiles of K and V. A warp takes 16 keys in a step: a 16x16 block of scores with f32 accumulators (wmma m16n16k16), the online softmax
// by two lanes a row, and the block of probabilities times 16 rows of V. WMMA does not say which lane holds which element, so scores and probabilities
// pass through shared memory, and a fragment of row numbers tells each lane the rows of what it holds of the output.
//
// Rows are padded by 16 bytes: WMMA addresses rows by a stride, so there is no swizzle to keep 8 rows of a column out of the same banks.
//
// Launch: grid = [(S + TILE_M - 1) / TILE_M, B * H], block = [2 * TILE_M],
// dynamic shared memory = 144*TILE_M + 288*STAGES*TILE_N + 80*TILE_M bytes (Q; K and V; 1280 for each warp). Any S >= 1.
//
// Macros
//   USE_WMMA        1 (default): tensor cores. 0: f32 FMAs, the same steps
//   TILE_M          query rows of a block, a multiple of 16: 64, 128 (default 128)
//   TILE_N          keys in a tile of the ring, a multiple of 16: 32, 64 (default 64)
//   TILE_K          dimensions of q . k^T unrolled at a time: 16, 32, 64 (default 32); fewer keep fewer fragments in registers
//   STAGES          tiles in the ring: 1, 2, 3 (default 2)
//   Q_IN_REGISTERS  1: a warp's Q stays in fragments, 32 registers; needs USE_WMMA=1 and TILE_K=64. 0 (default): from shared memory each time
//   MIN_BLOCKS      blocks an SM should hold, for __launch_bounds__ (default 1)
//   CAUSAL          1: query i sees keys 0 to i. 0 (default): all keys
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#ifndef USE_WMMA
#define USE_WMMA 1
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
#define STAGES 2
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

namespace wmma = nvcuda::wmma;

constexpr int HEAD_DIM = 64;
constexpr int CHUNKS = HEAD_DIM / 8;          // 16-byte pieces of a row
constexpr int STRIDE = HEAD_DIM + 8;          // elements from row to row in shared memory
constexpr int THREADS = 2 * TILE_M;
constexpr int SCORE_STRIDE = 20;              // f32, of a warp's 16x16 block of scores
constexpr int P_STRIDE = 24;                  // f16, of its probabilities, which take the scores' place
constexpr int SCRATCH = 16 * SCORE_STRIDE;    // f32 of a warp
constexpr int SHRINK = 16 * P_STRIDE / 2;     // f32 into the scratch: 16 factors, one for each row, behind the probabilities
constexpr float LOG2E = 1.4426950408889634f;

static_assert(SHRINK + 16 <= SCRATCH, "probabilities and factors fit where the scores were");

using Queries = wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major>;
using Keys = wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major>;
using Values = wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major>;
using Block = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// Starts copying `rows` rows of a head, the first of them row `first` of S, into padded rows; zeros past the end.
__device__ __forceinline__ void stage(__half* to, const __half* head, int first, int rows, int S) {
    for (int i = threadIdx.x; i < rows * CHUNKS; i += THREADS) {
        const int row = i / CHUNKS, chunk = i % CHUNKS;
        const bool inside = first + row < S;
        const __half* from = head + static_cast<size_t>(inside ? first + row : 0) * HEAD_DIM + chunk * 8;
        __pipeline_memcpy_async(to + row * STRIDE + chunk * 8, from, 16, inside ? 0 : 16);
    }
}

// The softmax's state of a row; both lanes of the row hold the same.
struct Row {
    float max = -INFINITY;
    float sum = 0.0f;
};

// Turns a lane's 8 scores, in powers of two, into probabilities, and returns what the row's earlier output has to be multiplied by.
__device__ __forceinline__ float soften(Row& row, float (&score)[8]) {
    float highest = row.max;
#pragma unroll
    for (int j = 0; j < 8; ++j) highest = fmaxf(highest, score[j]);
    highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
    const float base = highest == -INFINITY ? 0.0f : highest;     // a row that has seen no key yet: 2^-inf is 0
    const float shrink = exp2f(row.max - base);
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        score[j] = exp2f(score[j] - base);
        sum += score[j];
    }
    row.max = highest;
    row.sum = fmaf(row.sum, shrink, sum + __shfl_xor_sync(0xffffffffu, sum, 1));
    return shrink;
}

#if USE_WMMA

// A warp's 16 rows on tensor cores.
struct Warp {
    Block out[HEAD_DIM / 16];
    int row_of[8];                            // the row of element i of an accumulator fragment
#if Q_IN_REGISTERS
    Queries query[HEAD_DIM / 16];
#endif

    __device__ __forceinline__ void start(const __half* q_rows, float* scratch, int lane) {
        static_assert(Block::num_elements == 8, "16x16 f32 over 32 lanes");
        for (int i = lane; i < 256; i += 32) scratch[i / 16 * SCORE_STRIDE + i % 16] = static_cast<float>(i / 16);
        __syncwarp();
        Block numbers;
        wmma::load_matrix_sync(numbers, scratch, SCORE_STRIDE, wmma::mem_row_major);
#pragma unroll
        for (int i = 0; i < 8; ++i) row_of[i] = static_cast<int>(numbers.x[i]);
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 16; ++d) {
            wmma::fill_fragment(out[d], 0.0f);
#if Q_IN_REGISTERS
            wmma::load_matrix_sync(query[d], q_rows + d * 16, STRIDE);
#endif
        }
        __syncwarp();
    }

    // Scores of 16 keys: this lane's row is lane / 2, its keys (lane % 2) * 8 and on.
    __device__ __forceinline__ void multiply_keys(float (&score)[8], const __half* q_rows, const __half* k_rows, float* scratch, int lane) {
        Block block;
        wmma::fill_fragment(block, 0.0f);
#pragma unroll 1
        for (int step = 0; step < HEAD_DIM; step += TILE_K) {
#pragma unroll
            for (int d = 0; d < TILE_K; d += 16) {
                Keys keys;
                wmma::load_matrix_sync(keys, k_rows + step + d, STRIDE);
#if Q_IN_REGISTERS
                wmma::mma_sync(block, query[d / 16], keys, block);
#else
                Queries queries;
                wmma::load_matrix_sync(queries, q_rows + step + d, STRIDE);
                wmma::mma_sync(block, queries, keys, block);
#endif
            }
        }
        wmma::store_matrix_sync(scratch, block, SCORE_STRIDE, wmma::mem_row_major);
        __syncwarp();
        const float4* from = reinterpret_cast<const float4*>(scratch + lane / 2 * SCORE_STRIDE + lane % 2 * 8);
        const float4 low = from[0], high = from[1];
        score[0] = low.x, score[1] = low.y, score[2] = low.z, score[3] = low.w;
        score[4] = high.x, score[5] = high.y, score[6] = high.z, score[7] = high.w;
        __syncwarp();                         // the scores' place is free for the probabilities
    }

    __device__ __forceinline__ void multiply_values(float, const __half* p, const float* shrink, const __half* v_rows, int) {
        Queries weights;
        wmma::load_matrix_sync(weights, p, P_STRIDE);
        float factor[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) factor[i] = shrink[row_of[i]];
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 16; ++d) {
#pragma unroll
            for (int i = 0; i < 8; ++i) out[d].x[i] *= factor[i];
            Values values;
            wmma::load_matrix_sync(values, v_rows + d * 16, STRIDE);
            wmma::mma_sync(out[d], weights, values, out[d]);
        }
    }

    __device__ __forceinline__ void finish(__half* o_row, bool inside, float inverse, float* scratch, int lane) {
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 16; ++d) {
            wmma::store_matrix_sync(scratch, out[d], SCORE_STRIDE, wmma::mem_row_major);
            __syncwarp();
            const float* from = scratch + lane / 2 * SCORE_STRIDE + lane % 2 * 8;
            __half2 pairs[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) pairs[j] = __floats2half2_rn(from[2 * j] * inverse, from[2 * j + 1] * inverse);
            if (inside) *reinterpret_cast<uint4*>(o_row + d * 16 + lane % 2 * 8) = *reinterpret_cast<const uint4*>(pairs);
            __syncwarp();
        }
    }
};

#else

// A warp's 16 rows by f32 FMAs: a lane has row lane / 2, and of its output the dimensions (lane % 2) * 32 and on.
struct Warp {
    float out[HEAD_DIM / 2];

    __device__ __forceinline__ void start(const __half*, float*, int) {
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 2; ++d) out[d] = 0.0f;
    }

    __device__ __forceinline__ void multiply_keys(float (&score)[8], const __half* q_rows, const __half* k_rows, float*, int lane) {
#pragma unroll
        for (int j = 0; j < 8; ++j) score[j] = 0.0f;
#pragma unroll 1
        for (int step = 0; step < HEAD_DIM; step += TILE_K) {
#pragma unroll
            for (int d = step; d < step + TILE_K; d += 2) {
                const float2 q = __half22float2(*reinterpret_cast<const __half2*>(q_rows + lane / 2 * STRIDE + d));
#pragma unroll
                for (int j = 0; j < 8; ++j) {
                    const float2 k = __half22float2(*reinterpret_cast<const __half2*>(k_rows + (lane % 2 * 8 + j) * STRIDE + d));
                    score[j] = fmaf(q.x, k.x, fmaf(q.y, k.y, score[j]));
                }
            }
        }
    }

    __device__ __forceinline__ void multiply_values(float shrink, const __half* p, const float*, const __half* v_rows, int lane) {
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 2; ++d) out[d] *= shrink;
#pragma unroll 2
        for (int key = 0; key < 16; ++key) {
            const float weight = __half2float(p[lane / 2 * P_STRIDE + key]);
            const __half2* values = reinterpret_cast<const __half2*>(v_rows + key * STRIDE + lane % 2 * 32);
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
    extern __shared__ __align__(32) char shared[];
    __half* q_tile = reinterpret_cast<__half*>(shared);
    __half* k_ring = q_tile + TILE_M * STRIDE;
    __half* v_ring = k_ring + STAGES * TILE_N * STRIDE;
    float* scratches = reinterpret_cast<float*>(v_ring + STAGES * TILE_N * STRIDE);

    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int first_row = static_cast<int>(gridDim.x - 1 - blockIdx.x) * TILE_M;   // the last rows first: a causal mask gives them most keys
    const int row = first_row + warp * 16 + lane / 2;                              // of this lane
    const size_t head = static_cast<size_t>(blockIdx.y) * S * HEAD_DIM;
    const int seen = CAUSAL ? min(S, first_row + TILE_M) : S;
    const int tiles = (seen + TILE_N - 1) / TILE_N;
    const __half* q_rows = q_tile + warp * 16 * STRIDE;
    float* scratch = scratches + warp * SCRATCH;

    const auto stage_tile = [&](int tile) {
        if (tile < tiles) {
            stage(k_ring + tile % STAGES * TILE_N * STRIDE, k + head, tile * TILE_N, TILE_N, S);
            stage(v_ring + tile % STAGES * TILE_N * STRIDE, v + head, tile * TILE_N, TILE_N, S);
        }
        __pipeline_commit();
    };
    stage(q_tile, q + head, first_row, TILE_M, S);
    if (STAGES == 1) __pipeline_commit();
    for (int tile = 0; tile < STAGES - 1; ++tile) stage_tile(tile);

    Warp rows;
    Row state;
    for (int tile = 0; tile < tiles; ++tile) {
        stage_tile(tile + STAGES - 1);
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();                      // this tile is there for all
        if (tile == 0) rows.start(q_rows, scratch, lane);

        const __half* k_tile = k_ring + tile % STAGES * TILE_N * STRIDE;
        const __half* v_tile = v_ring + tile % STAGES * TILE_N * STRIDE;
#pragma unroll 1
        for (int step = 0; step < TILE_N; step += 16) {
            const int first_key = tile * TILE_N + step;
            if (first_key >= S || (CAUSAL && first_key > first_row + warp * 16 + 15)) break;
            float score[8];
            rows.multiply_keys(score, q_rows, k_tile + step * STRIDE, scratch, lane);
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                const int key = first_key + lane % 2 * 8 + j;
                score[j] = key >= S || (CAUSAL && key > row) ? -INFINITY : score[j] * (scale * LOG2E);
            }
            const float shrink = soften(state, score);

            __half* p = reinterpret_cast<__half*>(scratch);
            __half2 pairs[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) pairs[j] = __floats2half2_rn(score[2 * j], score[2 * j + 1]);
            *reinterpret_cast<uint4*>(p + lane / 2 * P_STRIDE + lane % 2 * 8) = *reinterpret_cast<const uint4*>(pairs);
            if (lane % 2 == 0) scratch[SHRINK + lane / 2] = shrink;
            __syncwarp();
            rows.multiply_values(shrink, p, scratch + SHRINK, v_tile + step * STRIDE, lane);
            __syncwarp();                     // the scratch is free for the next scores
        }
        __syncthreads();                      // this tile's place in the ring is free
    }
    rows.finish(o + head + static_cast<size_t>(row) * HEAD_DIM, row < S, 1.0f / state.sum, scratch, lane);
}

// One good kernel, and seven ways to spoil it: does the tool name each defect?
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, 64] f16, contiguous
//
// The good kernel is scalar attention with an online softmax: a block owns TILE_M query rows of a head and stages K_TILE keys at a time in
// swizzled shared memory; in q . k^T a lane has a key, in p . v two output dimensions. Each macro injects one defect and leaves the rest,
// and the result, as they are. A debug build (nvcc -G) is an eighth defect, a flag instead of a macro.
//
// Launch: grid = [(S + 31 - 30*TINY_BLOCKS) // (32 - 30*TINY_BLOCKS), B * H], block = [256 - 224*TINY_BLOCKS], no dynamic shared memory.
// Any S >= 1. Static shared memory: 20 KiB; 8.75 KiB with TINY_BLOCKS; 12 KiB with NO_STAGING.
//
// Macros, each 0 (default) or 1, and at most one of them 1
//   UNCOALESCED     neighbouring threads load from different rows, 2 bytes at a time: 32 sectors for 64 bytes
//   NO_STAGING      K and V are read from global memory by every warp instead of from shared memory
//   EXTRA_SYNCS     a __syncthreads after every step of both inner loops
//   DIVERGENT       the lanes of a warp take four different branches in q . k^T
//   OVER_UNROLLED   both inner loops unrolled in full, in 24 registers: spills
//   TINY_BLOCKS     blocks of one warp and two rows: nobody to share the tiles with
//   BANK_CONFLICTS  K without the swizzle: eight lanes of each quarter-warp in the same banks
#include <cuda_fp16.h>

#ifndef UNCOALESCED
#define UNCOALESCED 0
#endif
#ifndef NO_STAGING
#define NO_STAGING 0
#endif
#ifndef EXTRA_SYNCS
#define EXTRA_SYNCS 0
#endif
#ifndef DIVERGENT
#define DIVERGENT 0
#endif
#ifndef OVER_UNROLLED
#define OVER_UNROLLED 0
#endif
#ifndef TINY_BLOCKS
#define TINY_BLOCKS 0
#endif
#ifndef BANK_CONFLICTS
#define BANK_CONFLICTS 0
#endif

#if UNCOALESCED + NO_STAGING + EXTRA_SYNCS + DIVERGENT + OVER_UNROLLED + TINY_BLOCKS + BANK_CONFLICTS > 1
#error "one defect at a time: at most one of the macros may be 1"
#endif

namespace {

constexpr int HEAD_DIM = 64;
constexpr int CHUNKS = HEAD_DIM / 8;                  // 16-byte pieces of a row of K or V
constexpr int K_TILE = 32;
constexpr int THREADS = TINY_BLOCKS ? 32 : 256;
constexpr int TILE_M = TINY_BLOCKS ? 2 : 32;
constexpr int ROWS = TILE_M / (THREADS / 32);         // query rows of a warp
constexpr int UNROLL = OVER_UNROLLED ? 8 : 1;         // of 8 steps in both inner loops
constexpr float LOG2E = 1.4426950408889634f;

// Where piece `chunk` of row `key` lies in its row of a tile.
__device__ __forceinline__ int place(int key, int chunk) { return BANK_CONFLICTS ? chunk : chunk ^ (key & 7); }

__device__ __forceinline__ void widen(uint4 packed, float (&wide)[8]) {
    const __half2* half = reinterpret_cast<const __half2*>(&packed);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 pair = __half22float2(half[i]);
        wide[2 * i] = pair.x;
        wide[2 * i + 1] = pair.y;
    }
}

#if !NO_STAGING
// One 16-byte piece from global memory; UNCOALESCED reads it element by element.
__device__ __forceinline__ uint4 load_piece(const uint4* piece) {
#if UNCOALESCED
    const volatile unsigned short* elements = reinterpret_cast<const volatile unsigned short*>(piece);
    unsigned int words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = elements[2 * i] | static_cast<unsigned int>(elements[2 * i + 1]) << 16;
    return make_uint4(words[0], words[1], words[2], words[3]);
#else
    return *piece;
#endif
}

// Fills a tile with K_TILE rows from `first` on, zeros past the end.
__device__ __forceinline__ void stage(uint4 (&tile)[K_TILE][CHUNKS], const uint4* head, int first, int S) {
    for (int i = threadIdx.x; i < K_TILE * CHUNKS; i += THREADS) {
        const int key = UNCOALESCED ? i % K_TILE : i / CHUNKS;
        const int chunk = UNCOALESCED ? i / K_TILE : i % CHUNKS;
        tile[key][place(key, chunk)] = first + key < S ? load_piece(head + (first + key) * CHUNKS + chunk) : make_uint4(0, 0, 0, 0);
    }
}
#endif

__device__ __forceinline__ void extra_sync() {
    if constexpr (EXTRA_SYNCS) __syncthreads();
}

// Adds 8 of the 64 dimensions of q . k to the scores of the warp's rows.
__device__ __forceinline__ void add_chunk(float (&score)[ROWS], const float (*q_rows)[HEAD_DIM], uint4 k_piece, int chunk) {
    float k_wide[8];
    widen(k_piece, k_wide);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float4 low = *reinterpret_cast<const float4*>(&q_rows[r][chunk * 8]);
        const float4 high = *reinterpret_cast<const float4*>(&q_rows[r][chunk * 8 + 4]);
        score[r] = fmaf(low.x, k_wide[0], fmaf(low.y, k_wide[1], fmaf(low.z, k_wide[2], fmaf(low.w, k_wide[3], score[r]))));
        score[r] = fmaf(high.x, k_wide[4], fmaf(high.y, k_wide[5], fmaf(high.z, k_wide[6], fmaf(high.w, k_wide[7], score[r]))));
    }
}

// q . k of the lane's key, over the dimensions from piece FIRST on and around.
template <int FIRST>
__device__ __forceinline__ void multiply_key(float (&score)[ROWS], const float (*q_rows)[HEAD_DIM], const uint4* k_row, int key) {
#pragma unroll UNROLL
    for (int i = 0; i < CHUNKS; ++i) {
        const int chunk = (FIRST + i) % CHUNKS;
        add_chunk(score, q_rows, k_row[NO_STAGING ? chunk : place(key, chunk)], chunk);
        extra_sync();
    }
}

}  // namespace

#if OVER_UNROLLED
#define REGISTERS __maxnreg__(24)
#else
#define REGISTERS __launch_bounds__(THREADS, 1)
#endif

extern "C" __global__ void REGISTERS
    pathology(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v, __half* __restrict__ o, int S,
              float scale) {
    __shared__ alignas(16) float q_tile[TILE_M][HEAD_DIM];
    __shared__ alignas(16) float p_tile[TILE_M][K_TILE];
#if !NO_STAGING
    __shared__ uint4 k_tile[K_TILE][CHUNKS];
    __shared__ uint4 v_tile[K_TILE][CHUNKS];
#endif
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int first_row = blockIdx.x * TILE_M;
    const size_t head = static_cast<size_t>(blockIdx.y) * S * HEAD_DIM;
    const uint4* q_head = reinterpret_cast<const uint4*>(q + head);
    const uint4* k_head = reinterpret_cast<const uint4*>(k + head);
    const uint4* v_head = reinterpret_cast<const uint4*>(v + head);

    for (int i = threadIdx.x; i < TILE_M * CHUNKS; i += THREADS) {
        const int row = i / CHUNKS, chunk = i % CHUNKS;
        float wide[8];
        widen(first_row + row < S ? q_head[(first_row + row) * CHUNKS + chunk] : make_uint4(0, 0, 0, 0), wide);
#pragma unroll
        for (int j = 0; j < 8; ++j) q_tile[row][chunk * 8 + j] = wide[j] * (scale * LOG2E);
    }
    __syncthreads();
    const float(*q_rows)[HEAD_DIM] = &q_tile[warp * ROWS];
    float(*p_rows)[K_TILE] = &p_tile[warp * ROWS];

    float out[ROWS][2] = {};
    float row_max[ROWS], row_sum[ROWS];                // row_sum: of this lane's keys only, until the end
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        row_max[r] = -INFINITY;
        row_sum[r] = 0.0f;
    }

    for (int first_key = 0; first_key < S; first_key += K_TILE) {
#if NO_STAGING
        const uint4* k_row = k_head + min(first_key + lane, S - 1) * CHUNKS;
#else
        __syncthreads();                               // the last step's tiles are no longer read
        stage(k_tile, k_head, first_key, S);
        stage(v_tile, v_head, first_key, S);
        __syncthreads();
        const uint4* k_row = k_tile[lane];
#endif
        float score[ROWS] = {};
#if DIVERGENT
        switch (lane % 4) {
            case 0: multiply_key<0>(score, q_rows, k_row, lane); break;
            case 1: multiply_key<2>(score, q_rows, k_row, lane); break;
            case 2: multiply_key<4>(score, q_rows, k_row, lane); break;
            default: multiply_key<6>(score, q_rows, k_row, lane);
        }
        __syncwarp();
#else
        multiply_key<0>(score, q_rows, k_row, lane);
#endif
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (first_key + lane >= S) score[r] = -INFINITY;
            float highest = score[r];
#pragma unroll
            for (int step = 16; step > 0; step /= 2) highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, step));
            highest = fmaxf(highest, row_max[r]);
            const float shrink = exp2f(row_max[r] - highest);
            const float p = exp2f(score[r] - highest);
            row_max[r] = highest;
            row_sum[r] = fmaf(row_sum[r], shrink, p);
            out[r][0] *= shrink;
            out[r][1] *= shrink;
            p_rows[r][lane] = p;
        }
        __syncwarp();

#pragma unroll UNROLL
        for (int key = 0; key < K_TILE; key += 4) {
            float2 value[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
#if NO_STAGING
                const uint4* v_row = v_head + min(first_key + key + j, S - 1) * CHUNKS;
                value[j] = __half22float2(reinterpret_cast<const __half2*>(v_row)[lane]);
#else
                const uint4* v_piece = &v_tile[key + j][place(key + j, lane / 4)];
                value[j] = __half22float2(reinterpret_cast<const __half2*>(v_piece)[lane % 4]);
#endif
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const float4 p = *reinterpret_cast<const float4*>(&p_rows[r][key]);
                const float p_of[4] = {p.x, p.y, p.z, p.w};
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    out[r][0] = fmaf(p_of[j], value[j].x, out[r][0]);
                    out[r][1] = fmaf(p_of[j], value[j].y, out[r][1]);
                }
            }
            extra_sync();
        }
        __syncwarp();                                  // p_tile is free for the next step's scores
    }

#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float sum = row_sum[r];
#pragma unroll
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        const int row = first_row + warp * ROWS + r;
        if (row < S) {
            reinterpret_cast<__half2*>(o + head + static_cast<size_t>(row) * HEAD_DIM)[lane] = __floats2half2_rn(out[r][0] / sum, out[r][1] / sum);
        }
    }
}

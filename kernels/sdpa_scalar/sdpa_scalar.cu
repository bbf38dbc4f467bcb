// Scalar attention with an online softmax: the occupancy family.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, HEAD_DIM] f16, contiguous
//
// No tensor cores: every product is an f32 FMA. A block owns TILE_M query rows of one head and walks over the keys,
// K_TILE at a time, staged in shared memory. A warp owns ROWS = ceil(TILE_M / WARPS) query rows and keeps their output
// and their softmax state in registers, so that registers, not shared memory, decide how many blocks an SM holds.
//
// Launch: grid = [(S + TILE_M - 1) / TILE_M, B * H], block = [THREADS], no dynamic shared memory. Any S >= 1.
// Static shared memory: 4*TILE_M*HEAD_DIM (Q, f32) + 2*2*K_TILE*HEAD_DIM (K and V, f16) + 4*TILE_M*K_TILE (P, f32) bytes;
// 48 KiB at the most (TILE_M=64, K_TILE=64).
//
// Macros
//   THREADS        threads in a block, a multiple of 32: 128, 192, 256
//   TILE_M         query rows in a block: 32, 64
//   K_TILE         keys staged in a step: 16, 32, 64
//   LAUNCH_BOUNDS  0: none (the default; -maxrregcount rules). n > 0: __launch_bounds__(THREADS, n), that is registers
//                  for at least n blocks on an SM. With launch bounds the compiler ignores -maxrregcount.
//   UNROLL         unroll factor of the two inner loops, over 8 dimensions and over 4 keys: 1, 2, 4 (default 1)
//   RESTRICT       1 (default): __restrict__ on the pointers. 0: without
//   HEAD_DIM       dimensions of a head, a multiple of 64 (default 64)
#include <cuda_fp16.h>

#ifndef THREADS
#define THREADS 128
#endif
#ifndef TILE_M
#define TILE_M 32
#endif
#ifndef K_TILE
#define K_TILE 32
#endif
#ifndef LAUNCH_BOUNDS
#define LAUNCH_BOUNDS 0
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#ifndef RESTRICT
#define RESTRICT 1
#endif
#ifndef HEAD_DIM
#define HEAD_DIM 64
#endif

#if THREADS % 32 != 0 || THREADS < 32 || THREADS > 1024
#error "THREADS must be a multiple of 32 from 32 to 1024"
#endif
#if K_TILE != 16 && K_TILE % 32 != 0
#error "K_TILE must be 16 or a multiple of 32"
#endif
#if HEAD_DIM % 64 != 0
#error "HEAD_DIM must be a multiple of 64"
#endif
#if 4 * TILE_M * HEAD_DIM + 4 * K_TILE * HEAD_DIM + 4 * TILE_M * K_TILE > 49152
#error "Q, K, V and P tiles need more than 48 KiB of static shared memory: lower TILE_M or K_TILE"
#endif
#if RESTRICT
#define MAYBE_RESTRICT __restrict__
#else
#define MAYBE_RESTRICT
#endif
#if LAUNCH_BOUNDS > 0
#define BOUNDS __launch_bounds__(THREADS, LAUNCH_BOUNDS)
#else
#define BOUNDS
#endif

namespace {

constexpr int WARPS = THREADS / 32;
constexpr int ROWS = (TILE_M + WARPS - 1) / WARPS;          // query rows of a warp
constexpr int CHUNKS = HEAD_DIM / 8;                        // 16-byte pieces of a row of K or V
constexpr int KEY_LANES = K_TILE < 32 ? K_TILE : 32;        // lanes with different keys in q . k^T
constexpr int PARTS = 32 / KEY_LANES;                       // lanes that share a key, each with part of its dimensions
constexpr int KEYS = K_TILE / KEY_LANES;                    // keys of a lane in q . k^T
constexpr int PAIRS = HEAD_DIM / 64;                        // pairs of output dimensions of a lane in p . v
constexpr int BOUNDED = UNROLL;                             // a pragma takes a constant, not a macro
constexpr float LOG2E = 1.4426950408889634f;

static_assert((WARPS - 1) * ROWS < TILE_M, "a warp has no row at all: fewer THREADS or a larger TILE_M");

__device__ __forceinline__ void widen(uint4 packed, float (&wide)[8]) {
    const __half2* half = reinterpret_cast<const __half2*>(&packed);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 pair = __half22float2(half[i]);
        wide[2 * i] = pair.x;
        wide[2 * i + 1] = pair.y;
    }
}

// The row of the tile that is the warp's r-th. Rows past the tile (THREADS=192) repeat the tile's last row, the same warp's.
__device__ __forceinline__ int tile_row(int warp, int r) {
    const int row = warp * ROWS + r;
    return WARPS * ROWS == TILE_M ? row : min(row, TILE_M - 1);
}

}  // namespace

extern "C" __global__ void BOUNDS sdpa_scalar(const __half* MAYBE_RESTRICT q, const __half* MAYBE_RESTRICT k,
                                              const __half* MAYBE_RESTRICT v, __half* MAYBE_RESTRICT o, int S,
                                              float scale) {
    __shared__ alignas(16) float q_tile[TILE_M][HEAD_DIM];
    __shared__ uint4 k_tile[K_TILE][CHUNKS];                // 16-byte pieces, piece c of key n at c ^ (n & 7)
    __shared__ uint4 v_tile[K_TILE][CHUNKS];
    __shared__ alignas(16) float p_tile[TILE_M][K_TILE];

    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int first_row = blockIdx.x * TILE_M;
    const size_t head = static_cast<size_t>(blockIdx.y) * S * HEAD_DIM;
    const uint4* q_head = reinterpret_cast<const uint4*>(q + head);
    const uint4* k_head = reinterpret_cast<const uint4*>(k + head);
    const uint4* v_head = reinterpret_cast<const uint4*>(v + head);
    const uint4 zero = make_uint4(0, 0, 0, 0);

    // Q, widened once, with the scale and log2(e) folded in: the softmax below works in powers of two.
    for (int i = threadIdx.x; i < TILE_M * CHUNKS; i += THREADS) {
        const int row = i / CHUNKS, chunk = i % CHUNKS;
        float wide[8];
        widen(first_row + row < S ? q_head[(first_row + row) * CHUNKS + chunk] : zero, wide);
#pragma unroll
        for (int j = 0; j < 8; ++j) q_tile[row][chunk * 8 + j] = wide[j] * (scale * LOG2E);
    }

    float out[ROWS][PAIRS][2] = {};
    float row_max[ROWS], row_sum[ROWS];                     // row_sum: of this lane's keys only, until the end
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        row_max[r] = -INFINITY;
        row_sum[r] = 0.0f;
    }

    for (int first_key = 0; first_key < S; first_key += K_TILE) {
        __syncthreads();                                    // the last step's tiles are no longer read
        for (int i = threadIdx.x; i < K_TILE * CHUNKS; i += THREADS) {
            const int key = i / CHUNKS, chunk = i % CHUNKS;
            const bool inside = first_key + key < S;
            const int from = (first_key + key) * CHUNKS + chunk;
            k_tile[key][chunk ^ (key & 7)] = inside ? k_head[from] : zero;
            v_tile[key][chunk] = inside ? v_head[from] : zero;
        }
        __syncthreads();

        // q . k^T: a lane has KEYS keys against all ROWS rows of its warp.
        float score[ROWS][KEYS] = {};
        const int part = lane / KEY_LANES;
#pragma unroll BOUNDED
        for (int i = 0; i < CHUNKS / PARTS; ++i) {
            const int chunk = part * (CHUNKS / PARTS) + i;
            float k_wide[KEYS][8];
#pragma unroll
            for (int j = 0; j < KEYS; ++j) {
                const int key = lane % KEY_LANES + j * KEY_LANES;
                widen(k_tile[key][chunk ^ (key & 7)], k_wide[j]);
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const float* q_row = &q_tile[tile_row(warp, r)][chunk * 8];
                const float4 low = *reinterpret_cast<const float4*>(q_row);
                const float4 high = *reinterpret_cast<const float4*>(q_row + 4);
#pragma unroll
                for (int j = 0; j < KEYS; ++j) {
                    float sum = score[r][j];
                    sum = fmaf(low.x, k_wide[j][0], sum);
                    sum = fmaf(low.y, k_wide[j][1], sum);
                    sum = fmaf(low.z, k_wide[j][2], sum);
                    sum = fmaf(low.w, k_wide[j][3], sum);
                    sum = fmaf(high.x, k_wide[j][4], sum);
                    sum = fmaf(high.y, k_wide[j][5], sum);
                    sum = fmaf(high.z, k_wide[j][6], sum);
                    sum = fmaf(high.w, k_wide[j][7], sum);
                    score[r][j] = sum;
                }
            }
        }

        // Online softmax: raise the running maximum, scale what is there down, exponentiate this step's scores.
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            float highest = row_max[r];
#pragma unroll
            for (int j = 0; j < KEYS; ++j) {
#pragma unroll
                for (int step = KEY_LANES; step < 32; step *= 2) {
                    score[r][j] += __shfl_xor_sync(0xffffffffu, score[r][j], step);
                }
                const int key = first_key + lane % KEY_LANES + j * KEY_LANES;
                if (key >= S) score[r][j] = -INFINITY;
                highest = fmaxf(highest, score[r][j]);
            }
#pragma unroll
            for (int step = KEY_LANES / 2; step > 0; step /= 2) {
                highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, step));
            }
            const float shrink = exp2f(row_max[r] - highest);
            row_max[r] = highest;
            row_sum[r] *= shrink;
#pragma unroll
            for (int d = 0; d < PAIRS; ++d) {
                out[r][d][0] *= shrink;
                out[r][d][1] *= shrink;
            }
            float* p_row = p_tile[tile_row(warp, r)];
#pragma unroll
            for (int j = 0; j < KEYS; ++j) {
                const float p = exp2f(score[r][j] - highest);
                row_sum[r] += p;
                if (lane < KEY_LANES) p_row[lane + j * KEY_LANES] = p;
            }
        }
        __syncwarp();

        // p . v: a lane has the output dimensions 2*lane and 2*lane+1 (of each 64) of all rows of its warp.
#pragma unroll BOUNDED
        for (int key = 0; key < K_TILE; key += 4) {
            float2 v_pair[4][PAIRS];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const __half2* v_row = reinterpret_cast<const __half2*>(v_tile[key + j]);
#pragma unroll
                for (int d = 0; d < PAIRS; ++d) v_pair[j][d] = __half22float2(v_row[lane + 32 * d]);
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const float* p_row = p_tile[tile_row(warp, r)];
                const float4 p = *reinterpret_cast<const float4*>(p_row + key);
                const float p_of[4] = {p.x, p.y, p.z, p.w};
#pragma unroll
                for (int j = 0; j < 4; ++j) {
#pragma unroll
                    for (int d = 0; d < PAIRS; ++d) {
                        out[r][d][0] = fmaf(p_of[j], v_pair[j][d].x, out[r][d][0]);
                        out[r][d][1] = fmaf(p_of[j], v_pair[j][d].y, out[r][d][1]);
                    }
                }
            }
        }
        __syncwarp();                                       // p_tile is free for the next step's scores
    }

#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float sum = row_sum[r];
#pragma unroll
        for (int step = KEY_LANES / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        const int row = warp * ROWS + r;
        if (row < TILE_M && first_row + row < S) {
            __half2* o_row = reinterpret_cast<__half2*>(o + head + static_cast<size_t>(first_row + row) * HEAD_DIM);
#pragma unroll
            for (int d = 0; d < PAIRS; ++d) {
                o_row[lane + 32 * d] = __floats2half2_rn(out[r][d][0] / sum, out[r][d][1] / sum);
            }
        }
    }
}

// The faulty plan, kept on purpose: attention with all of K and V, and a block's whole score matrix, in shared memory.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, HEAD_DIM] f16, contiguous
//
// The code is right; its budget is not. It grows with the sequence, and at S=512 asks for about 204 KiB a block:
//
//     array      bytes                       TILE_M=32, S=512
//     k_all      2 * S * HEAD_DIM            65536
//     v_all      2 * S * HEAD_DIM            65536
//     scores     4 * TILE_M * S              65536
//     out        4 * TILE_M * HEAD_DIM        8192
//     q_tile     2 * TILE_M * HEAD_DIM        4096
//     row_max    4 * TILE_M                    128
//     row_sum    4 * TILE_M                    128
//     total      4*S*HEAD_DIM + 4*TILE_M*S + 6*TILE_M*HEAD_DIM + 8*TILE_M   209152
//
// An L4 (sm_89) gives a block 48 KiB of static and 99 KiB of opt-in dynamic shared memory: it cannot run there. An H100 or
// H200 (sm_90) gives 227 KiB: there it runs, one block on an SM.
//
// Launch: grid = [(S + TILE_M - 1) / TILE_M, B * H], block = [THREADS], dynamic shared memory = the total above, or none
// where MAX_S is set.
//
// Macros
//   THREADS    threads in a block, a multiple of 32 (default 192)
//   TILE_M     query rows in a block (default 32)
//   MAX_S      0 (default): dynamic shared memory, sized from S. n > 0: static arrays, one for each row of the table, for at
//              most n keys; ptxas refuses them above 48 KiB (n=64 is the most for TILE_M=32); with S > n nothing is written.
//   HEAD_DIM   dimensions of a head, a multiple of 8 (default 64)
#include <cuda_fp16.h>

#ifndef THREADS
#define THREADS 192
#endif
#ifndef TILE_M
#define TILE_M 32
#endif
#ifndef MAX_S
#define MAX_S 0
#endif
#ifndef HEAD_DIM
#define HEAD_DIM 64
#endif

#if THREADS % 32 != 0 || THREADS < 32 || THREADS > 1024
#error "THREADS must be a multiple of 32 from 32 to 1024"
#endif
#if HEAD_DIM % 8 != 0
#error "HEAD_DIM must be a multiple of 8"
#endif

namespace {

constexpr int WARPS = THREADS / 32;
constexpr float LOG2E = 1.4426950408889634f;

// Where each array starts. In dynamic memory all sizes but those of the statistics are multiples of 16 bytes.
struct Tiles {
    __half* k_all;       // [S][HEAD_DIM]
    __half* v_all;       // [S][HEAD_DIM]
    float* scores;       // [TILE_M][S]
    float* out;          // [TILE_M][HEAD_DIM]
    __half* q_tile;      // [TILE_M][HEAD_DIM]
    float* row_max;      // [TILE_M]
    float* row_sum;      // [TILE_M]
};

#if MAX_S == 0
__device__ Tiles carve(char* bytes, int keys) {
    Tiles tiles;
    tiles.k_all = reinterpret_cast<__half*>(bytes);
    tiles.v_all = tiles.k_all + keys * HEAD_DIM;
    tiles.scores = reinterpret_cast<float*>(tiles.v_all + keys * HEAD_DIM);
    tiles.out = tiles.scores + TILE_M * keys;
    tiles.q_tile = reinterpret_cast<__half*>(tiles.out + TILE_M * HEAD_DIM);
    tiles.row_max = reinterpret_cast<float*>(tiles.q_tile + TILE_M * HEAD_DIM);
    tiles.row_sum = tiles.row_max + TILE_M;
    return tiles;
}
#endif

__device__ void stage(__half* to, const __half* from, int rows, int valid_rows) {
    constexpr int CHUNKS = HEAD_DIM / 8;
    for (int i = threadIdx.x; i < rows * CHUNKS; i += THREADS) {
        const bool inside = i / CHUNKS < valid_rows;
        reinterpret_cast<uint4*>(to)[i] = inside ? reinterpret_cast<const uint4*>(from)[i] : make_uint4(0, 0, 0, 0);
    }
}

__device__ float dot(const __half* a, const __half* b) {
    float sum = 0.0f;
#pragma unroll 4
    for (int d = 0; d < HEAD_DIM; d += 8) {
        const uint4 a8 = *reinterpret_cast<const uint4*>(a + d), b8 = *reinterpret_cast<const uint4*>(b + d);
        const __half2* a2 = reinterpret_cast<const __half2*>(&a8);
        const __half2* b2 = reinterpret_cast<const __half2*>(&b8);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float2 x = __half22float2(a2[i]), y = __half22float2(b2[i]);
            sum = fmaf(x.x, y.x, fmaf(x.y, y.y, sum));
        }
    }
    return sum;
}

}  // namespace

extern "C" __global__ void sdpa_whole_kv(const __half* __restrict__ q, const __half* __restrict__ k,
                                         const __half* __restrict__ v, __half* __restrict__ o, int S, float scale) {
#if MAX_S > 0
    __shared__ __align__(16) __half k_all[MAX_S * HEAD_DIM], v_all[MAX_S * HEAD_DIM];
    __shared__ __align__(16) float scores[TILE_M * MAX_S], out[TILE_M * HEAD_DIM];
    __shared__ __align__(16) __half q_tile[TILE_M * HEAD_DIM];
    __shared__ float row_max[TILE_M], row_sum[TILE_M];
    if (S > MAX_S) return;
    const Tiles tiles{k_all, v_all, scores, out, q_tile, row_max, row_sum};
#else
    extern __shared__ __align__(16) char bytes[];
    const Tiles tiles = carve(bytes, S);
#endif
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int first_row = blockIdx.x * TILE_M;
    const int rows = min(TILE_M, S - first_row);
    const size_t head = static_cast<size_t>(blockIdx.y) * S * HEAD_DIM;

    stage(tiles.q_tile, q + head + static_cast<size_t>(first_row) * HEAD_DIM, TILE_M, rows);
    stage(tiles.k_all, k + head, S, S);
    stage(tiles.v_all, v + head, S, S);
    __syncthreads();

    for (int i = threadIdx.x; i < rows * S; i += THREADS) {
        const int row = i / S, key = i % S;
        tiles.scores[i] = dot(tiles.q_tile + row * HEAD_DIM, tiles.k_all + key * HEAD_DIM) * (scale * LOG2E);
    }
    __syncthreads();

    for (int row = warp; row < rows; row += WARPS) {
        float highest = -INFINITY;
        for (int key = lane; key < S; key += 32) highest = fmaxf(highest, tiles.scores[row * S + key]);
        for (int step = 16; step > 0; step /= 2) highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, step));
        float sum = 0.0f;
        for (int key = lane; key < S; key += 32) {
            const float p = exp2f(tiles.scores[row * S + key] - highest);
            tiles.scores[row * S + key] = p;
            sum += p;
        }
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (lane == 0) {
            tiles.row_max[row] = highest;
            tiles.row_sum[row] = sum;
        }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < rows * HEAD_DIM; i += THREADS) {
        const int row = i / HEAD_DIM, d = i % HEAD_DIM;
        float sum = 0.0f;
        for (int key = 0; key < S; ++key) {
            sum = fmaf(tiles.scores[row * S + key], __half2float(tiles.v_all[key * HEAD_DIM + d]), sum);
        }
        tiles.out[i] = sum / tiles.row_sum[row];
    }
    __syncthreads();

    __half* o_rows = o + head + static_cast<size_t>(first_row) * HEAD_DIM;
    for (int i = threadIdx.x; i < rows * HEAD_DIM; i += THREADS) o_rows[i] = __float2half(tiles.out[i]);
}

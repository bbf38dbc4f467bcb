// What an attention kernel does with scores in registers: the online softmax, in powers of two, and the writing of the result.
// The registers are those of mma and wgmma accumulators, which are alike: blocks of 16 rows and 8 columns for each warp.
#pragma once
#include "ptx.cuh"

#ifndef CAUSAL
#define CAUSAL 0
#endif

namespace {

constexpr int HEAD_DIM = 64;
constexpr int CHUNKS = HEAD_DIM / 8;     // 16-byte pieces of a row
constexpr int ROW_BYTES = 2 * HEAD_DIM;  // 128: a row is all 32 banks, hence the swizzle
constexpr int D_TILES = HEAD_DIM / 8;

// The byte of 16-byte piece `chunk` of row `row` in a tile. Eight rows' pieces of one column fall in different banks.
__device__ __forceinline__ uint32_t swizzled(int row, int chunk) { return row * ROW_BYTES + ((chunk ^ (row & 7)) << 4); }

__device__ __forceinline__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// What a warp knows of its 16 * M rows. Index [m][h] is row 16*m + 8*h + lane/4; out[m][n][2*h + i] its dimension 8*n + 2*(lane%4) + i.
template <int M>
struct Rows {
    float out[M][D_TILES][4] = {};
    float max[M][2];         // of the raw scores, or nearly; the same in a quad of lanes
    float sum[M][2] = {};    // of this lane's keys only

    // Before any key.
    __device__ __forceinline__ Rows() {
#pragma unroll
        for (int m = 0; m < M; ++m) max[m][0] = max[m][1] = -INFINITY;
    }
};

// The scores of those rows and 8 * N keys, laid out as Rows::out.
template <int M, int N>
using Scores = float[M][N][4];

// Scores of keys that a row may not see become minus infinity.
template <int M, int N>
__device__ __forceinline__ void mask(Scores<M, N>& score, int first_row, int first_key, int S, int lane) {
#pragma unroll
    for (int m = 0; m < M; ++m) {
#pragma unroll
        for (int n = 0; n < N; ++n) {
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
template <int M>
__device__ __forceinline__ void raise(Rows<M>& rows, const float (&highest)[M][2], float log2_scale) {
#pragma unroll
    for (int m = 0; m < M; ++m) {
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
template <int M, int N>
__device__ __forceinline__ void make_room(Rows<M>& rows, const Scores<M, N>& score, float log2_scale) {
    constexpr float SLACK = 8.0f;
    float highest[M][2];
    bool exceeds = false;
#pragma unroll
    for (int m = 0; m < M; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            highest[m][h] = -INFINITY;
#pragma unroll
            for (int n = 0; n < N; ++n) highest[m][h] = fmaxf(highest[m][h], fmaxf(score[m][n][2 * h], score[m][n][2 * h + 1]));
            highest[m][h] = quad_max(highest[m][h]);
            exceeds |= (highest[m][h] - rows.max[m][h]) * log2_scale > SLACK;
        }
    }
    if (__any_sync(0xffffffffu, exceeds)) raise(rows, highest, log2_scale);
}

// Turns the scores of 16 keys, of the 16 rows m, into probabilities: the left side of a product with their values.
template <int M, int N>
__device__ __forceinline__ void weigh(uint32_t (&weights)[4], Rows<M>& rows, const Scores<M, N>& score, int m, int k, float log2_scale) {
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

// Divides by the sums, and writes whole 16-byte pieces by way of the warp's own rows of a tile in shared memory.
template <int M>
__device__ __forceinline__ void write_rows(const Rows<M>& rows, char* tile, __half* o_head, int first_row, int S, int warp, int lane) {
#pragma unroll
    for (int m = 0; m < M; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float inverse = 1.0f / quad_sum(rows.sum[m][h]);
            const int row = warp * 16 * M + m * 16 + h * 8 + lane / 4;
#pragma unroll
            for (int n = 0; n < D_TILES; ++n) {
                const uint32_t pair = ptx::pack(rows.out[m][n][2 * h] * inverse, rows.out[m][n][2 * h + 1] * inverse);
                *reinterpret_cast<uint32_t*>(tile + swizzled(row, n) + 4 * (lane % 4)) = pair;
            }
        }
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < 16 * M * CHUNKS; i += 32) {
        const int row = warp * 16 * M + i / CHUNKS, chunk = i % CHUNKS;
        if (first_row + row < S) {
            const uint4 piece = *reinterpret_cast<const uint4*>(tile + swizzled(row, chunk));
            reinterpret_cast<uint4*>(o_head + static_cast<size_t>(first_row + row) * HEAD_DIM)[chunk] = piece;
        }
    }
}

}  // namespace

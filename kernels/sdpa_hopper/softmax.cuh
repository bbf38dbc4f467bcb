// What a warp does with scores in registers: the online softmax, in powers of two, and the writing of its rows.
// The registers are those of wgmma accumulators: blocks of 16 rows and 8 columns for each warp. Of a block a lane has rows lane/4 (h = 0) and
// 8 + lane/4 (h = 1), columns 2*(lane%4) and the next.
#pragma once
#include "products.cuh"

#ifndef HEAD_DIM
#define HEAD_DIM 128
#endif
#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef CAUSAL
#define CAUSAL 0
#endif

#if HEAD_DIM != 64 && HEAD_DIM != 128
#error "HEAD_DIM must be 64 or 128"
#endif
#if TILE_N < 64 || TILE_N > 128 || TILE_N % 16 != 0
#error "TILE_N must be 64, 80, 96, 112 or 128"
#endif

namespace {

constexpr int BOX_ROW = 128;                // bytes: a box has 64 columns, all 32 banks, hence the swizzle
constexpr int BOXES = HEAD_DIM / 64;        // boxes side by side that make a tile
constexpr int WARPGROUP_ROWS = 64;

// What a warp knows of its 16 rows. out[n][2*h + i] is dimension 8*n + 2*(lane%4) + i.
struct Rows {
    float out[HEAD_DIM / 8][4] = {};
    float max[2];            // of the raw scores, or nearly; the same in a quad of lanes
    float sum[2] = {};       // of this lane's keys only
};

// The scores of those rows and a tile's keys, laid out as Rows::out; later their powers of two.
using Scores = float[TILE_N / 8][4];

__device__ __forceinline__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// Scores of keys that a row may not see become minus infinity. `first_row` is the warp's.
__device__ __forceinline__ void mask(Scores& score, int first_row, int first_key, int S, int lane) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int row = first_row + 8 * h + lane / 4;
        const int end = (CAUSAL ? min(S, row + 1) : S) - first_key - 2 * (lane % 4);   // of what the row sees, counted from this lane's first column
#pragma unroll
        for (int n = 0; n < TILE_N / 8; ++n) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (8 * n + i >= end) score[n][2 * h + i] = -INFINITY;
            }
        }
    }
}

// The largest of this lane's scores of each row.
__device__ __forceinline__ void find_highest(float (&highest)[2], const Scores& score) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        highest[h] = fmaxf(score[0][2 * h], score[0][2 * h + 1]);
#pragma unroll
        for (int n = 1; n < TILE_N / 8; ++n) highest[h] = fmaxf(highest[h], fmaxf(score[n][2 * h], score[n][2 * h + 1]));
    }
}

// The maxima that a row begins with.
__device__ __forceinline__ void begin_rows(Rows& rows, const Scores& score) {
    find_highest(rows.max, score);
#pragma unroll
    for (int h = 0; h < 2; ++h) rows.max[h] = quad_max(rows.max[h]);
}

// Raises the maxima where a score would be more than 2^SLACK of one: both types have room for that, and after the first tiles most rows need no
// raising. A lane can say so of its own scores, so that lanes exchange maxima only if one does. Says whether any did; then `shrink` is what their outputs
// have to be multiplied by.
__device__ __forceinline__ bool make_room(Rows& rows, float (&shrink)[2], const Scores& score, float log2_scale) {
    constexpr float SLACK = 8.0f;
    float highest[2];
    find_highest(highest, score);
    const bool exceeds = (highest[0] - rows.max[0]) * log2_scale > SLACK || (highest[1] - rows.max[1]) * log2_scale > SLACK;
    if (!__any_sync(0xffffffffu, exceeds)) return false;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const float max = fmaxf(rows.max[h], quad_max(highest[h]));
        shrink[h] = ptx::exp2_fast((rows.max[h] - max) * log2_scale);
        rows.max[h] = max;
        rows.sum[h] *= shrink[h];
    }
    return true;
}

// Scores become powers of two, and are added up.
__device__ __forceinline__ void exponentiate(Scores& score, Rows& rows, float log2_scale) {
    const float base[2] = {rows.max[0] * log2_scale, rows.max[1] * log2_scale};
#pragma unroll
    for (int n = 0; n < TILE_N / 8; ++n) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float(&pair)[4] = score[n];
            pair[2 * h] = ptx::exp2_fast(fmaf(pair[2 * h], log2_scale, -base[h]));
            pair[2 * h + 1] = ptx::exp2_fast(fmaf(pair[2 * h + 1], log2_scale, -base[h]));
            rows.sum[h] += pair[2 * h] + pair[2 * h + 1];
        }
    }
}

// As the left side of a product with values: weights[k] is of keys 16*k and on.
__device__ __forceinline__ void pack_weights(uint32_t (&weights)[TILE_N / 16][4], const Scores& score) {
#pragma unroll
    for (int k = 0; k < TILE_N / 16; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float(&pair)[4] = score[2 * k + i / 2];
            weights[k][i] = ptx::pack(pair[2 * (i % 2)], pair[2 * (i % 2) + 1]);
        }
    }
}

// Of the four lanes of a quad, lane t gets number t of each lane's values, in the lanes' order.
__device__ __forceinline__ void transpose_quad(uint32_t (&x)[4], int lane) {
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
        const bool upper = (lane & step) != 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if ((i & step) != 0) continue;
            const uint32_t other = __shfl_xor_sync(0xffffffffu, upper ? x[i] : x[i + step], step);
            (upper ? x[i] : x[i + step]) = other;
        }
    }
}

// Divides by the sums, and writes the warp's 16 rows from `first_row` on. A lane has two columns of each block of eight; quads of lanes exchange them,
// so that each lane writes all eight of every fourth block, 16 bytes.
__device__ __forceinline__ void write_rows(const Rows& rows, void* o_head, int first_row, int S, int lane) {
    constexpr int CHUNKS = HEAD_DIM / 8;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const float inverse = __fdividef(1.0f, quad_sum(rows.sum[h]));
        const int row = first_row + 8 * h + lane / 4;
        uint4* const to = static_cast<uint4*>(o_head) + static_cast<size_t>(row) * CHUNKS + lane % 4;
#pragma unroll
        for (int n = 0; n < CHUNKS; n += 4) {
            uint32_t pairs[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) pairs[i] = ptx::pack(rows.out[n + i][2 * h] * inverse, rows.out[n + i][2 * h + 1] * inverse);
            transpose_quad(pairs, lane);
            if (row < S) to[n] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
        }
    }
}

}  // namespace

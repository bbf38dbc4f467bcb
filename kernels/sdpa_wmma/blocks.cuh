// Products of 16x16 blocks on tensor cores: with LDMATRIX=0 through WMMA, with LDMATRIX=1 by ldmatrix and mma.m16n8k16. Both halves have the same names.
//
// WMMA addresses rows by a stride, so it cannot read swizzled tiles; ldmatrix takes the address of each row. The source that includes this file
// defines, as constants: CHUNK (f16 in 16 bytes), TILE_STRIDE (f16 from row to row of a tile), SCORE_STRIDE and P_STRIDE (of a warp's scores in f32,
// and of its probabilities in f16), and `place(row, chunk)`, the offset of a 16-byte chunk in a tile.
#pragma once

#if !LDMATRIX

#include <mma.h>

namespace {

namespace wmma = nvcuda::wmma;

using Left = wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major>;
using Keys = wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major>;
using Values = wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major>;

// Rows `row` and on, dimensions `d` and on, of a tile.
template <class Fragment>
__device__ __forceinline__ Fragment block_of(const __half* from, int stride) {
    Fragment fragment;
    wmma::load_matrix_sync(fragment, from, stride);
    return fragment;
}
__device__ __forceinline__ Left left_of(const __half* tile, int row, int d) { return block_of<Left>(tile + place(row, d / CHUNK), TILE_STRIDE); }
__device__ __forceinline__ Keys keys_of(const __half* tile, int row, int d) { return block_of<Keys>(tile + place(row, d / CHUNK), TILE_STRIDE); }
__device__ __forceinline__ Values values_of(const __half* tile, int row, int d) { return block_of<Values>(tile + place(row, d / CHUNK), TILE_STRIDE); }
__device__ __forceinline__ Left weights_of(const __half* p, int key) { return block_of<Left>(p + key, P_STRIDE); }

// 16x16 f32.
struct Accumulator {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> block;

    __device__ __forceinline__ Accumulator() { wmma::fill_fragment(block, 0.0f); }

    template <class Right>
    __device__ __forceinline__ void add(const Left& left, const Right& right) {
        wmma::mma_sync(block, left, right, block);
    }

    __device__ __forceinline__ void multiply(const float (&factor)[8]) {
#pragma unroll
        for (int i = 0; i < 8; ++i) block.x[i] *= factor[i];
    }

    __device__ __forceinline__ void store(float* to, int stride) const { wmma::store_matrix_sync(to, block, stride, wmma::mem_row_major); }

    // The rows of a lane's eight elements. WMMA does not say, but a block of row numbers does.
    struct Rows {
        int of[8];

        __device__ __forceinline__ void find(float* scratch) {
            for (int i = threadIdx.x % 32; i < 256; i += 32) scratch[i / 16 * SCORE_STRIDE + i % 16] = static_cast<float>(i / 16);
            __syncwarp();
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> numbers;
            static_assert(decltype(numbers)::num_elements == 8, "16x16 f32 over 32 lanes");
            wmma::load_matrix_sync(numbers, scratch, SCORE_STRIDE, wmma::mem_row_major);
#pragma unroll
            for (int i = 0; i < 8; ++i) of[i] = static_cast<int>(numbers.x[i]);
            __syncwarp();
        }
    };
};

}  // namespace

#else

#include "../sdpa_fast/ptx.cuh"

namespace {

struct Left {
    uint32_t x[4];
};
struct Right {
    uint32_t x[4];   // dimensions 0 to 7 of the block in the first two, 8 to 15 in the others
};

__device__ __forceinline__ int lane_id() { return threadIdx.x % 32; }

// Rows `row` and on, dimensions `d` and on, of a tile.
__device__ __forceinline__ Left left_of(const __half* tile, int row, int d) {
    Left left;
    ptx::load_matrices(left.x, ptx::shared_address(tile + place(row + lane_id() % 16, d / CHUNK + lane_id() / 16)));
    return left;
}
__device__ __forceinline__ Right keys_of(const __half* tile, int row, int d) {
    Right right;
    const int lane = lane_id();
    ptx::load_matrices(right.x, ptx::shared_address(tile + place(row + lane % 8 + lane / 16 * 8, d / CHUNK + lane / 8 % 2)));
    return right;
}
__device__ __forceinline__ Right values_of(const __half* tile, int row, int d) {
    Right right;
    ptx::load_matrices_transposed(right.x, ptx::shared_address(tile + place(row + lane_id() % 16, d / CHUNK + lane_id() / 16)));
    return right;
}
__device__ __forceinline__ Left weights_of(const __half* p, int key) {
    Left left;
    ptx::load_matrices(left.x, ptx::shared_address(p + lane_id() % 16 * P_STRIDE + key + lane_id() / 16 * CHUNK));
    return left;
}

// 16x16 f32, as two blocks of eight columns. Element i of a lane is in row lane / 4 or eight below.
struct Accumulator {
    float block[2][4] = {};

    __device__ __forceinline__ void add(const Left& left, const Right& right) {
        ptx::mma(block[0], left.x, right.x[0], right.x[1]);
        ptx::mma(block[1], left.x, right.x[2], right.x[3]);
    }

    __device__ __forceinline__ void multiply(const float (&factor)[8]) {
#pragma unroll
        for (int i = 0; i < 8; ++i) block[i / 4][i % 4] *= factor[i];
    }

    __device__ __forceinline__ void store(float* to, int stride) const {
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            const int row = lane_id() / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane_id() % 4 * 2;
            *reinterpret_cast<float2*>(to + row * stride + column) = make_float2(block[i / 4][i % 4], block[i / 4][i % 4 + 1]);
        }
    }

    struct Rows {
        int of[8];

        __device__ __forceinline__ void find(float*) {
#pragma unroll
            for (int i = 0; i < 8; ++i) of[i] = lane_id() / 4 + i % 4 / 2 * 8;
        }
    };
};

}  // namespace

#endif

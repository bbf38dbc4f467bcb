// What a step of both kernels is made of: tiles of Q, K and V in shared memory, and the two products of a warpgroup's 64 rows with them.
#pragma once
#include "softmax.cuh"

#ifndef WARPGROUPS
#define WARPGROUPS 2
#endif
#ifndef STAGES
#define STAGES 2
#endif

#if WARPGROUPS < 1 || WARPGROUPS > 4
#error "WARPGROUPS must be 1 to 4"
#endif
#if STAGES < 2
#error "STAGES must be at least 2: the scores of a tile are computed with the output of the one before"
#endif
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "sdpa_hopper needs sm_90a: wgmma and the bulk tensor copy engine are Hopper's. sdpa_fast runs elsewhere"
#endif

namespace {

constexpr int TILE_M = WARPGROUP_ROWS * WARPGROUPS;
constexpr int Q_BOX = WARPGROUP_ROWS * BOX_ROW, KV_BOX = TILE_N * BOX_ROW;   // bytes
constexpr int Q_BYTES = BOXES * Q_BOX;                                       // of a warpgroup
constexpr int TILE_BYTES = BOXES * KV_BOX;                                   // a tile of K or of V

// In units of descriptors, which are 16 bytes.
constexpr uint32_t ROW = BOX_ROW >> 4, STEP = 32 >> 4;   // a row of a box; 16 columns

using Weights = uint32_t[TILE_N / 16][4];

template <int COUNT>
__device__ __forceinline__ void pin(float (&blocks)[COUNT][4]) {
#pragma unroll
    for (int i = 0; i < COUNT * 4; ++i) ptx::pin(blocks[i / 4][i % 4]);
}

// Starts score = q . k^T.
__device__ __forceinline__ void multiply_keys(Scores& score, uint32_t q_tile, uint32_t k_tile) {
    pin(score);
    ptx::wgmma_begin();
#pragma unroll
    for (int d = 0; d < HEAD_DIM / 16; ++d) {
        const uint32_t a = q_tile + d / 4 * WARPGROUP_ROWS * ROW + d % 4 * STEP, b = k_tile + d / 4 * TILE_N * ROW + d % 4 * STEP;
        ptx::Product<TILE_N>::rows(score, ptx::whole(a), ptx::whole(b), d > 0);
    }
    ptx::wgmma_commit();
}

// Starts out += weights . v.
__device__ __forceinline__ void multiply_values(Rows& rows, const Weights& weights, uint32_t v_tile) {
    pin(rows.out);
    ptx::wgmma_begin();
#pragma unroll
    for (int k = 0; k < TILE_N / 16; ++k) ptx::Product<HEAD_DIM>::columns(rows.out, weights[k], ptx::whole(v_tile + k * 16 * ROW));
    ptx::wgmma_commit();
}

// A row of the output is rescaled where its maximum was raised.
__device__ __forceinline__ void rescale(Rows& rows, const float (&shrink)[2]) {
#pragma unroll
    for (int n = 0; n < HEAD_DIM / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) rows.out[n][i] *= shrink[i / 2];
    }
}

}  // namespace

// SPDX-License-Identifier: MIT
// c = a b in f16 with f32 sums: a block of four warps computes 64 x 64 elements, each warp 32 x 32, straight from global memory.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void gemm(const __half* a, const __half* b, __half* c, int M, int N, int K)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = blockIdx.y * 64 + warp / 2 * 32, column = blockIdx.x * 64 + warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left[2];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right[2];
        for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(left[i], a + (size_t)(row + 16 * i) * K + k, K);
        for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(right[j], b + (size_t)k * N + column + 16 * j, N);
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 2; ++j) wmma::mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
    }
    __shared__ float tile[4][16 * 16];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            wmma::store_matrix_sync(tile[warp], sums[i][j], 16, wmma::mem_row_major);
            __syncwarp();
            for (int at = lane; at < 256; at += 32)
                c[(size_t)(row + 16 * i + at / 16) * N + column + 16 * j + at % 16] = __float2half(tile[warp][at]);
            __syncwarp();
        }
}

// c = a * b in half precision with sums in single precision. M and N are multiples of 64, K of 32.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 64, DEPTH = 32;

// Tensor cores: 128 threads compute 64 * 64 outputs, a warp 32 * 32 of them, from tiles in shared memory.
extern "C" __global__ void __launch_bounds__(128) product(const __half *a, const __half *b, float *c, int N, int K) {
    constexpr int A_PITCH = DEPTH + 8, B_PITCH = TILE + 8;
    __shared__ __align__(32) __half left[2][TILE * A_PITCH], right[2][DEPTH * B_PITCH];
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE, warp = threadIdx.x / 32;
    const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
    uint4 next_left[2], next_right[2];
    const auto fetch = [&](int k) {
#pragma unroll
        for (int part = 0; part < 2; ++part) {
            const int at = part * 128 + threadIdx.x;
            next_left[part] = *reinterpret_cast<const uint4 *>(a + (row + at / 4) * K + k + at % 4 * 8);
            next_right[part] = *reinterpret_cast<const uint4 *>(b + (k + at / 8) * N + column + at % 8 * 8);
        }
    };
    const auto put = [&](int stage) {
#pragma unroll
        for (int part = 0; part < 2; ++part) {
            const int at = part * 128 + threadIdx.x;
            *reinterpret_cast<uint4 *>(&left[stage][at / 4 * A_PITCH + at % 4 * 8]) = next_left[part];
            *reinterpret_cast<uint4 *>(&right[stage][at / 8 * B_PITCH + at % 8 * 8]) = next_right[part];
        }
    };
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
    fetch(0);
    put(0);
    __syncthreads();
    for (int k = 0, stage = 0; k < K; k += DEPTH, stage ^= 1) {
        if (k + DEPTH < K) fetch(k + DEPTH);
#pragma unroll
        for (int inner = 0; inner < DEPTH; inner += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> rows[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> columns[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(rows[i], &left[stage][(warp_row + i * 16) * A_PITCH + inner], A_PITCH);
                wmma::load_matrix_sync(columns[i], &right[stage][inner * B_PITCH + warp_column + i * 16], B_PITCH);
            }
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], rows[i], columns[j], sum[i][j]);
        }
        if (k + DEPTH < K) put(stage ^ 1);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j)
            wmma::store_matrix_sync(c + (row + warp_row + i * 16) * N + column + warp_column + j * 16, sum[i][j], N, wmma::mem_row_major);
}

// Tensor cores, and each warp loads its own operands from global memory for 16 * 16 outputs.
extern "C" __global__ void __launch_bounds__(128) unstaged_product(const __half *a, const __half *b, float *c, int N, int K) {
    const int warp = threadIdx.x / 32, row = blockIdx.y * 32 + warp / 2 * 16, column = blockIdx.x * 32 + warp % 2 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> rows;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> columns;
        wmma::load_matrix_sync(rows, a + row * K + k, K);
        wmma::load_matrix_sync(columns, b + k * N + column, N);
        wmma::mma_sync(sum, rows, columns, sum);
    }
    wmma::store_matrix_sync(c + row * N + column, sum, N, wmma::mem_row_major);
}

// The FMA pipe: 256 threads compute 64 * 64 outputs, 4 * 4 a thread, from tiles in shared memory.
extern "C" __global__ void __launch_bounds__(256) fma_product(const __half *a, const __half *b, float *c, int N, int K) {
    constexpr int SLICE = 16;
    __shared__ __align__(16) float left[SLICE][TILE + 4], right[SLICE][TILE];
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    const int thread_row = threadIdx.x / 16 * 4, thread_column = threadIdx.x % 16 * 4;
    float sum[4][4] = {};
    for (int k = 0; k < K; k += SLICE) {
        const int a_row = threadIdx.x / 4, a_depth = threadIdx.x % 4 * 4, b_depth = threadIdx.x / 16, b_column = threadIdx.x % 16 * 4;
        const uint2 four_a = *reinterpret_cast<const uint2 *>(a + (row + a_row) * K + k + a_depth);
        const uint2 four_b = *reinterpret_cast<const uint2 *>(b + (k + b_depth) * N + column + b_column);
        const __half *halves_a = reinterpret_cast<const __half *>(&four_a), *halves_b = reinterpret_cast<const __half *>(&four_b);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            left[a_depth + i][a_row] = __half2float(halves_a[i]);
            right[b_depth][b_column + i] = __half2float(halves_b[i]);
        }
        __syncthreads();
#pragma unroll
        for (int inner = 0; inner < SLICE; ++inner) {
            const float4 rows = *reinterpret_cast<const float4 *>(&left[inner][thread_row]);
            const float4 columns = *reinterpret_cast<const float4 *>(&right[inner][thread_column]);
            const float of_rows[4] = {rows.x, rows.y, rows.z, rows.w}, of_columns[4] = {columns.x, columns.y, columns.z, columns.w};
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(of_rows[i], of_columns[j], sum[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        *reinterpret_cast<float4 *>(c + (row + thread_row + i) * N + column + thread_column) =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}

// The FMA pipe, an output a thread, and every operand from global memory.
extern "C" __global__ void __launch_bounds__(256) naive_product(const __half *a, const __half *b, float *c, int N, int K) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum = fmaf(__half2float(a[row * K + k]), __half2float(b[k * N + column]), sum);
    c[row * N + column] = sum;
}

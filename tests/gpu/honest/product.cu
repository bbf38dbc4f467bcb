// Honest products of few blocks: f16 matrices, f32 sums. C[M, N] = A[M, K] B[K, N], row major; M, N and K are multiples of 64.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// 64 x 64 elements a block of four warps; each warp has 16 rows, straight from global memory.
extern "C" __global__ void product_wmma(const half* a, const half* b, float* c, int m, int n, int k) {
    const int row = blockIdx.y * 64 + threadIdx.x / 32 * 16;
    const int column = blockIdx.x * 64;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4];
    for (auto& sum : sums) wmma::fill_fragment(sum, 0.0f);
    for (int at = 0; at < k; at += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
        wmma::load_matrix_sync(left, a + row * k + at, k);
        for (int tile = 0; tile < 4; ++tile) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
            wmma::load_matrix_sync(right, b + at * n + column + tile * 16, n);
            wmma::mma_sync(sums[tile], left, right, sums[tile]);
        }
    }
    for (int tile = 0; tile < 4; ++tile)
        wmma::store_matrix_sync(c + row * n + column + tile * 16, sums[tile], n, wmma::mem_row_major);
}

// 64 x 64 elements a block of 256 threads, 16 elements each, with tiles in shared memory and no tensor core.
extern "C" __global__ void product_tiled(const half* a, const half* b, float* c, int m, int n, int k) {
    __shared__ float left[64][17], right[16][65];
    const int row = threadIdx.x / 16, column = threadIdx.x % 16;
    float sums[4][4] = {};
    for (int at = 0; at < k; at += 16) {
        for (int i = threadIdx.x; i < 64 * 16; i += 256) {
            left[i / 16][i % 16] = __half2float(a[(blockIdx.y * 64 + i / 16) * k + at + i % 16]);
            right[i / 64][i % 64] = __half2float(b[(at + i / 64) * n + blockIdx.x * 64 + i % 64]);
        }
        __syncthreads();
        for (int step = 0; step < 16; ++step)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sums[i][j] += left[row + 16 * i][step] * right[step][column + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) c[(blockIdx.y * 64 + row + 16 * i) * n + blockIdx.x * 64 + column + 16 * j] = sums[i][j];
}

// An element a thread.
extern "C" __global__ void product_plain(const half* a, const half* b, float* c, int m, int n, int k) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    float sum = 0.0f;
    for (int at = 0; at < k; ++at) sum += __half2float(a[row * k + at]) * __half2float(b[at * n + column]);
    c[row * n + column] = sum;
}

// The sums over a part of K, and the sum of the parts in a second launch.
extern "C" __global__ void product_part(const half* a, const half* b, float* parts, int m, int n, int k, int part_size) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, part = blockIdx.z;
    float sum = 0.0f;
    for (int at = part * part_size; at < (part + 1) * part_size; ++at)
        sum += __half2float(a[row * k + at]) * __half2float(b[at * n + column]);
    parts[(part * m + row) * n + column] = sum;
}

extern "C" __global__ void product_sum(const float* parts, float* c, int elements, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements) return;
    float sum = 0.0f;
    for (int part = 0; part < count; ++part) sum += parts[part * elements + i];
    c[i] = sum;
}

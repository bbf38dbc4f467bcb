// Grouped 1 x 1 convolution: y[g, o, p] = sum over c of w[g, o, c] x[g, c, p], 128 channels in and out a group, fp16 in, fp32 out.
// A block of 256 threads computes all 128 outputs for 64 pixels. P is a multiple of 64.
#include <cuda_fp16.h>
#include <mma.h>

constexpr int C = 128, PIXELS = 64, DEPTH = 32;

// A thread 8 outputs of 4 pixels.
extern "C" __global__ void __launch_bounds__(256, 2) groupconv_threads(const __half *__restrict__ w, const __half *__restrict__ x, float *__restrict__ y, int P) {
    __shared__ __align__(16) float weights[DEPTH][C + 4];
    __shared__ __align__(16) float pixels[DEPTH][PIXELS];
    const __half *const own_w = w + blockIdx.y * C * C, *const own_x = x + static_cast<size_t>(blockIdx.y) * C * P + blockIdx.x * PIXELS;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sums[8][4] = {};
    for (int first = 0; first < C; first += DEPTH) {
        // Eight channels of one output, and of one channel eight pixels.
#pragma unroll
        for (int turn = 0; turn < 2; ++turn) {
            const int o = threadIdx.x % C, c = (threadIdx.x / C + turn * 2) * 8;
            const uint4 in = *reinterpret_cast<const uint4 *>(own_w + o * C + first + c);
            const __half *const eight = reinterpret_cast<const __half *>(&in);
#pragma unroll
            for (int e = 0; e < 8; ++e) weights[c + e][o] = __half2float(eight[e]);
        }
        {
            const int c = threadIdx.x / 8, p = threadIdx.x % 8 * 8;
            const uint4 in = *reinterpret_cast<const uint4 *>(own_x + static_cast<size_t>(first + c) * P + p);
            const __half *const eight = reinterpret_cast<const __half *>(&in);
#pragma unroll
            for (int e = 0; e < 8; e += 4)
                *reinterpret_cast<float4 *>(&pixels[c][p + e]) =
                    make_float4(__half2float(eight[e]), __half2float(eight[e + 1]), __half2float(eight[e + 2]), __half2float(eight[e + 3]));
        }
        __syncthreads();
#pragma unroll 8
        for (int c = 0; c < DEPTH; ++c) {
            const float4 a = *reinterpret_cast<const float4 *>(&weights[c][ty * 8]), b = *reinterpret_cast<const float4 *>(&weights[c][ty * 8 + 4]);
            const float4 q = *reinterpret_cast<const float4 *>(&pixels[c][tx * 4]);
            const float left[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}, right[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        float4 *const to = reinterpret_cast<float4 *>(y + (static_cast<size_t>(blockIdx.y) * C + ty * 8 + i) * P + blockIdx.x * PIXELS + tx * 4);
        __stcs(to, make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]));
    }
}

// A warp 32 outputs of 32 pixels.
extern "C" __global__ void __launch_bounds__(256) groupconv_matrix(const __half *__restrict__ w, const __half *__restrict__ x, float *__restrict__ y, int P) {
    using namespace nvcuda::wmma;
    __shared__ __align__(32) __half weights[C][DEPTH + 8];
    __shared__ __align__(32) __half pixels[DEPTH][PIXELS + 8];
    const __half *const own_w = w + blockIdx.y * C * C, *const own_x = x + static_cast<size_t>(blockIdx.y) * C * P + blockIdx.x * PIXELS;
    const int warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 32;
    fragment<accumulator, 16, 16, 16, float> sums[2][2];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) fill_fragment(sums[i][j], 0.0f);
    for (int first = 0; first < C; first += DEPTH) {
        for (int at = threadIdx.x; at < C * DEPTH / 8; at += 256) {
            const int o = at / 4, c = at % 4 * 8;
            *reinterpret_cast<uint4 *>(&weights[o][c]) = *reinterpret_cast<const uint4 *>(own_w + o * C + first + c);
        }
        {
            const int c = threadIdx.x / 8, p = threadIdx.x % 8 * 8;
            *reinterpret_cast<uint4 *>(&pixels[c][p]) = *reinterpret_cast<const uint4 *>(own_x + static_cast<size_t>(first + c) * P + p);
        }
        __syncthreads();
#pragma unroll
        for (int c = 0; c < DEPTH; c += 16) {
            fragment<matrix_a, 16, 16, 16, __half, row_major> a[2];
            fragment<matrix_b, 16, 16, 16, __half, row_major> b[2];
            for (int i = 0; i < 2; ++i) load_matrix_sync(a[i], &weights[row + i * 16][c], DEPTH + 8);
            for (int j = 0; j < 2; ++j) load_matrix_sync(b[j], &pixels[c][column + j * 16], PIXELS + 8);
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) mma_sync(sums[i][j], a[i], b[j], sums[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            store_matrix_sync(y + (static_cast<size_t>(blockIdx.y) * C + row + i * 16) * P + blockIdx.x * PIXELS + column + j * 16, sums[i][j], P, mem_row_major);
}

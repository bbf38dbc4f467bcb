// SPDX-License-Identifier: MIT
// Kernels that lost something on one of the architectures 8.0, 9.0a and 12.0a, and one that did not.
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void equal(float* x) { x[threadIdx.x] *= 2; }

__device__ void product(const half* a, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, a, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void without_tensor_cores(const half* a, float* c) {
#if __CUDA_ARCH__ == 900
    c[threadIdx.x] = __half2float(a[threadIdx.x]);
#else
    product(a, c);
#endif
}

extern "C" __global__ void __launch_bounds__(256, 1) without_setmaxnreg(float* x) {
#if __CUDA_ARCH_FEAT_SM90_ALL
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
#endif
    x[threadIdx.x] += 1;
}

#if __CUDA_ARCH__ == 800
#define BOUNDS __launch_bounds__(1024, 2)
#else
#define BOUNDS
#endif
extern "C" __global__ void BOUNDS spills(const float* x, float* y) {
    float v[48], s = 0;
    for (int i = 0; i < 48; ++i) v[i] = x[threadIdx.x * 48 + i];
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int i = 0; i < 48; ++i) s += v[i] = v[i] * v[(i * 7 + r) % 48] + s;
    y[threadIdx.x] = s;
}

#if __CUDA_ARCH__ != 1200
extern "C" __global__ void absent(float* x) { x[0] = 1; }
#endif

// Kernels that can be written in more ways than a compiler prints them.
#pragma once
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace lib {
using scalar = __half;
constexpr int WIDTH = 4;
enum Kind { NF4 = 2 };

template <typename T>
__device__ T twice(T x) {
    return x + x;
}

template <typename T, int N, bool ALIGNED = true>
__global__ void fill(T* x) {
    static_assert(N != 33, "N must not be 33");
    x[threadIdx.x] = T(ALIGNED ? N : 0);
}

template <typename T, T (*F)(T)>
__global__ void map(T* x) {
    x[threadIdx.x] = F(x[threadIdx.x]);
}

// The condition prints as a comparison inside of the return type.
template <int W>
__global__ std::enable_if_t<(W > 0)> copy(float* x) {
    x[threadIdx.x] = W;
}
template <int W>
__global__ std::enable_if_t<(W == 0)> copy(float* x) {
    x[threadIdx.x] = -1.0f;
}

__global__ void over(float* x, int n) { x[threadIdx.x] = float(n); }
__global__ void over(float* x) { x[threadIdx.x] = 1.0f; }

namespace {
template <int N>
__global__ void hidden(float* x) {
    x[threadIdx.x] = N;
}
}  // namespace
}  // namespace lib

using lib::scalar;

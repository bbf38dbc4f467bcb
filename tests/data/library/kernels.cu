// SPDX-License-Identifier: MIT
// Kernels of a library for tests: a template, one in an anonymous namespace, one with launch bounds that spills.
template <int N>
__global__ void scale(float* x, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < N; ++k) x[i * N + k] = x[i * N + k] * a + k;
}

namespace {
__global__ void hidden(float* x) {
    __shared__ float s[256];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[255 - threadIdx.x];
}
}  // namespace

extern "C" __global__ void __launch_bounds__(1024, 2) bounded(const float* x, float* y) {
    float v[48];
    for (int i = 0; i < 48; ++i) v[i] = x[threadIdx.x * 48 + i];
    float s = 0;
    for (int r = 0; r < 8; ++r)
        for (int i = 0; i < 48; ++i) {
            v[i] = v[i] * v[(i * 7 + r) % 48] + s;
            s += v[i];
        }
    y[threadIdx.x] = s;
}

void launch(float* x) {
    scale<1><<<1, 32>>>(x, 2);
    scale<4><<<1, 32>>>(x, 2);
    hidden<<<1, 256>>>(x);
    bounded<<<1, 1024>>>(x, x);
}

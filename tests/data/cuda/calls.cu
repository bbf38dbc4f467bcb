#include <cstdio>
__device__ __noinline__ float helper(const float* in, int n) {
    float a[40];
#pragma unroll
    for (int i = 0; i < 40; ++i) a[i] = in[i * n];
    for (int k = 0; k < n; ++k) {
#pragma unroll
        for (int i = 0; i < 40; ++i) a[i] = a[i] * a[(i + 7) % 40] + a[(i + 31) % 40];
    }
    float s = 0;
#pragma unroll
    for (int i = 0; i < 40; ++i) s += a[i];
    return s;
}
extern "C" __global__ void calls(float* out, const float* in, int n) {
    out[threadIdx.x] = helper(in + threadIdx.x, n) + helper(out, n + 1);
}
extern "C" __global__ void prints(float* out, const float* in, int n) {
    printf("%f", in[n]);
    out[threadIdx.x] = helper(in + threadIdx.x, n);
}
extern "C" __global__ void __cluster_dims__(2,1,1) __launch_bounds__(128) clustered(float* out) { out[threadIdx.x] = 1; }
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void recursive(int* out, int n) { *out = fib(n); }

#include <cuda_bf16.h>
__global__ void vectorAdd(const float *A, const float *B, float *C, int numElements) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < numElements) C[i] = A[i] + B[i];
}
__global__ void saxpy(int n, float a, float *x, float *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i];
}
__global__ void relu_f32x4(const float4 *in, float4 *out, size_t n4) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n4) {
    float4 v = in[i];
    out[i] = make_float4(fmaxf(v.x, 0), fmaxf(v.y, 0), fmaxf(v.z, 0), fmaxf(v.w, 0));
  }
}
__global__ void rope(const __nv_bfloat16 *x, const float *freqs, __nv_bfloat16 *out, int B, int T, int NH, int HS) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < B * T * NH * HS) out[i] = __float2bfloat16(__bfloat162float(x[i]) * freqs[i % HS]);
}
struct Config { int n; float scale; };
__global__ void scaled(const float *x, float *y, Config config) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < config.n) y[i] = config.scale * x[i];
}

// C = alpha * A B + beta * C, a thread an element.
#include <cuda_runtime.h>

__global__ void sgemm_naive(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0f;
    for (int i = 0; i < K; ++i) tmp += A[x * K + i] * B[i * N + y];
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}

void launch(int M, int N, int K, float *A, float *B, float *C) {
  dim3 block(32, 32);
  dim3 grid((M + 31) / 32, (N + 31) / 32);
  sgemm_naive<<<grid, block>>>(M, N, K, 1.0f, A, B, 0.0f, C);
}

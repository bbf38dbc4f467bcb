// A block a row, half precision in and out.
#include <cuda_fp16.h>
namespace ops {
template <typename scalar_t, int BLOCK_SIZE>
__global__ void softmax_forward(scalar_t *__restrict__ output, const scalar_t *__restrict__ input, const int rows, const int cols) {
  const int row = blockIdx.x;
  if (row >= rows) return;
  const scalar_t *in_row = input + (size_t)row * cols;
  scalar_t *out_row = output + (size_t)row * cols;
  __shared__ float scratch[32];
  float best = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += BLOCK_SIZE) best = fmaxf(best, (float)in_row[i]);
  for (int w = 16; w; w /= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, w));
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = best;
  __syncthreads();
  for (int w = 0; w < BLOCK_SIZE / 32; w++) best = fmaxf(best, scratch[w]);
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += BLOCK_SIZE) sum += expf((float)in_row[i] - best);
  for (int w = 16; w; w /= 2) sum += __shfl_xor_sync(~0u, sum, w);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < BLOCK_SIZE / 32; w++) sum += scratch[w];
  for (int i = threadIdx.x; i < cols; i += BLOCK_SIZE) out_row[i] = (scalar_t)(expf((float)in_row[i] - best) / sum);
}
}  // namespace ops
void launch(__half *y, const __half *x, int rows, int cols, cudaStream_t s) {
  ops::softmax_forward<__half, 256><<<rows, 256, 0, s>>>(y, x, rows, cols);
}

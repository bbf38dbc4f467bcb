// Attention with one block per query row, in f16 or bf16 (TYPE), with a causal mask if `causal` is not 0.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using f16 = __half;
using bf16 = __nv_bfloat16;

extern "C" __global__ void masked(const TYPE* q, const TYPE* k, const TYPE* v, TYPE* o, int rows, int causal, float scale) {
    extern __shared__ float scores[];
    __shared__ float query[64], parts[64];
    const size_t head = (size_t)blockIdx.y * rows * 64;
    const int row = blockIdx.x, at = threadIdx.x, keys = causal ? row + 1 : rows;
    query[at] = float(q[head + (size_t)row * 64 + at]);
    __syncthreads();
    float largest = -INFINITY;
    for (int key = at; key < keys; key += 64) {
        float score = 0;
        for (int d = 0; d < 64; ++d) score += query[d] * float(k[head + (size_t)key * 64 + d]);
        scores[key] = score * scale;
        largest = fmaxf(largest, scores[key]);
    }
    parts[at] = largest;
    __syncthreads();
    for (int i = 0; i < 64; ++i) largest = fmaxf(largest, parts[i]);
    __syncthreads();
    float part = 0, total = 0, sum = 0;
    for (int key = at; key < keys; key += 64) part += scores[key] = expf(scores[key] - largest);
    parts[at] = part;
    __syncthreads();
    for (int i = 0; i < 64; ++i) total += parts[i];
    for (int key = 0; key < keys; ++key) sum += scores[key] * float(v[head + (size_t)key * 64 + at]);
    o[head + (size_t)row * 64 + at] = TYPE(sum / total);
}

// Asks L2 to keep the inputs for the next launch on them, and reads them three times for it. Its results are right; what
// it wants is a cache that its user will not find so warm.
#include "softmax.cuh"

__device__ float keep(const float* at, unsigned long long policy) {
    float value;
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(value) : "l"(at), "l"(policy));
    return value;
}

extern "C" __global__ void evict_last(const float* x, float* y, int cols) {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    const float* row = x + static_cast<size_t>(blockIdx.x) * cols;
    float highest = __int_as_float(0xff800000);
    for (int i = threadIdx.x; i < cols; i += THREADS) highest = fmaxf(highest, keep(row + i, policy));
    highest = over_block<Max>(highest);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += THREADS) sum += exp2f((keep(row + i, policy) - highest) * LOG2E);
    sum = over_block<Sum>(sum);
    for (int i = threadIdx.x; i < cols; i += THREADS) {
        y[static_cast<size_t>(blockIdx.x) * cols + i] = exp2f((keep(row + i, policy) - highest) * LOG2E) / sum;
    }
}

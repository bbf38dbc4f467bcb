// Works in half precision: two elements at a time, and rounded to eleven bits.
#include <cuda_fp16.h>

#include "softmax.cuh"

extern "C" __global__ void reduced_precision(const float* x, float* y, int cols) {
    const size_t start = static_cast<size_t>(blockIdx.x) * cols;
    const float2* from = reinterpret_cast<const float2*>(x + start);
    float2* to = reinterpret_cast<float2*>(y + start);
    float highest = __int_as_float(0xff800000);
    for (int i = threadIdx.x; i < cols / 2; i += THREADS) highest = fmaxf(highest, fmaxf(from[i].x, from[i].y));
    highest = over_block<Max>(highest);
    const __half2 shift = __float2half2_rn(highest);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols / 2; i += THREADS) {
        const float2 power = __half22float2(h2exp(__hsub2(__float22half2_rn(from[i]), shift)));
        sum += power.x + power.y;
    }
    sum = over_block<Sum>(sum);
    for (int i = threadIdx.x; i < cols / 2; i += THREADS) {
        const float2 power = __half22float2(h2exp(__hsub2(__float22half2_rn(from[i]), shift)));
        to[i] = make_float2(power.x / sum, power.y / sum);
    }
}

// Rotary position embedding of q [S, H, D] in fp16: neighbours 2i and 2i + 1 turn by the angle s * base^(-2i / D). D is 128.
#include <cuda_fp16.h>

__device__ __forceinline__ __half2 turned(__half2 pair, float cosine, float sine) {
    const float2 v = __half22float2(pair);
    return __floats2half2_rn(v.x * cosine - v.y * sine, v.x * sine + v.y * cosine);
}

// A thread a pair. Grid: H / 4, S.
extern "C" __global__ void __launch_bounds__(256) rope_pairs(const __half2 *__restrict__ q, __half2 *__restrict__ y, int S, int H, float base) {
    const int i = threadIdx.x % 64, s = blockIdx.y, at = s * H * 64 + blockIdx.x * 256 + threadIdx.x;
    const float angle = s * powf(base, -2.0f * i / 128.0f);
    float sine, cosine;
    sincosf(angle, &sine, &cosine);
    y[at] = turned(q[at], cosine, sine);
}

// A thread a position and a pair, for all heads. Grid: S / 4.
extern "C" __global__ void __launch_bounds__(256) rope_positions(const __half2 *__restrict__ q, __half2 *__restrict__ y, int S, int H, float base) {
    const int i = threadIdx.x % 64, s = blockIdx.x * 4 + threadIdx.x / 64;
    const float angle = s * powf(base, -2.0f * i / 128.0f);
    float sine, cosine;
    sincosf(angle, &sine, &cosine);
    const size_t first = static_cast<size_t>(s) * H * 64 + i;
#pragma unroll 8
    for (int h = 0; h < H; ++h) y[first + h * 64] = turned(q[first + h * 64], cosine, sine);
}

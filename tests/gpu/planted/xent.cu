// loss[r] = log(sum of exp(logits[r, :])) - logits[r, labels[r]], in bf16. A block of 1024 threads a row. V is a multiple of 8192.
#include <cuda_bf16.h>

constexpr int THREADS = 1024;

// A largest value and a sum of exponentials relative to it.
struct Partial {
    float largest, sum;
};

__device__ __forceinline__ Partial joined(Partial a, Partial b) {
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}

__device__ __forceinline__ Partial block_joined(Partial v) {
    __shared__ float largest[THREADS / 32], sums[THREADS / 32];
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
        Partial other;
        other.largest = __shfl_xor_sync(0xffffffffu, v.largest, half);
        other.sum = __shfl_xor_sync(0xffffffffu, v.sum, half);
        v = joined(v, other);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        largest[threadIdx.x / 32] = v.largest;
        sums[threadIdx.x / 32] = v.sum;
    }
    __syncthreads();
    v = {largest[threadIdx.x % 32], sums[threadIdx.x % 32]};
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
        Partial other;
        other.largest = __shfl_xor_sync(0xffffffffu, v.largest, half);
        other.sum = __shfl_xor_sync(0xffffffffu, v.sum, half);
        v = joined(v, other);
    }
    return v;
}

__device__ __forceinline__ float low(unsigned two) { return __uint_as_float(two << 16); }
__device__ __forceinline__ float high(unsigned two) { return __uint_as_float(two & 0xffff0000u); }

// Calls with eight values a thread, or with one.
template <bool WIDE, class Use> __device__ __forceinline__ void each(const __nv_bfloat16 *row, int V, Use use) {
    if constexpr (WIDE) {
#pragma unroll 2
        for (int at = threadIdx.x; at < V / 8; at += THREADS) {
            const uint4 in = reinterpret_cast<const uint4 *>(row)[at];
            const float v[8] = {low(in.x), high(in.x), low(in.y), high(in.y), low(in.z), high(in.z), low(in.w), high(in.w)};
            use(v);
        }
    } else {
#pragma unroll 1
        for (int at = threadIdx.x; at < V; at += THREADS) {
            const float v[1] = {__bfloat162float(row[at])};
            use(v);
        }
    }
}

template <int N> __device__ __forceinline__ float largest_of(const float (&v)[N]) {
    float largest = v[0];
#pragma unroll
    for (int i = 1; i < N; ++i) largest = fmaxf(largest, v[i]);
    return largest;
}

template <int N> __device__ __forceinline__ float exponentials(const float (&v)[N], float largest) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < N; ++i) sum += __expf(v[i] - largest);
    return sum;
}

// The maximum is corrected on the way.
template <bool WIDE> __device__ __forceinline__ void once(const __nv_bfloat16 *logits, const int *labels, float *loss, int V) {
    const __nv_bfloat16 *const row = logits + static_cast<size_t>(blockIdx.x) * V;
    Partial own = {-1e30f, 0.0f};
    each<WIDE>(row, V, [&](const auto &v) {
        const float largest = fmaxf(own.largest, largest_of(v));
        own.sum = own.sum * __expf(own.largest - largest) + exponentials(v, largest);
        own.largest = largest;
    });
    const Partial all = block_joined(own);
    if (threadIdx.x == 0) loss[blockIdx.x] = __logf(all.sum) + all.largest - __bfloat162float(row[labels[blockIdx.x]]);
}

// The maximum first, then the sum.
template <bool WIDE> __device__ __forceinline__ void twice(const __nv_bfloat16 *logits, const int *labels, float *loss, int V) {
    const __nv_bfloat16 *const row = logits + static_cast<size_t>(blockIdx.x) * V;
    float own = -1e30f, sum = 0.0f;
    each<WIDE>(row, V, [&](const auto &v) { own = fmaxf(own, largest_of(v)); });
    const float largest = block_joined({own, 0.0f}).largest;
    each<WIDE>(row, V, [&](const auto &v) { sum += exponentials(v, largest); });
    const Partial all = block_joined({largest, sum});
    if (threadIdx.x == 0) loss[blockIdx.x] = __logf(all.sum) + all.largest - __bfloat162float(row[labels[blockIdx.x]]);
}

#define ENTRY(NAME, CALL)                                                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) NAME(const __nv_bfloat16 *logits, const int *labels, float *loss, \
                                                                  int V) {                                                     \
        CALL(logits, labels, loss, V);                                                                                         \
    }
ENTRY(xent_once_wide, once<true>)
ENTRY(xent_once_single, once<false>)
ENTRY(xent_twice_wide, twice<true>)
ENTRY(xent_twice_single, twice<false>)

// Attention of one new token for each of B sequences of different lengths, whose keys and values are packed: k, v [T, 8, 64] in fp16,
// sequence b has the tokens starts[b] to starts[b + 1]. A group of 8 lanes takes a token, a block of 128 threads 16 at a time.
#include <cuda_fp16.h>

constexpr int HEADS = 8, D = 64, GROUPS = 16;

// Softmax so far: largest score, sum of exponentials, weighted values of 8 dimensions.
struct State {
    float largest, sum, values[8];
};

__device__ __forceinline__ void join(State &a, float largest, float sum, const float (&values)[8]) {
    const float both = fmaxf(a.largest, largest);
    const float one = __expf(a.largest - both), two = __expf(largest - both);
    a.sum = a.sum * one + sum * two;
#pragma unroll
    for (int e = 0; e < 8; ++e) a.values[e] = a.values[e] * one + values[e] * two;
    a.largest = both;
}

__device__ __forceinline__ void floats(const uint4 in, float (&out)[8]) {
    const __half2 *const pairs = reinterpret_cast<const __half2 *>(&in);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
        const float2 two = __half22float2(pairs[e]);
        out[2 * e] = two.x, out[2 * e + 1] = two.y;
    }
}

// Tokens from `first` to `last`, joined over the block: valid in the first 8 threads.
__device__ __forceinline__ State attend(const float *q, const __half *k, const __half *v, int head, int first, int last) {
    __shared__ float shared[4][8][10];
    const int part = threadIdx.x % 8, group = threadIdx.x / 8;
    float query[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) query[e] = q[part * 8 + e] * 0.125f;
    State own = {-1e30f, 0.0f, {}};
    for (int token = first; token < last; token += GROUPS) {
        const bool live = token + group < last;
        const size_t at = (static_cast<size_t>(live ? token + group : first) * HEADS + head) * D + part * 8;
        float keys[8], values[8];
        floats(*reinterpret_cast<const uint4 *>(k + at), keys);
        floats(*reinterpret_cast<const uint4 *>(v + at), values);
        float score = 0.0f;
#pragma unroll
        for (int e = 0; e < 8; ++e) score = fmaf(query[e], keys[e], score);
#pragma unroll
        for (int half = 4; half > 0; half /= 2) score += __shfl_xor_sync(0xffffffffu, score, half);
        if (live) join(own, score, 1.0f, values);
    }
#pragma unroll
    for (int half = 8; half < 32; half *= 2) {
        const float largest = __shfl_xor_sync(0xffffffffu, own.largest, half), sum = __shfl_xor_sync(0xffffffffu, own.sum, half);
        float values[8];
#pragma unroll
        for (int e = 0; e < 8; ++e) values[e] = __shfl_xor_sync(0xffffffffu, own.values[e], half);
        join(own, largest, sum, values);
    }
    if (threadIdx.x % 32 < 8) {
        float *const to = shared[threadIdx.x / 32][part];
        to[0] = own.largest, to[1] = own.sum;
#pragma unroll
        for (int e = 0; e < 8; ++e) to[2 + e] = own.values[e];
    }
    __syncthreads();
    if (threadIdx.x < 8)
        for (int w = 1; w < 4; ++w) {
            float values[8];
#pragma unroll
            for (int e = 0; e < 8; ++e) values[e] = shared[w][part][2 + e];
            join(own, shared[w][part][0], shared[w][part][1], values);
        }
    return own;
}

// A block a head of a sequence. Grid: 8, B.
extern "C" __global__ void __launch_bounds__(128) decode_whole(const float *__restrict__ q, const __half *__restrict__ k, const __half *__restrict__ v,
                                                               const int *__restrict__ starts, float *__restrict__ y) {
    const int head = blockIdx.x, b = blockIdx.y;
    const State all = attend(q + (b * HEADS + head) * D, k, v, head, starts[b], starts[b + 1]);
    if (threadIdx.x >= 8) return;
    const float scale = all.sum > 0.0f ? 1.0f / all.sum : 0.0f;
#pragma unroll
    for (int e = 0; e < 8; ++e) y[(b * HEADS + head) * D + threadIdx.x * 8 + e] = all.values[e] * scale;
}

// A block for 256 tokens at most of a head. Grid: 8, B, chunks of the longest possible sequence, most of which have nothing to do.
constexpr int CHUNK = 256;

extern "C" __global__ void __launch_bounds__(128) decode_chunk(const float *__restrict__ q, const __half *__restrict__ k, const __half *__restrict__ v,
                                                               const int *__restrict__ starts, float *__restrict__ parts, int SPLITS) {
    const int head = blockIdx.x, b = blockIdx.y, length = starts[b + 1] - starts[b];
    // Chunks are longer if the sequence needs more than SPLITS of them.
    const int chunk = max(CHUNK, ((length + SPLITS - 1) / SPLITS + GROUPS - 1) / GROUPS * GROUPS);
    const int first = starts[b] + blockIdx.z * chunk, last = min(first + chunk, starts[b + 1]);
    if (first >= last) return;
    const State own = attend(q + (b * HEADS + head) * D, k, v, head, first, last);
    if (threadIdx.x >= 8) return;
    float *const to = parts + ((static_cast<size_t>(b) * HEADS + head) * SPLITS + blockIdx.z) * (D + 2);
#pragma unroll
    for (int e = 0; e < 8; ++e) to[threadIdx.x * 8 + e] = own.values[e];
    if (threadIdx.x == 0) to[D] = own.largest, to[D + 1] = own.sum;
}

// A thread a dimension. Grid: 8, B.
extern "C" __global__ void __launch_bounds__(64) decode_join(const float *__restrict__ parts, const int *__restrict__ starts, float *__restrict__ y, int SPLITS) {
    const int head = blockIdx.x, b = blockIdx.y, length = starts[b + 1] - starts[b];
    const int chunk = max(CHUNK, ((length + SPLITS - 1) / SPLITS + GROUPS - 1) / GROUPS * GROUPS), count = (length + chunk - 1) / chunk;
    const float *const from = parts + (static_cast<size_t>(b) * HEADS + head) * SPLITS * (D + 2);
    float largest = -1e30f, sum = 0.0f, value = 0.0f;
    for (int s = 0; s < count; ++s) largest = fmaxf(largest, from[s * (D + 2) + D]);
    for (int s = 0; s < count; ++s) {
        const float weight = __expf(from[s * (D + 2) + D] - largest);
        sum += from[s * (D + 2) + D + 1] * weight;
        value += from[s * (D + 2) + threadIdx.x] * weight;
    }
    y[(b * HEADS + head) * D + threadIdx.x] = sum > 0.0f ? value / sum : 0.0f;
}

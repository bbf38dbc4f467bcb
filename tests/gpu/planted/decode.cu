// y = scale * book[code]: codes of 4 bits, one a byte, a scale for 1024 codes. A block decodes 4096 codes.
#include <cuda_fp16.h>

constexpr int THREADS = 256, BLOCK = 4096, GROUP = 1024, ENTRIES = 16;

__constant__ float constant_book[ENTRIES];

// Eight codes a thread: one load of 8 bytes and one store of 16.
template <class Look> __device__ __forceinline__ void decode_eight(const unsigned char *codes, const float *scales, __half *y, Look look) {
#pragma unroll
    for (int round = 0; round < BLOCK / (THREADS * 8); ++round) {
        const int at = blockIdx.x * (BLOCK / 8) + round * THREADS + threadIdx.x;
        const uint2 eight = reinterpret_cast<const uint2 *>(codes)[at];
        const float scale = scales[at / (GROUP / 8)];
        __half2 out[4];
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
            const unsigned two = (pair < 2 ? eight.x : eight.y) >> (16 * (pair % 2));
            out[pair] = __floats2half2_rn(scale * look(two & 15), scale * look(two >> 8 & 15));
        }
        reinterpret_cast<uint4 *>(y)[at] = *reinterpret_cast<uint4 *>(out);
    }
}

extern "C" __global__ void decode(const unsigned char *codes, const float *scales, const float *book, __half *y) {
    __shared__ float entries[ENTRIES];
    if (threadIdx.x < ENTRIES) entries[threadIdx.x] = book[threadIdx.x];
    __syncthreads();
    decode_eight(codes, scales, y, [&](unsigned code) { return entries[code]; });
}

extern "C" __global__ void divergent_book(const unsigned char *codes, const float *scales, const float *book, __half *y) {
    decode_eight(codes, scales, y, [](unsigned code) { return constant_book[code]; });
}

// A code a lane.
extern "C" __global__ void narrow_codes(const unsigned char *codes, const float *scales, const float *book, __half *y) {
    __shared__ float entries[ENTRIES];
    if (threadIdx.x < ENTRIES) entries[threadIdx.x] = book[threadIdx.x];
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < BLOCK / THREADS; ++round) {
        const int at = blockIdx.x * BLOCK + round * THREADS + threadIdx.x;
        y[at] = __float2half_rn(scales[at / GROUP] * entries[codes[at] & 15]);
    }
}

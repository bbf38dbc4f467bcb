// y = W x with weights of 4 bits: W[n, k] = scales[n, k / 32] * (code - 8), two codes a byte, the lower one first. A warp takes two rows
// at a time. N is a multiple of 64, K of 512.
#include <cuda_fp16.h>

// Two rows by loads of WIDE codes a lane: 8 in 4 bytes, or 2 in one byte. `x` is in global or in shared memory.
template <int WIDE> __device__ __forceinline__ void two_rows(const unsigned char *codes, const __half *scales, const float *x, float *y, int row, int K) {
    const int lane = threadIdx.x % 32;
    const unsigned char *const from = codes + static_cast<size_t>(row) * (K / 2);
    const __half *const scale = scales + static_cast<size_t>(row) * (K / 32);
    float sums[2] = {};
#pragma unroll 1
    for (int k = lane * WIDE; k < K; k += 32 * WIDE) {
        unsigned packed[2];
        float at[WIDE];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const unsigned char *const place = from + r * (K / 2) + k / 2;
            packed[r] = WIDE == 8 ? *reinterpret_cast<const unsigned *>(place) : *place;
        }
        if constexpr (WIDE == 8) {
            const float4 one = reinterpret_cast<const float4 *>(x)[k / 4], two = reinterpret_cast<const float4 *>(x)[k / 4 + 1];
            at[0] = one.x, at[1] = one.y, at[2] = one.z, at[3] = one.w, at[4] = two.x, at[5] = two.y, at[6] = two.z, at[7] = two.w;
        } else {
            const float2 pair = reinterpret_cast<const float2 *>(x)[k / 2];
            at[0] = pair.x, at[1] = pair.y;
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float part = 0.0f;
#pragma unroll
            for (int i = 0; i < WIDE; ++i) part = fmaf(static_cast<int>(packed[r] >> (4 * i) & 15u) - 8, at[i], part);
            sums[r] = fmaf(__half2float(scale[r * (K / 32) + k / 32]), part, sums[r]);
        }
    }
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
        sums[0] += __shfl_xor_sync(0xffffffffu, sums[0], half);
        sums[1] += __shfl_xor_sync(0xffffffffu, sums[1], half);
    }
    if (lane == 0) y[row] = sums[0], y[row + 1] = sums[1];
}

// 8 warps a block: 16 rows.
template <int WIDE> __device__ __forceinline__ void direct(const unsigned char *codes, const __half *scales, const float *x, float *y, int K) {
    two_rows<WIDE>(codes, scales, x, y, blockIdx.x * 16 + threadIdx.x / 32 * 2, K);
}

// 4 warps a block: 64 rows, with x in shared memory. The launch asks for room for the longest x of any layer.
template <int WIDE> __device__ __forceinline__ void staged(const unsigned char *codes, const __half *scales, const float *x, float *y, int K) {
    extern __shared__ float4 staged_space[];
    float *const held = reinterpret_cast<float *>(staged_space);
    for (int at = threadIdx.x; at < K / 4; at += 128) staged_space[at] = reinterpret_cast<const float4 *>(x)[at];
    __syncthreads();
#pragma unroll 1
    for (int pair = 0; pair < 8; ++pair) two_rows<WIDE>(codes, scales, held, y, blockIdx.x * 64 + pair * 8 + threadIdx.x / 32 * 2, K);
}

#define ENTRY(NAME, THREADS, BLOCKS, CALL)                                                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(const unsigned char *codes, const __half *scales, const float *x, float *y, int K) { \
        CALL(codes, scales, x, y, K);                                                                                                   \
    }
ENTRY(gemv_wide, 256, 6, direct<8>)
ENTRY(gemv_bytes, 256, 6, direct<2>)
ENTRY(gemv_wide_staged, 128, 3, staged<8>)
ENTRY(gemv_bytes_staged, 128, 3, staged<2>)

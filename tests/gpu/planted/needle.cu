// Occurrences of a word of 8 bytes in each 4096 places of a text. A block of 256 threads counts those of 4096 places. The text is longer
// than its places by 16 bytes.
__constant__ unsigned char c_word[8];

__device__ __forceinline__ void counted(int own, int *counts) {
    __shared__ int sums[8];
    own = __reduce_add_sync(0xffffffffu, own);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x != 0) return;
    int all = 0;
    for (int w = 0; w < 8; ++w) all += sums[w];
    counts[blockIdx.x] = all;
}

extern "C" __global__ void __launch_bounds__(256) count_bytes(const unsigned char *__restrict__ text, int *__restrict__ counts) {
    const unsigned char *const first = text + static_cast<size_t>(blockIdx.x) * 4096;
    int own = 0;
    for (int at = threadIdx.x; at < 4096; at += 256) {
        bool same = true;
#pragma unroll
        for (int k = 0; k < 8; ++k) same &= first[at + k] == c_word[k];
        own += same;
    }
    counted(own, counts);
}

// 16 places a thread from 24 bytes in registers.
extern "C" __global__ void __launch_bounds__(256) count_words(const unsigned char *__restrict__ text, int *__restrict__ counts) {
    const unsigned char *const first = text + static_cast<size_t>(blockIdx.x) * 4096 + threadIdx.x * 16;
    const uint4 in = *reinterpret_cast<const uint4 *>(first);
    const uint2 more = *reinterpret_cast<const uint2 *>(first + 16);
    const unsigned held[6] = {in.x, in.y, in.z, in.w, more.x, more.y};
    unsigned low = 0, high = 0;
    for (int k = 0; k < 4; ++k) {
        low |= static_cast<unsigned>(c_word[k]) << (8 * k);
        high |= static_cast<unsigned>(c_word[k + 4]) << (8 * k);
    }
    int own = 0;
#pragma unroll
    for (int w = 0; w < 4; ++w)
#pragma unroll
        for (int b = 0; b < 4; ++b) {
            const unsigned one = __funnelshift_r(held[w], held[w + 1], 8 * b), two = __funnelshift_r(held[w + 1], held[w + 2], 8 * b);
            own += one == low && two == high;
        }
    counted(own, counts);
}

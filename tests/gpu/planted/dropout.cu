// Dropout of a fifth of N halves. The random word of element i is word i / (N / 4) of Philox 4x32-10 for counter i % (N / 4).
// N is a multiple of 8192.
#include <cuda_fp16.h>

constexpr unsigned DROPPED = 858993459u;

__device__ __forceinline__ uint4 philox(unsigned counter, unsigned seed) {
    uint4 c = make_uint4(counter, 0u, 0u, 0u);
    unsigned first = seed, second = 0u;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        const unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ first, low1, high0 ^ c.w ^ second, low0);
        first += 0x9E3779B9u;
        second += 0xBB67AE85u;
    }
    return c;
}

// Two halves in a word, each kept and scaled by 1.25, or 0.
__device__ __forceinline__ unsigned dropped(unsigned two, unsigned random_low, unsigned random_high) {
    const float low = __half2float(__ushort_as_half(static_cast<unsigned short>(two & 0xffffu)));
    const float high = __half2float(__ushort_as_half(static_cast<unsigned short>(two >> 16)));
    const unsigned short out_low = __half_as_ushort(__float2half_rn(random_low >= DROPPED ? low * 1.25f : 0.0f));
    const unsigned short out_high = __half_as_ushort(__float2half_rn(random_high >= DROPPED ? high * 1.25f : 0.0f));
    return out_low | static_cast<unsigned>(out_high) << 16;
}

// Eight counters a thread, and all four words of each: the grid covers N / 32 threads.
extern "C" __global__ void __launch_bounds__(256) dropout_all_words(const uint4 *x, uint4 *y, int N, unsigned seed) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x, quarter = N / 32;
    unsigned words[4][8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const uint4 random = philox(at * 8 + k, seed);
        words[0][k] = random.x;
        words[1][k] = random.y;
        words[2][k] = random.z;
        words[3][k] = random.w;
    }
#pragma unroll
    for (int q = 0; q < 4; ++q) {
        const uint4 in = x[q * quarter + at];
        const unsigned *const r = words[q];
        y[q * quarter + at] =
            make_uint4(dropped(in.x, r[0], r[1]), dropped(in.y, r[2], r[3]), dropped(in.z, r[4], r[5]), dropped(in.w, r[6], r[7]));
    }
}

// Eight neighbours a thread, each with a counter of its own, of which one word is used: the grid covers N / 8 threads.
extern "C" __global__ void __launch_bounds__(256) dropout_one_word(const uint4 *x, uint4 *y, int N, unsigned seed) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x, quarter = N / 32, word = at / quarter, first = (at - word * quarter) * 8;
    const uint4 in = x[at];
    unsigned r[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const uint4 random = philox(first + k, seed);
        r[k] = word == 0 ? random.x : word == 1 ? random.y : word == 2 ? random.z : random.w;
    }
    y[at] = make_uint4(dropped(in.x, r[0], r[1]), dropped(in.y, r[2], r[3]), dropped(in.z, r[4], r[5]), dropped(in.w, r[6], r[7]));
}

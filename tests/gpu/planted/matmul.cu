// c = a * b in half precision on tensor cores, sums in single precision. M and N are multiples of 128, K of 32. 256 threads compute
// 128 * 128 outputs, a warp 32 * 64 of them, in slices of 32 along K.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 128, DEPTH = 32, A_PITCH = DEPTH + 8, B_PITCH = TILE + 8;
constexpr int A_HALVES = TILE * A_PITCH, STAGE_HALVES = A_HALVES + DEPTH * B_PITCH, STAGES = 3;

struct Sums {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> tile[2][4];
};

__device__ __forceinline__ void clear(Sums &sums) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) wmma::fill_fragment(sums.tile[i][j], 0.0f);
}

// Adds the product of one slice in shared memory.
__device__ __forceinline__ void multiply(Sums &sums, const __half *stage) {
    const int warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 64;
#pragma unroll
    for (int inner = 0; inner < DEPTH; inner += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left[2];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right[4];
#pragma unroll
        for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(left[i], stage + (row + i * 16) * A_PITCH + inner, A_PITCH);
#pragma unroll
        for (int j = 0; j < 4; ++j) wmma::load_matrix_sync(right[j], stage + A_HALVES + inner * B_PITCH + column + j * 16, B_PITCH);
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) wmma::mma_sync(sums.tile[i][j], left[i], right[j], sums.tile[i][j]);
    }
}

__device__ __forceinline__ void store(Sums &sums, float *c, int N) {
    const int warp = threadIdx.x / 32, row = blockIdx.y * TILE + warp / 2 * 32, column = blockIdx.x * TILE + warp % 2 * 64;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
            wmma::store_matrix_sync(c + (row + i * 16) * N + column + j * 16, sums.tile[i][j], N, wmma::mem_row_major);
}

// A chunk is 8 halves. A slice of a has 4 chunks a row, a slice of b 16.
__device__ __forceinline__ const __half *a_from(const __half *a, int K, int k, int chunk) {
    return a + (blockIdx.y * TILE + chunk / 4) * K + k + chunk % 4 * 8;
}
__device__ __forceinline__ const __half *b_from(const __half *b, int N, int k, int chunk) {
    return b + (k + chunk / 16) * N + blockIdx.x * TILE + chunk % 16 * 8;
}
__device__ __forceinline__ __half *a_to(__half *stage, int chunk) { return stage + chunk / 4 * A_PITCH + chunk % 4 * 8; }
__device__ __forceinline__ __half *b_to(__half *stage, int chunk) { return stage + A_HALVES + chunk / 16 * B_PITCH + chunk % 16 * 8; }

#ifdef EMULATED
inline void copy16(__half *to, const __half *from) { memcpy(to, from, 16); }
inline void commit() {}
inline void wait_for_all_but_one() {}
#else
__device__ __forceinline__ void copy16(__half *to, const __half *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ void wait_for_all_but_one() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
#endif

// Three slices in shared memory: two are on their way while one is multiplied.
extern "C" __global__ void __launch_bounds__(256, 2) matmul_ring(const __half *a, const __half *b, float *c, int N, int K) {
    extern __shared__ uint4 ring_space[];
    __half *const ring = reinterpret_cast<__half *>(ring_space);
    const auto fetch = [&](int slice) {
        if (slice * DEPTH < K) {
            __half *const stage = ring + slice % STAGES * STAGE_HALVES;
#pragma unroll
            for (int part = 0; part < 2; ++part) {
                const int chunk = part * 256 + threadIdx.x;
                copy16(a_to(stage, chunk), a_from(a, K, slice * DEPTH, chunk));
                copy16(b_to(stage, chunk), b_from(b, N, slice * DEPTH, chunk));
            }
        }
        commit();
    };
    Sums sums;
    clear(sums);
    fetch(0);
    fetch(1);
#pragma unroll 1
    for (int slice = 0; slice * DEPTH < K; ++slice) {
        wait_for_all_but_one();
        __syncthreads();
        fetch(slice + 2);
        multiply(sums, ring + slice % STAGES * STAGE_HALVES);
    }
    store(sums, c, N);
}

// One slice: loaded, stored, multiplied, and then the next.
extern "C" __global__ void __launch_bounds__(256, 2) matmul_turns(const __half *a, const __half *b, float *c, int N, int K) {
    extern __shared__ uint4 slice_space[];
    __half *const stage = reinterpret_cast<__half *>(slice_space);
    Sums sums;
    clear(sums);
#pragma unroll 1
    for (int k = 0; k < K; k += DEPTH) {
#pragma unroll
        for (int part = 0; part < 2; ++part) {
            const int chunk = part * 256 + threadIdx.x;
            *reinterpret_cast<uint4 *>(a_to(stage, chunk)) = *reinterpret_cast<const uint4 *>(a_from(a, K, k, chunk));
            *reinterpret_cast<uint4 *>(b_to(stage, chunk)) = *reinterpret_cast<const uint4 *>(b_from(b, N, k, chunk));
        }
        __syncthreads();
        multiply(sums, stage);
        __syncthreads();
    }
    store(sums, c, N);
}

// Copies x to y a box at a time through shared memory, by bulk tensor copies: what a tensor map has to be right for.
//
// SWIZZLE is the map's, and a row of a box is as wide. STORE 0 reads shared memory as the swizzle lays it out; STORE 1
// writes it by a bulk copy through a map of y, which swizzles alike and clips what is outside.
#include <cstdint>
#include <cuda.h>
#include <cuda_fp16.h>

constexpr int COLS = SWIZZLE > 0 ? SWIZZLE / 2 : 64;
// The 16-byte chunk of a row (address bits 4 up) is xored with the row's number within the pattern (bits 7 up).
constexpr int MASK = SWIZZLE > 0 ? SWIZZLE - 16 : 0;

__device__ uint32_t shared_address(const void* pointer) { return uint32_t(__cvta_generic_to_shared(pointer)); }

__device__ bool has_arrived(uint32_t barrier) {
    uint32_t done;
    asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(barrier) : "memory");
    return done != 0;
}

extern "C" __global__ void tensor_copy(const __grid_constant__ CUtensorMap x_tiles,
                                       const __grid_constant__ CUtensorMap y_tiles, __half* y, int R, int C) {
    __shared__ alignas(1024) __half tile[ROWS * COLS];
    __shared__ alignas(8) uint64_t arrived;
    const int col = blockIdx.x * COLS, row = blockIdx.y * ROWS, plane = blockIdx.z;
    const uint32_t barrier = shared_address(&arrived);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(sizeof(tile)) : "memory");
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                     ::"r"(shared_address(tile)), "l"(&x_tiles), "r"(col), "r"(row), "r"(plane), "r"(barrier) : "memory");
    }
    __syncthreads();
    while (!has_arrived(barrier)) {}

    if constexpr (STORE == 1) {
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];"
                         ::"l"(&y_tiles), "r"(col), "r"(row), "r"(plane), "r"(shared_address(tile)) : "memory");
            asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
        }
    } else {
        for (int i = threadIdx.x; i < ROWS * COLS; i += blockDim.x) {
            const int r = row + i / COLS, c = col + i % COLS;
            const int at = 2 * i ^ (2 * i >> 3 & MASK);
            if (r < R && c < C) y[(size_t(plane) * R + r) * C + c] = tile[at / 2];
        }
    }
}

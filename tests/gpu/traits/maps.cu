// Copies a row-major matrix [M, K] through a tensor map that shows it as panels of 64 columns, a box at a time. The map is
// passed by value, in a struct, and behind a pointer.
#include <cstdint>
#include <cuda.h>
#include <cuda_fp16.h>

constexpr int COLS = 64;  // 128 bytes: the span of the swizzle
constexpr int ROWS = 32;  // rows of a load

__device__ uint32_t shared_address(const void* pointer) { return uint32_t(__cvta_generic_to_shared(pointer)); }

__device__ bool has_arrived(uint32_t barrier) {
    uint32_t done;
    asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(barrier) : "memory");
    return done != 0;
}

// STEP loads, each of every STEP-th row: STEP is the element stride of the map along rows.
__device__ void copy_panel(const CUtensorMap* panels, __half* y, int M, int K) {
    __shared__ alignas(1024) __half tile[STEP][ROWS * COLS];
    __shared__ alignas(8) uint64_t arrived;
    const int panel = blockIdx.x, row = blockIdx.y * ROWS * STEP;
    const uint32_t barrier = shared_address(&arrived);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(sizeof(tile)) : "memory");
        for (int step = 0; step < STEP; step++)
            asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                         ::"r"(shared_address(tile[step])), "l"(panels), "r"(0), "r"(row + step), "r"(panel), "r"(barrier)
                         : "memory");
    }
    __syncthreads();
    while (!has_arrived(barrier)) {}

    for (int i = threadIdx.x; i < STEP * ROWS * COLS; i += blockDim.x) {
        const int step = i / (ROWS * COLS), r = i / COLS % ROWS, c = i % COLS;
        const int at = 2 * (r * COLS + c), swizzled = at ^ (at >> 3 & 112);
        const int out = row + r * STEP + step;
        if (out < M) y[size_t(out) * K + panel * COLS + c] = tile[step][swizzled / 2];
    }
}

extern "C" __global__ void by_value(const __grid_constant__ CUtensorMap panels, __half* y, int M, int K) {
    copy_panel(&panels, y, M, K);
}

struct Matrix {
    int M;
    CUtensorMap panels;
    int K;
};

extern "C" __global__ void in_struct(const __grid_constant__ Matrix matrix, __half* y) {
    copy_panel(&matrix.panels, y, matrix.M, matrix.K);
}

extern "C" __global__ void behind_pointer(const CUtensorMap* maps, __half* y, int M, int K) {
    const CUtensorMap* panels = &maps[blockIdx.x & 1];
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(panels) : "memory");
    copy_panel(panels, y, M, K);
}

// Hopper's own instructions: products by a warpgroup (wgmma), barriers that count bytes (mbarrier), and the bulk tensor copy engine (TMA).
// Code for sm_90a only.
#pragma once
#include <cstdint>
#include <cuda.h>

namespace ptx {

// A barrier in shared memory. It completes a phase when `arrivals` threads have arrived and all bytes that were announced are there.
__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes new barriers known to the copy engine.
__device__ __forceinline__ void barriers_publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and announces bytes that will be copied.
__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Waits for the end of the phase of that parity: the first has 0, the next 1, the next 0.
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
    asm volatile(
        "{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1; @!done bra again; }" ::"r"(barrier), "r"(parity)
        : "memory");
}

// Starts fetching the map itself.
__device__ __forceinline__ void fetch_map(const CUtensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

// Starts copying the map's box whose first element is [batch][head][row][0] to shared memory; rows that are not there become zeros.
__device__ __forceinline__ void copy_box(uint32_t to, const CUtensorMap& map, int batch, int head, int row, uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
                 "l"(&map), "r"(0), "r"(row), "r"(head), "r"(batch), "r"(barrier)
                 : "memory");
}

// What wgmma is told of a tile of rows of 128 bytes, swizzled: its address and pitch. A place further on in the tile is told by adding to it, in units
// of 16 bytes.
__device__ __forceinline__ uint32_t tile_descriptor(uint32_t address) {
    constexpr uint32_t EIGHT_ROWS = 1024 >> 4;
    return (address & 0x3ffff) >> 4 | EIGHT_ROWS << 16;
}

// With the half that is always the same: eight rows are 1024 bytes, the swizzle is that of 128 bytes.
__device__ __forceinline__ uint64_t whole(uint32_t descriptor) {
    constexpr uint64_t EIGHT_ROWS = 1024 >> 4, SWIZZLE_128 = 1;
    return descriptor | EIGHT_ROWS << 32 | SWIZZLE_128 << 62;
}

// The 64x64 f32 sums of a warpgroup, eight blocks of mma's, as operands 0 to 31 of an instruction.
#define WGMMA_SUMS                                                    \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "             \
    "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "    \
    "%24, %25, %26, %27, %28, %29, %30, %31}, "
#define WGMMA_FOUR(block) "+f"(c[block][0]), "+f"(c[block][1]), "+f"(c[block][2]), "+f"(c[block][3])
#define WGMMA_OPERANDS                                                \
    WGMMA_FOUR(0), WGMMA_FOUR(1), WGMMA_FOUR(2), WGMMA_FOUR(3),       \
    WGMMA_FOUR(4), WGMMA_FOUR(5), WGMMA_FOUR(6), WGMMA_FOUR(7)

// c (+)= a . b^T: a and b are 64x16 f16 in shared memory, by rows. `add`: whether to add to c. Until `wgmma_wait` c must not be touched.
__device__ __forceinline__ void wgmma_rows(float (*c)[4], uint32_t a, uint32_t b, bool add) {
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WGMMA_SUMS
                 "%32, %33, add, 1, 1, 0, 0; }"
                 : WGMMA_OPERANDS
                 : "l"(whole(a)), "l"(whole(b)), "r"(static_cast<int>(add)));
}

// c += a . b: a is 64x16 f16 in registers as mma has it, 16 rows for each warp; b is 16x64 in shared memory, by rows. Until `wgmma_wait`
// neither c nor a may be touched.
__device__ __forceinline__ void wgmma_columns(float (*c)[4], const uint32_t (&a)[4], uint32_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WGMMA_SUMS "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : WGMMA_OPERANDS
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(whole(b)));
}

#undef WGMMA_SUMS
#undef WGMMA_FOUR
#undef WGMMA_OPERANDS

// Before the first product: what was written to registers is there.
__device__ __forceinline__ void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// After the last: waits for all of them.
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// Keeps the compiler from moving reads and writes of `x` past here.
__device__ __forceinline__ void pin(float& x) { asm volatile("" : "+f"(x)::"memory"); }

}  // namespace ptx

// Products by a warpgroup (wgmma) of 64 rows with N columns, in either type of 16 bits, and copies of boxes of a tensor map.
// Beside sdpa_fast/hopper.cuh, which has Hopper's other instructions, and products of f16 with 64 columns.
#pragma once
#include "../sdpa_fast/hopper.cuh"
#include "../sdpa_fast/ptx.cuh"

namespace ptx {

// Starts copying the map's box whose first element is [batch][head][row][column].
__device__ __forceinline__ void copy_box(uint32_t to, const CUtensorMap& map, int batch, int head, int row, int column, uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
                 "l"(&map), "r"(column), "r"(row), "r"(head), "r"(batch), "r"(barrier)
                 : "memory");
}

// Adds one to a counter of the block, and says what it was. What was read before is read before anybody sees the sum.
__device__ __forceinline__ uint32_t count_up(uint32_t counter) {
    uint32_t before;
    asm volatile("atom.acq_rel.cta.shared::cta.add.u32 %0, [%1], 1;" : "=r"(before) : "r"(counter) : "memory");
    return before;
}

// Closes the group of products begun last.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most PENDING groups are under way.
template <int PENDING>
__device__ __forceinline__ void wgmma_arrive() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// What wgmma is told of a tile that it reads by columns: rows of 128 bytes, swizzled, and the next 64 columns `next` bytes further on.
__device__ __forceinline__ uint32_t column_descriptor(uint32_t address, uint32_t next) { return (address & 0x3ffff) >> 4 | (next >> 4) << 16; }

// Gives registers of a warpgroup back, and takes some of those that are free: it has COUNT a thread then.
template <int COUNT>
__device__ __forceinline__ void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT)); }
template <int COUNT>
__device__ __forceinline__ void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT)); }

// Arrives at barrier number `id` of the block without waiting for the others of its `threads`.
__device__ __forceinline__ void barrier_join(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

// The instructions have an f32 sum as an operand of its own, so that each N has its own text.
//   rows      c (+)= a . b^T: a is 64x16 in shared memory, b is Nx16, both by rows. `add`: whether to add to c
//   columns   c += a . b: a is 64x16 in registers as mma has it, 16 rows for each warp; b is 16xN in shared memory, by rows
// Until the products are waited for, neither c nor registers of a may be touched.
template <int N>
struct Product;

#define BLOCK(i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define BLOCKS_64 BLOCK(0), BLOCK(1), BLOCK(2), BLOCK(3), BLOCK(4), BLOCK(5), BLOCK(6), BLOCK(7)
#define BLOCKS_80 BLOCKS_64, BLOCK(8), BLOCK(9)
#define BLOCKS_96 BLOCKS_80, BLOCK(10), BLOCK(11)
#define BLOCKS_112 BLOCKS_96, BLOCK(12), BLOCK(13)
#define BLOCKS_128 BLOCKS_112, BLOCK(14), BLOCK(15)
#define SUMS_64                                                                                                                   \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                                      \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SUMS_80 SUMS_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define SUMS_96 SUMS_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define SUMS_112 SUMS_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define SUMS_128 SUMS_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA(N) "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TEXT(ELEMENT) "." TEXT(ELEMENT) " {" SUMS_##N "}, "

// X0 to X4 are the operands behind the sums.
#define PRODUCT(N, X0, X1, X2, X3, X4)                                                                                            \
    template <>                                                                                                                   \
    struct Product<N> {                                                                                                           \
        static __device__ __forceinline__ void rows(float (&c)[N / 8][4], uint64_t a, uint64_t b, bool add) {                     \
            asm volatile("{ .reg .pred add; setp.ne.b32 add, " X2 ", 0; " WGMMA(N) X0 ", " X1 ", add, 1, 1, 0, 0; }"              \
                         : BLOCKS_##N                                                                                             \
                         : "l"(a), "l"(b), "r"(static_cast<int>(add)));                                                           \
        }                                                                                                                         \
        static __device__ __forceinline__ void columns(float (&c)[N / 8][4], const uint32_t (&a)[4], uint64_t b) {                \
            asm volatile(WGMMA(N) "{" X0 ", " X1 ", " X2 ", " X3 "}, " X4 ", 1, 1, 1, 1;"                                         \
                         : BLOCKS_##N                                                                                             \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                                   \
        }                                                                                                                         \
    };

PRODUCT(64, "%32", "%33", "%34", "%35", "%36")
PRODUCT(80, "%40", "%41", "%42", "%43", "%44")
PRODUCT(96, "%48", "%49", "%50", "%51", "%52")
PRODUCT(112, "%56", "%57", "%58", "%59", "%60")
PRODUCT(128, "%64", "%65", "%66", "%67", "%68")

#undef PRODUCT
#undef WGMMA
#undef BLOCK

}  // namespace ptx

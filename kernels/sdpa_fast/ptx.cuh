// The few instructions that CUDA C++ has no good name for. All work on sm_80 and newer but the cluster's (sm_90).
#pragma once
#include <cstdint>
#include <cuda_fp16.h>

namespace ptx {

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes from global to shared memory without registers; zeros, and no read, where not `inside`.
__device__ __forceinline__ void copy16_async(uint32_t to, const void* from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

__device__ __forceinline__ void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING of the committed groups of copies are under way.
template <int PENDING>
__device__ __forceinline__ void copies_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Four 8x8 matrices of f16; lane i gives the address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void load_matrices(uint32_t (&m)[4], uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(uint32_t (&m)[4], uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
}

// c += a . b on a tensor core: a is 16x16 f16 by rows, b is 16x8 f16 by columns, c is 16x8 f32.
// Lane 4*g + t holds c[g][2t], c[g][2t+1], c[g+8][2t], c[g+8][2t+1].
__device__ __forceinline__ void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 2^x in one instruction; 2^-inf is 0.
__device__ __forceinline__ float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ uint32_t pack(float low, float high) {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
}

// A barrier of `threads` threads of the block, number `id` of its sixteen.
__device__ __forceinline__ void barrier(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ float4 load4(uint32_t address) {
    float4 x;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(address)
                 : "memory");
    return x;
}

__device__ __forceinline__ float2 load2(uint32_t address) {
    float2 x;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(address) : "memory");
    return x;
}

// Clusters came with sm_90. Before it these exist only so that code which never calls them compiles.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

// The barrier of all threads of the cluster, in two halves; what they wrote before the first is visible after the second.
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }

// The address, in the cluster's window, of what `address` is in the shared memory of the cluster's block `rank`.
__device__ __forceinline__ uint32_t address_in(uint32_t address, uint32_t rank) {
    uint32_t mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    return mapped;
}

__device__ __forceinline__ void cluster_store4(uint32_t address, float4 x) {
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w) : "memory");
}

__device__ __forceinline__ void cluster_store2(uint32_t address, float2 x) {
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x.x), "f"(x.y) : "memory");
}

#else

__device__ void cluster_arrive();
__device__ void cluster_wait();
__device__ uint32_t address_in(uint32_t address, uint32_t rank);
__device__ void cluster_store4(uint32_t address, float4 x);
__device__ void cluster_store2(uint32_t address, float2 x);

#endif

// Products by a warpgroup, four warps with 16 rows each, asynchronously: only code for sm_90a has them.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Makes what this thread knows to be in shared memory visible to wgmma, which reads it by another way (the async proxy).
__device__ __forceinline__ void publish_to_wgmma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Describes a tile of rows of 128 bytes, swizzled as in shared memory for ldmatrix, from `address` on: eight rows are 1024 bytes, and aligned so.
__device__ __forceinline__ uint64_t tile_descriptor(uint32_t address) {
    constexpr uint64_t EIGHT_ROWS = 1024 >> 4, SWIZZLE_128 = 1;
    return (address & 0x3ffff) >> 4 | EIGHT_ROWS << 16 | EIGHT_ROWS << 32 | SWIZZLE_128 << 62;
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

// c (+)= a . b^T: a and b are 64x16 f16 in shared memory, by rows. ADD: whether to add to c. Until `wgmma_wait` c must not be touched.
__device__ __forceinline__ void wgmma_rows(float (*c)[4], uint64_t a, uint64_t b, bool add) {
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WGMMA_SUMS
                 "%32, %33, add, 1, 1, 0, 0; }"
                 : WGMMA_OPERANDS
                 : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}

// c += a . b: a is 64x16 f16 in registers as mma has it, 16 rows for each warp; b is 16x64 in shared memory, by rows. Until `wgmma_wait`
// neither c nor a may be touched.
__device__ __forceinline__ void wgmma_columns(float (*c)[4], const uint32_t (&a)[4], uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WGMMA_SUMS "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : WGMMA_OPERANDS
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
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

#else

__device__ void publish_to_wgmma();
__device__ uint64_t tile_descriptor(uint32_t address);
__device__ void wgmma_rows(float (*c)[4], uint64_t a, uint64_t b, bool add);
__device__ void wgmma_columns(float (*c)[4], const uint32_t (&a)[4], uint64_t b);
__device__ void wgmma_begin();
__device__ void wgmma_wait();
__device__ void pin(float& x);

#endif

}  // namespace ptx

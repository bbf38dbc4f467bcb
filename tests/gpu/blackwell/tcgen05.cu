// c = a b^T with tcgen05.mma: FP16 operands in shared memory, FP32 accumulators in tensor memory, one tile of 128 x 64 a
// block. Single-buffered: it is a test, not a fast product. Never run on hardware.
#include <cstdint>
#include <cuda_fp16.h>

namespace {
constexpr int M = 128, N = 64, DEPTH = 16;

// Operands are stored as core matrices of 8 rows of 16 bytes, without a swizzle: 128 bytes from one to the next along K, 256
// bytes to the next 8 rows.
__device__ int core_offset(int row, int column) { return (row / 8 * 2 + column / 8) * 64 + row % 8 * 8 + column % 8; }

__device__ uint32_t address(const void *shared) { return static_cast<uint32_t>(__cvta_generic_to_shared(shared)); }

__device__ uint64_t descriptor(const void *operand) {
    return (address(operand) >> 4 & 0x3fff) | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32 | uint64_t{1} << 46;
}
}  // namespace

extern "C" __global__ void __launch_bounds__(M) product(const __half *a, const __half *b, float *c, int columns, int depth) {
    __shared__ alignas(128) __half rows_a[M * DEPTH], rows_b[N * DEPTH];
    __shared__ uint32_t allocated;
    __shared__ alignas(8) uint64_t done;
    const int thread = threadIdx.x, first_row = blockIdx.x * M, first_column = blockIdx.y * N;
    if (thread < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(address(&allocated)) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    if (thread == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&done)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    const uint32_t accumulator = allocated;
    for (int step = 0; step * DEPTH < depth; step++) {
        for (int i = thread; i < M * DEPTH; i += M) {
            const int row = i / DEPTH, column = i % DEPTH;
            rows_a[core_offset(row, column)] = a[int64_t{first_row + row} * depth + step * DEPTH + column];
            if (row < N) rows_b[core_offset(row, column)] = b[int64_t{first_column + row} * depth + step * DEPTH + column];
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (thread == 0) {
            // FP32 accumulators, FP16 operands, both along K.
            const uint32_t instruction = 1u << 4 | N / 8u << 17 | M / 16u << 24;
            asm volatile("{ .reg .pred accumulate;\n setp.ne.b32 accumulate, %4, 0;\n"
                         " tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, accumulate; }" ::"r"(accumulator),
                         "l"(descriptor(rows_a)), "l"(descriptor(rows_b)), "r"(instruction), "r"(step)
                         : "memory");
            asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(address(&done))
                         : "memory");
        }
        asm volatile("{ .reg .pred arrived;\nagain: mbarrier.try_wait.parity.shared::cta.b64 arrived, [%0], %1;\n"
                     " @!arrived bra again; }" ::"r"(address(&done)), "r"(step & 1)
                     : "memory");
    }
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    // A warp reads its 32 lanes of tensor memory: one row a thread.
    const uint32_t lane = accumulator + (static_cast<uint32_t>(thread / 32 * 32) << 16);
    for (int column = 0; column < N; column += 4) {
        uint32_t v[4];
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];\n tcgen05.wait::ld.sync.aligned;"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(lane + column)
                     : "memory");
        for (int i = 0; i < 4; i++)
            c[int64_t{first_row + thread} * columns + first_column + column + i] = __uint_as_float(v[i]);
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (thread < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(accumulator) : "memory");
}

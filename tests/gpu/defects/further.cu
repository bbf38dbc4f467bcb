// Kernels for the rules that no other recording has a case of, launched once each. The name of a kernel says what it waits for.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>

#define CHECK(call)                                                                                                   \
    do {                                                                                                              \
        const cudaError_t error = (call);                                                                             \
        if (error != cudaSuccess) {                                                                                   \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                                       \
            return 1;                                                                                                 \
        }                                                                                                             \
    } while (0)

// One warp a scheduler jumps through a table in every step. The state is the same in all lanes, so that no lane diverges.
__global__ void jump_table(unsigned* out, int rounds) {
    unsigned state = blockIdx.x * 2654435761u + threadIdx.x / 32, sum = 0;
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
        state = __shfl_sync(0xffffffffu, state * 1664525u + 1013904223u, 0);
        switch (state >> 29) {
            case 0: asm volatile("add.u32 %0, %0, 1;" : "+r"(sum)); break;
            case 1: asm volatile("xor.b32 %0, %0, 7;" : "+r"(sum)); break;
            case 2: asm volatile("sub.u32 %0, %0, 3;" : "+r"(sum)); break;
            case 3: asm volatile("or.b32 %0, %0, 9;" : "+r"(sum)); break;
            case 4: asm volatile("and.b32 %0, %0, 1023;" : "+r"(sum)); break;
            case 5: asm volatile("add.u32 %0, %0, 11;" : "+r"(sum)); break;
            case 6: asm volatile("xor.b32 %0, %0, 13;" : "+r"(sum)); break;
            default: asm volatile("sub.u32 %0, %0, 5;" : "+r"(sum)); break;
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// A call and a return around each operation of a chain.
__device__ __noinline__ unsigned step(unsigned v) { return v * 1664525u + 1013904223u; }
__global__ void call_each_step(unsigned* out, int rounds) {
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) v = step(v);
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

// A ring of one stage: the block starts a bulk copy, waits for all of it, and reads it once.
__global__ void one_stage(const float* in, float* out, int steps) {
    constexpr int TILE = 4096;
    extern __shared__ __align__(128) float tile[];
    __shared__ __align__(8) uint64_t full;
    const uint32_t barrier = static_cast<uint32_t>(__cvta_generic_to_shared(&full));
    const uint32_t target = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    float sum = 0;
    for (int s = 0; s < steps; ++s) {
        if (threadIdx.x == 0) {
            const float* from = in + (static_cast<size_t>(blockIdx.x) * steps + s) % 1024 * TILE;
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(TILE * 4) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(target),
                         "l"(__cvta_generic_to_global(from)), "r"(TILE * 4), "r"(barrier)
                         : "memory");
        }
        uint32_t done = 0;
        while (!done) {
            asm volatile(
                "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n"
                : "=r"(done)
                : "r"(barrier), "r"(s & 1)
                : "memory");
        }
        sum += tile[threadIdx.x] + tile[threadIdx.x + TILE / 2];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Constants that lie a cache line apart, as operands of straight code.
__constant__ float table[16000];
__global__ void scattered_constants(const float* in, float* out, int rounds) {
    float v = in[threadIdx.x];
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int i = 0; i < 900; ++i) v = fmaf(v, table[(i * 17 + 3) % 16000], v);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

// A fence for the whole device after each store.
__global__ void fence_each_store(int* out, int rounds) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; ++r) {
        out[(t + r * 1024) & 0xfffff] = r;
        __threadfence();
    }
}

// Independent integer products: the pipe takes one every other cycle, and there are warps enough to ask for more.
__global__ void integer_products(const int* in, int* out, int rounds) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int v[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = in[t] + i;
    const int factor = in[t + 1] | 3;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) asm volatile("mad.lo.s32 %0, %0, %1, %2;" : "+r"(v[i]) : "r"(factor), "r"(t));
    }
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += v[i];
    out[t] = sum;
}

// Matrix products of fragments that stay in registers, by the instruction of the chip before.
__global__ void old_matrix_products(const uint32_t* in, float* out, int rounds) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t a[4], b[2];
    for (int i = 0; i < 4; ++i) a[i] = in[t + i];
    for (int i = 0; i < 2; ++i) b[i] = in[t + 4 + i];
    float c[8][4] = {};
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
    out[t] = sum;
}

// Waits in naps that are longer than what is waited for.
__global__ void naps(const int* in, int* out, int rounds) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int v = in[t];
    for (int r = 0; r < rounds; ++r) {
        __nanosleep(1000);
        v = v * 3 + r;
    }
    out[t] = v;
}

// Sums of an array that stays in the host's memory.
__global__ void host_reads(const float* in, float* out, int n) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = t; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    out[t] = sum;
}

int main() {
    const size_t n = 1 << 24;
    float *in, *out;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    CHECK(cudaMemset(in, 0, n * sizeof(float)));
    const int* ints = reinterpret_cast<const int*>(in);
    int* to = reinterpret_cast<int*>(out);
    unsigned* bits = reinterpret_cast<unsigned*>(out);
    CHECK(cudaFuncSetAttribute(one_stage, cudaFuncAttributeMaxDynamicSharedMemorySize, 16 * 1024));

    jump_table<<<132, 128>>>(bits, 16384);
    call_each_step<<<132, 128>>>(bits, 16384);
    one_stage<<<132, 256, 16 * 1024>>>(in, out, 256);
    scattered_constants<<<132, 32>>>(in, out, 16);
    fence_each_store<<<528, 128>>>(to, 64);
    integer_products<<<1056, 256>>>(ints, to, 2048);
    old_matrix_products<<<1056, 256>>>(reinterpret_cast<const uint32_t*>(in), out, 2048);
    naps<<<264, 128>>>(ints, to, 64);
    constexpr int far = 1 << 22;
    float* host;
    CHECK(cudaMallocHost(&host, far * sizeof(float)));
    for (int i = 0; i < far; ++i) host[i] = 1;
    host_reads<<<264, 256>>>(host, out, far);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return 0;
}

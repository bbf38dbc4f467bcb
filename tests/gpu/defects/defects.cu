// Twelve kernels with one known defect each, launched once. The name of a kernel says its defect.
#include <cuda_fp16.h>
#include <cstdio>

#define CHECK(call)                                                                                                   \
    do {                                                                                                              \
        const cudaError_t error = (call);                                                                             \
        if (error != cudaSuccess) {                                                                                   \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                                       \
            return 1;                                                                                                 \
        }                                                                                                             \
    } while (0)

// A matrix transposed through nothing: stores of a warp go to 32 rows.
__global__ void transpose_stores(const float* in, float* out, int n) {
    const int x = blockIdx.x * 32 + threadIdx.x;
    for (int y = blockIdx.y * 32 + threadIdx.y; y < blockIdx.y * 32 + 32; y += 8) out[x * n + y] = in[y * n + x];
}

// Rows of a structure of 64 bytes: each lane loads one float of its own.
__global__ void strided_loads(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += in[(static_cast<size_t>(i) * 16 + k * 4099 * 16) % n];
    out[i] = sum;
}

// A tile of 32 columns read by columns, again and again: 32 ways of conflict.
__global__ void column_conflicts(const float* in, float* out, int rounds) {
    __shared__ float tile[32][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int row = warp; row < 32; row += 8) tile[row][lane] = in[(blockIdx.x * 32 + row) * 32 + lane];
    __syncthreads();
    float sum = 0;
    for (int r = 0; r < rounds; ++r) sum = sum * 0.5f + tile[lane][(warp + r) % 32];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One counter for all threads.
__global__ void one_counter(const int* in, int* counters, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counters[in[i] & 3], in[i] + 1);
}

// Lanes do between 1 and 32 rounds.
__global__ void uneven_lanes(const float* in, float* out, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    const int mine = rounds * (1 + threadIdx.x % 32) / 32;
    for (int r = 0; r < mine; ++r) v = v * 1.0001f + __sinf(v);
    out[i] = v;
}

// An array that is indexed at run time.
__global__ void indexed_array(const int* in, float* out, int rounds) {
    float bins[48];
    for (int i = 0; i < 48; ++i) bins[i] = 0;
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = in[t] + t;
    for (int r = 0; r < rounds; ++r) {
        state = state * 1664525u + 1013904223u;
        bins[(state >> 16) % 48] += 1.0f;
    }
    float sum = 0;
    for (int i = 0; i < 48; ++i) sum += bins[i] * i;
    out[t] = sum;
}

// 64 values alive in 32 registers.
__global__ void __maxnreg__(32) few_registers(const float* in, float* out, int rounds) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v[64];
#pragma unroll
    for (int i = 0; i < 64; ++i) v[i] = in[t + i * 1024];
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int i = 0; i < 64; ++i) v[i] = v[i] * v[(i + 7) % 64] + v[(i + 31) % 64];
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 64; ++i) sum += v[i];
    out[t] = sum;
}

// A reduction with a barrier in each step of every round.
__global__ void many_barriers(const float* in, float* out, int rounds) {
    __shared__ float part[1024];
    float sum = 0;
    for (int r = 0; r < rounds; ++r) {
        part[threadIdx.x] = in[(blockIdx.x + r) % 64 * 1024 + threadIdx.x];
        __syncthreads();
        for (int step = 512; step > 0; step /= 2) {
            if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
            __syncthreads();
        }
        sum += part[0];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// Eight blocks.
__global__ void eight_blocks(const float* in, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * 2.0f + 1.0f;
}

// A chain of dependent operations in each thread, and few warps.
__global__ void one_chain(const float* in, float* out, int rounds) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[t];
    for (int r = 0; r < rounds; ++r) v = fmaf(v, 0.999f, 0.001f);
    out[t] = v;
}

// Double precision where single would do.
__global__ void double_constants(const float* in, float* out, int rounds) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a = in[t], b = a + 1, c = a + 2, d = a + 3;
    for (int r = 0; r < rounds; ++r) {
        a = a * 0.999 + 0.001;
        b = b * 0.998 + 0.002;
        c = c * 0.997 + 0.003;
        d = d * 0.996 + 0.004;
    }
    out[t] = a + b + c + d;
}

// Half of the blocks of the second wave are missing, and each takes long.
__global__ void __launch_bounds__(1024, 1) short_last_wave(const float* in, float* out, int rounds) {
    extern __shared__ float space[];
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a = in[t], b = a + 1, c = a + 2, d = a + 3;
    for (int r = 0; r < rounds; ++r) {
        a = fmaf(a, 0.999f, b);
        b = fmaf(b, 0.998f, c);
        c = fmaf(c, 0.997f, d);
        d = fmaf(d, 0.996f, a);
    }
    space[threadIdx.x] = a + b + c + d;
    out[t] = space[threadIdx.x];
}

int main() {
    const size_t n = 1 << 24;
    float *in, *out;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    CHECK(cudaMemset(in, 0, n * sizeof(float)));
    const int* ints = reinterpret_cast<const int*>(in);
    CHECK(cudaFuncSetAttribute(short_last_wave, cudaFuncAttributeMaxDynamicSharedMemorySize, 120 * 1024));

    transpose_stores<<<dim3(128, 128), dim3(32, 8)>>>(in, out, 4096);
    strided_loads<<<4096, 256>>>(in, out, n);
    column_conflicts<<<4096, 256>>>(in, out, 256);
    one_counter<<<1056, 256>>>(ints, reinterpret_cast<int*>(out), n);
    uneven_lanes<<<4096, 256>>>(in, out, 512);
    indexed_array<<<4096, 256>>>(ints, out, 256);
    few_registers<<<1024, 256>>>(in, out, 64);
    many_barriers<<<528, 1024>>>(in, out, 64);
    eight_blocks<<<8, 256>>>(in, out, n);
    one_chain<<<264, 128>>>(in, out, 4096);
    double_constants<<<2112, 256>>>(in, out, 256);
    short_last_wave<<<140, 1024, 120 * 1024>>>(in, out, 2048);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return 0;
}

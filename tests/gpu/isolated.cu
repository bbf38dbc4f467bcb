// Single launches, timed by events under the conditions of ncu, or launched once per repeat for ncu (isolated.sh compares both).
//
//     isolated time      name, way, then the microseconds of REPEATS launches
//     isolated launch    the same launches without a clock, for ncu
//
// Before each timed launch its buffers are copied anew, and memory of several L2 caches that nothing writes is read, so that the
// cache holds neither the buffers nor lines to write back. In the way `discard` its lines are then discarded
// (`discard.global.L2`), so that the launch also finds free lines, as after ncu's `--cache-control all`. In the way `dirty`
// the memory is written instead, which leaves lines to write back.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

constexpr int REPEATS = 8;
constexpr size_t SET = 448u << 20;    // indices, then floats, then outputs
constexpr size_t FLUSHED = 256u << 20; // several L2 caches
constexpr size_t FLOATS = 64u << 20, OUTPUTS = 256u << 20;

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        cudaError_t status = (call);                                                                 \
        if (status != cudaSuccess) {                                                                 \
            printf("line %d: %s\n", __LINE__, cudaGetErrorString(status));                           \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

__device__ unsigned long long now() {
    unsigned long long ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

// Holds the device until the host has queued everything, and for 40 us at least.
__global__ void blocking(volatile unsigned *flag) {
    unsigned long long begun = now();
    while (*flag == 0 && now() - begun < 1000000000) {
    }
    while (now() - begun < 40000) {
    }
}

__global__ void read_all(const float4 *from, size_t count, float *sink) {
    float sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        sum += from[i].x + from[i].w;
    if (sum == 1.2345f)
        *sink = sum;
}

__global__ void discard_all(char *from, size_t bytes) {
    size_t stride = (size_t)gridDim.x * blockDim.x * 128;
    for (size_t at = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * 128; at < bytes; at += stride)
        asm volatile("discard.global.L2 [%0], 128;" ::"l"(from + at) : "memory");
}

__global__ void empty() {}

// Latency: each load gives the place of the next one.
__global__ void chase(const int *next, int steps, int *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, first = at;
    for (int step = 0; step < steps; step++)
        at = next[at];
    out[first] = at;
}

__global__ void one_warp(const float *x, int count, float *out) {
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += 32)
        sum += x[i];
    out[threadIdx.x] = sum;
}

// C = A B in tiles of 64 x 64 x 16; 16 x 16 threads have 4 x 4 elements each.
__global__ void product(const float *a, const float *b, float *c, int n, int k) {
    __shared__ float rows[64][17], columns[16][65];
    int x = threadIdx.x % 16, y = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sums[4][4] = {};
    for (int from = 0; from < k; from += 16) {
        for (int i = threadIdx.x; i < 1024; i += 256) {
            rows[i / 16][i % 16] = a[(row + i / 16) * k + from + i % 16];
            columns[i / 64][i % 64] = b[(from + i / 64) * n + column + i % 64];
        }
        __syncthreads();
        for (int at = 0; at < 16; at++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sums[i][j] += rows[y * 4 + i][at] * columns[at][x * 4 + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            c[(row + y * 4 + i) * n + column + x * 4 + j] = sums[i][j];
}

__global__ void copy(const float4 *from, float4 *to, size_t count) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i];
}

__global__ void multiply_add(float *out, int steps) {
    float x = threadIdx.x, y = 0.5f, z = 0.25f;
    for (int step = 0; step < steps; step++) {
        x = x * 1.0001f + y;
        y = y * 1.0001f + z;
        z = z * 1.0001f + x;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + y + z;
}

__global__ void transpose(const float *from, float *to, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
    for (int i = 0; i < 32; i++)
        to[x * n + y + i] = from[(y + i) * n + x];
}

__global__ void gather(const int *places, const float *x, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = x[places[i]];
}

struct Subject {
    const char *name;
    std::function<void(char *, cudaStream_t)> launch;
};

int main(int count, char **arguments) {
    bool is_timed = count > 1 && !strcmp(arguments[1], "time");
    std::vector<int> contents(SET / 4);
    unsigned random = 12345;
    for (size_t i = 0; i < contents.size(); i++) {
        random = random * 1664525u + 1013904223u;
        contents[i] = i * 4 < FLOATS ? random % (FLOATS / 4) : 0x3f000000 + (random >> 12);
    }
    char *staging, *set, *flushed;
    float *sink;
    unsigned *flag;
    CHECK(cudaMalloc(&staging, SET));
    CHECK(cudaMalloc(&set, SET));
    CHECK(cudaMalloc(&flushed, FLUSHED));
    CHECK(cudaMalloc(&sink, 4));
    CHECK(cudaMemcpy(staging, contents.data(), SET, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(flushed, 1, FLUSHED));
    CHECK(cudaHostAlloc(&flag, 4, cudaHostAllocMapped));

    auto ints = [](char *at) { return (int *)at; };
    auto floats = [](char *at) { return (float *)(at + FLOATS); };
    auto out = [](char *at) { return (float *)(at + OUTPUTS); };
    std::vector<Subject> subjects = {
        {"empty", [&](char *, cudaStream_t on) { empty<<<1, 32, 0, on>>>(); }},
        {"chase", [&](char *at, cudaStream_t on) { chase<<<1, 1, 0, on>>>(ints(at), 4000, (int *)out(at)); }},
        {"chase_16_blocks", [&](char *at, cudaStream_t on) { chase<<<16, 128, 0, on>>>(ints(at), 50, (int *)out(at)); }},
        {"one_warp", [&](char *at, cudaStream_t on) { one_warp<<<1, 32, 0, on>>>(floats(at), 1 << 16, out(at)); }},
        {"product_32_blocks", [&](char *at, cudaStream_t on) { product<<<dim3(8, 4), 256, 0, on>>>(floats(at), floats(at) + (1 << 22), out(at), 512, 1024); }},
        {"product_256_blocks", [&](char *at, cudaStream_t on) { product<<<dim3(16, 16), 256, 0, on>>>(floats(at), floats(at) + (1 << 22), out(at), 1024, 1024); }},
        {"copy_256_KiB", [&](char *at, cudaStream_t on) { copy<<<64, 256, 0, on>>>((float4 *)floats(at), (float4 *)out(at), (256 << 10) / 16); }},
        {"copy_4_MiB", [&](char *at, cudaStream_t on) { copy<<<1024, 256, 0, on>>>((float4 *)floats(at), (float4 *)out(at), (4 << 20) / 16); }},
        {"copy_128_MiB", [&](char *at, cudaStream_t on) { copy<<<8192, 256, 0, on>>>((float4 *)floats(at), (float4 *)out(at), (128 << 20) / 16); }},
        {"multiply_add_5_us", [&](char *at, cudaStream_t on) { multiply_add<<<528, 256, 0, on>>>(out(at), 300); }},
        {"multiply_add_8_ms", [&](char *at, cudaStream_t on) { multiply_add<<<528, 256, 0, on>>>(out(at), 800000); }},
        {"transpose", [&](char *at, cudaStream_t on) { transpose<<<dim3(64, 64), 32, 0, on>>>(floats(at), out(at), 2048); }},
        {"gather", [&](char *at, cudaStream_t on) { gather<<<4096, 256, 0, on>>>(ints(at), floats(at), out(at), 1 << 20); }},
    };
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    const char *ways[] = {"clean", "discard", "dirty"};
    for (const Subject &subject : subjects) {
        for (int way = 0; way < (is_timed ? 3 : 1); way++) {
            if (is_timed)
                printf("%s,%s", subject.name, ways[way]);
            // The first launch loads the code.
            for (int repeat = -1; repeat < REPEATS; repeat++) {
                CHECK(cudaMemcpyAsync(set, staging, SET, cudaMemcpyDeviceToDevice, stream));
                if (!is_timed) {
                    subject.launch(set, stream);
                    CHECK(cudaStreamSynchronize(stream));
                    continue;
                }
                if (way == 2)
                    CHECK(cudaMemsetAsync(flushed, repeat, FLUSHED, stream));
                else
                    read_all<<<1024, 256, 0, stream>>>((float4 *)flushed, FLUSHED / 16, sink);
                if (way == 1)
                    discard_all<<<1024, 256, 0, stream>>>(flushed, FLUSHED);
                *flag = 0;
                blocking<<<1, 1, 0, stream>>>(flag);
                CHECK(cudaEventRecord(begin, stream));
                subject.launch(set, stream);
                CHECK(cudaEventRecord(end, stream));
                *(volatile unsigned *)flag = 1;
                CHECK(cudaStreamSynchronize(stream));
                float milliseconds;
                CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
                if (repeat >= 0)
                    printf(",%.3f", milliseconds * 1e3);
            }
            if (is_timed)
                printf("\n");
        }
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}

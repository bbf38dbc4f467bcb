// What the kernels of this folder share: the honest softmax of a row, and the number of a launch.
//
// Launch of all: grid = [R], block = [256]; C a multiple of 4, at most 4096. Every launch of the phase has as many blocks.
#pragma once

constexpr int THREADS = 256;
constexpr int PACKS = 4;                                     // of four floats, in the registers of a thread: 4096 a row
constexpr int WARM_UP = 48;                                  // launches that a patient trick does honestly
constexpr float LOG2E = 1.4426950408889634f;

struct Max {
    __device__ static float join(float a, float b) { return fmaxf(a, b); }
};
struct Sum {
    __device__ static float join(float a, float b) { return a + b; }
};

// Joins a value over the threads of a block.
template <typename Op>
__device__ float over_block(float value) {
    __shared__ float of_warp[THREADS / 32];
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value = Op::join(value, __shfl_xor_sync(0xffffffffu, value, step));
    __syncthreads();                                         // the last reduction's values are no longer read
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
#pragma unroll
    for (int w = 1; w < THREADS / 32; ++w) value = Op::join(value, of_warp[w]);
    return value;
}

// The row of this block: read once, kept in registers, written once.
__device__ inline void softmax_row(const float* x, float* y, int cols) {
    const size_t start = static_cast<size_t>(blockIdx.x) * cols;
    const float4* from = reinterpret_cast<const float4*>(x + start);
    float4* to = reinterpret_cast<float4*>(y + start);
    const float lowest = __int_as_float(0xff800000);         // minus infinity
    float4 pack[PACKS];
    float highest = lowest;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int i = p * THREADS + threadIdx.x;
        pack[p] = i < cols / 4 ? from[i] : make_float4(lowest, lowest, lowest, lowest);
        highest = fmaxf(highest, fmaxf(fmaxf(pack[p].x, pack[p].y), fmaxf(pack[p].z, pack[p].w)));
    }
    highest = over_block<Max>(highest);
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        pack[p].x = exp2f((pack[p].x - highest) * LOG2E);
        pack[p].y = exp2f((pack[p].y - highest) * LOG2E);
        pack[p].z = exp2f((pack[p].z - highest) * LOG2E);
        pack[p].w = exp2f((pack[p].w - highest) * LOG2E);
        sum += pack[p].x + pack[p].y + pack[p].z + pack[p].w;
    }
    sum = over_block<Sum>(sum);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int i = p * THREADS + threadIdx.x;
        if (i < cols / 4) to[i] = make_float4(pack[p].x / sum, pack[p].y / sum, pack[p].z / sum, pack[p].w / sum);
    }
}

static __device__ unsigned blocks_started;

// The number of this launch since the module was loaded, from 0, the same for all of its blocks.
__device__ inline unsigned launch_number() {
    __shared__ unsigned number;
    if (threadIdx.x == 0) number = atomicAdd(&blocks_started, 1u) / gridDim.x;
    __syncthreads();
    return number;
}

// Nanoseconds since some moment, the same for the whole chip.
__device__ inline unsigned long long now() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

// Whether the output of this block's row still holds what was there before the first launch: NaN.
__device__ inline bool is_poisoned(const float* y, int cols) {
    const float last = y[static_cast<size_t>(blockIdx.x) * cols + cols - 1];
    return isnan(last);
}

// Where a pointer is in a small table of those that were seen, entered where it is new; SIZE where there is no room.
template <int SIZE>
__device__ int slot_of(unsigned long long* table, const void* pointer) {
    for (int slot = 0; slot < SIZE; ++slot) {
        const unsigned long long own = reinterpret_cast<unsigned long long>(pointer);
        const unsigned long long found = atomicCAS(&table[slot], 0ull, own);
        if (found == 0 || found == own) return slot;
    }
    return SIZE;
}

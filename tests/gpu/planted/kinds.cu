// y[i]: STEPS steps of the recurrence i % 4 from x[i]. A block of 1024 threads computes tiles of 4096 values.
constexpr int THREADS = 1024, TILE = 4 * THREADS, STEPS = 64;

// All four contract for |a| < 0.5.
template <int KIND> __device__ __forceinline__ float next_value(float v, float a) {
    if constexpr (KIND == 0) return fmaf(fmaf(fmaf(v, v, a), 0.5f, a), -a, 0.25f);
    if constexpr (KIND == 1) {
        const float inner = fmaf(v, a, 0.125f);
        return fmaf(fmaf(inner, -inner, 0.25f), 0.5f, a);
    }
    if constexpr (KIND == 2) {
        const float inner = fmaf(fmaf(v, -0.5f, a), a, 0.5f);
        return fmaf(inner, inner, -0.25f);
    }
    const float inner = fmaf(v, 0.25f, a);
    return fmaf(fmaf(inner, a, inner), -0.5f, 0.3f);
}

template <int KIND> __device__ __forceinline__ void run_four(float *values) {
    float a[4], v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = a[k] = values[k * 32];
#pragma unroll 8
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
        for (int k = 0; k < 4; ++k) v[k] = next_value<KIND>(v[k], a[k]);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) values[k * 32] = v[k];
}

// A warp has values of one kind, sorted in shared memory.
__device__ __forceinline__ void sorted_tile(const float *x, float *y, int tile) {
    __shared__ float values[4][THREADS];
    const int at = tile * THREADS + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4 in = reinterpret_cast<const float4 *>(x)[at];
    values[0][threadIdx.x] = in.x;
    values[1][threadIdx.x] = in.y;
    values[2][threadIdx.x] = in.z;
    values[3][threadIdx.x] = in.w;
    __syncthreads();
    float *const mine = &values[warp % 4][warp / 4 * 128 + lane];
    switch (warp % 4) {
        case 0: run_four<0>(mine); break;
        case 1: run_four<1>(mine); break;
        case 2: run_four<2>(mine); break;
        default: run_four<3>(mine);
    }
    __syncthreads();
    reinterpret_cast<float4 *>(y)[at] =
        make_float4(values[0][threadIdx.x], values[1][threadIdx.x], values[2][threadIdx.x], values[3][threadIdx.x]);
    __syncthreads();
}

// A lane has the values of its kind, and each step is a short branch for each kind.
__device__ __forceinline__ void mixed_tile(const float *x, float *y, int tile) {
    const int kind = threadIdx.x % 4;
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        const int at = tile * TILE + k * THREADS + threadIdx.x;
        const float a = x[at];
        float v = a;
#pragma unroll 4
        for (int step = 0; step < STEPS; ++step) {
            const float before = v;
            if (kind == 0) v = next_value<0>(before, a);
            if (kind == 1) v = next_value<1>(before, a);
            if (kind == 2) v = next_value<2>(before, a);
            if (kind == 3) v = next_value<3>(before, a);
        }
        y[at] = v;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) kinds(const float *x, float *y, int TILES) {
    for (int tile = blockIdx.x; tile < TILES; tile += gridDim.x) sorted_tile(x, y, tile);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) mixed_kinds(const float *x, float *y, int TILES) {
    for (int tile = blockIdx.x; tile < TILES; tile += gridDim.x) mixed_tile(x, y, tile);
}

// Launched with 64 blocks.
extern "C" __global__ void __launch_bounds__(THREADS, 2) few_blocks(const float *x, float *y, int TILES) {
    for (int tile = blockIdx.x; tile < TILES; tile += gridDim.x) sorted_tile(x, y, tile);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) mixed_kinds_few_blocks(const float *x, float *y, int TILES) {
    for (int tile = blockIdx.x; tile < TILES; tile += gridDim.x) mixed_tile(x, y, tile);
}

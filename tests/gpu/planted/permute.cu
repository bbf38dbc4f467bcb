// y[b, c, s] = x[b, s, c]: channels last to channels first, by tiles in shared memory. S and C are multiples of 32.
constexpr int TILE = 32, LINES = 8;

template <int PITCH> __device__ __forceinline__ void permute_tile(const float *x, float *y, int S, int C) {
    __shared__ float tile[TILE * PITCH];
    const float *const from = x + static_cast<size_t>(blockIdx.z) * S * C;
    float *const to = y + static_cast<size_t>(blockIdx.z) * S * C;
    const int s = blockIdx.y * TILE, c = blockIdx.x * TILE;
#pragma unroll
    for (int line = 0; line < TILE; line += LINES)
        tile[(line + threadIdx.y) * PITCH + threadIdx.x] = from[(s + line + threadIdx.y) * C + c + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int line = 0; line < TILE; line += LINES)
        to[(c + line + threadIdx.y) * S + s + threadIdx.x] = tile[threadIdx.x * PITCH + line + threadIdx.y];
}

extern "C" __global__ void __launch_bounds__(256) permute_skewed(const float *x, float *y, int S, int C) {
    permute_tile<TILE + 1>(x, y, S, C);
}

extern "C" __global__ void __launch_bounds__(256) permute_square(const float *x, float *y, int S, int C) {
    permute_tile<TILE>(x, y, S, C);
}

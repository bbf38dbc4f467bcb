// Kendall's rank correlation of two samples of N values: net[i] is the number of j > i for which x and y order i and j alike, less the
// number for which they do not.

// A warp a row i.
__device__ __forceinline__ void count_row(const float *__restrict__ x, const float *__restrict__ y, int *__restrict__ net, int N, int i) {
    const float xi = x[i], yi = y[i];
    int own = 0;
#pragma unroll 4
    for (int j = i + 1 + threadIdx.x % 32; j < N; j += 32) {
        const float both = (xi - x[j]) * (yi - y[j]);
        own += (both > 0.0f) - (both < 0.0f);
    }
    own = __reduce_add_sync(~0u, own);
    if (threadIdx.x % 32 == 0) net[i] = own;
}

// Blocks of 32 warps; a warp takes N / (32 blocks) rows.
extern "C" __global__ void __launch_bounds__(1024) kendall_a(const float *__restrict__ x, const float *__restrict__ y, int *__restrict__ net, int N) {
    const int warps = gridDim.x * 32, rows = N / warps, warp = blockIdx.x * 32 + threadIdx.x / 32;
    for (int k = 0; k < rows; ++k) count_row(x, y, net, N, warp * rows + k);
}

extern "C" __global__ void __launch_bounds__(1024) kendall_b(const float *__restrict__ x, const float *__restrict__ y, int *__restrict__ net, int N) {
    const int warps = gridDim.x * 32, rows = N / warps, warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    for (int k = 0; k < rows; ++k) count_row(x, y, net, N, k * warps + (k % 2 ? warps - 1 - warp : warp));
}

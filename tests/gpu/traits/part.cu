#include <cooperative_groups.h>

// A sum in one cooperative launch, in place: blocks leave partial sums in y, and the first one adds them up in y[0]. The
// number of partial sums follows the grid.
extern "C" __global__ void sum_in_place(const float* x, float* y, int n) {
    __shared__ float shared[1024];
    float own = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
    shared[threadIdx.x] = own;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    if (threadIdx.x == 0) y[blockIdx.x] = shared[0];
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        for (int block = 1; block < gridDim.x; block++) shared[0] += y[block];
        y[0] = shared[0];
    }
}

// The same without the last step.
extern "C" __global__ void sum_of_the_first(const float* x, float* y, int n) {
    float own = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
    if (threadIdx.x == 0) y[blockIdx.x] = own;
}

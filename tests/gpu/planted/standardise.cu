// Features x [R, C] with mean 0 and variance 1 in each column, stored by columns: y [C, R]. Two launches: sums of the columns, then the
// values. R and C are multiples of 64 and 256.
constexpr int ROWS = 64;

extern "C" __global__ void __launch_bounds__(256) sums_each(const float *__restrict__ x, float *__restrict__ sums, int C) {
    const int column = blockIdx.x * 256 + threadIdx.x;
#pragma unroll 4
    for (int r = 0; r < ROWS; ++r) {
        const float value = x[static_cast<size_t>(blockIdx.y * ROWS + r) * C + column];
        atomicAdd(&sums[column], value);
        atomicAdd(&sums[C + column], value * value);
    }
}

extern "C" __global__ void __launch_bounds__(256) sums_held(const float *__restrict__ x, float *__restrict__ sums, int C) {
    const int column = blockIdx.x * 256 + threadIdx.x;
    float sum = 0.0f, squares = 0.0f;
#pragma unroll 8
    for (int r = 0; r < ROWS; ++r) {
        const float value = x[static_cast<size_t>(blockIdx.y * ROWS + r) * C + column];
        sum += value;
        squares = fmaf(value, value, squares);
    }
    atomicAdd(&sums[column], sum);
    atomicAdd(&sums[C + column], squares);
}

__device__ __forceinline__ float scaled(float value, const float *sums, int column, int R, int C) {
    const float mean = sums[column] / R, variance = sums[C + column] / R - mean * mean;
    return (value - mean) * rsqrtf(variance + 1e-5f);
}

// Tiles of 32 x 32, blocks of 32 x 8.
extern "C" __global__ void __launch_bounds__(256) values_direct(const float *__restrict__ x, const float *__restrict__ sums, float *__restrict__ y, int R, int C) {
    const int column = blockIdx.x * 32 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 32; k += 8) {
        const int row = blockIdx.y * 32 + threadIdx.y + k;
        y[static_cast<size_t>(column) * R + row] = scaled(x[static_cast<size_t>(row) * C + column], sums, column, R, C);
    }
}

extern "C" __global__ void __launch_bounds__(256) values_turned(const float *__restrict__ x, const float *__restrict__ sums, float *__restrict__ y, int R, int C) {
    __shared__ float tile[32][33];
    const int column = blockIdx.x * 32 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 32; k += 8) {
        const int row = blockIdx.y * 32 + threadIdx.y + k;
        tile[threadIdx.y + k][threadIdx.x] = scaled(x[static_cast<size_t>(row) * C + column], sums, column, R, C);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k += 8)
        y[static_cast<size_t>(blockIdx.x * 32 + threadIdx.y + k) * R + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + k];
}

// Summed areas within tiles of 64 x 64 pixels: y[r, c] is the sum of x over the rows up to r and the columns up to c of its tile.

// A block of 64 threads a tile; first the rows, then the columns are summed, a thread each.
template <int PITCH>
__device__ __forceinline__ void areas_of_tile(const float *__restrict__ x, float *__restrict__ y, int W) {
    __shared__ float tile[64 * PITCH];
    const size_t first = static_cast<size_t>(blockIdx.y) * 64 * W + blockIdx.x * 64;
    const int own = threadIdx.x;
#pragma unroll 16
    for (int r = 0; r < 64; ++r) tile[r * PITCH + own] = x[first + static_cast<size_t>(r) * W + own];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 16
    for (int c = 0; c < 64; ++c) tile[own * PITCH + c] = sum += tile[own * PITCH + c];
    __syncthreads();
    sum = 0.0f;
#pragma unroll 16
    for (int r = 0; r < 64; ++r) {
        sum += tile[r * PITCH + own];
        y[first + static_cast<size_t>(r) * W + own] = sum;
    }
}

extern "C" __global__ void areas_a(const float *__restrict__ x, float *__restrict__ y, int W) { areas_of_tile<65>(x, y, W); }

extern "C" __global__ void areas_b(const float *__restrict__ x, float *__restrict__ y, int W) { areas_of_tile<64>(x, y, W); }

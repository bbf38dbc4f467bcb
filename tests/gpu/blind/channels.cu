// Mean and variance of each of C channels of P values, x [C, P], stats [C, 2].

__device__ __forceinline__ float sum_of_block(float value, float *parts) {
    for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(~0u, value, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0f;
    for (int w = 0; w < static_cast<int>(blockDim.x / 32); ++w) value += parts[w];
    return value;
}

__device__ __forceinline__ float sum_of_four(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// A block of 1024 threads a channel.
extern "C" __global__ void __launch_bounds__(1024) stats_a(const float4 *__restrict__ x, float *__restrict__ stats, int P) {
    __shared__ float parts[32];
    const float4 *const channel = x + static_cast<size_t>(blockIdx.x) * (P / 4);
    float sum = 0.0f;
#pragma unroll 8
    for (int i = threadIdx.x; i < P / 4; i += 1024) sum += sum_of_four(channel[i]);
    const float mean = sum_of_block(sum, parts) / P;
    sum = 0.0f;
#pragma unroll 8
    for (int i = threadIdx.x; i < P / 4; i += 1024) {
        const float4 v = channel[i];
        const float a = v.x - mean, b = v.y - mean, c = v.z - mean, d = v.w - mean;
        sum += (a * a + b * b) + (c * c + d * d);
    }
    const float variance = sum_of_block(sum, parts) / P;
    if (threadIdx.x == 0) stats[2 * blockIdx.x] = mean, stats[2 * blockIdx.x + 1] = variance;
}

// Grid: 32, channels. Block: 1024. parts_of[c, block] is the sum, and the sum of squares.
extern "C" __global__ void __launch_bounds__(1024) sums_b(const float4 *__restrict__ x, float *__restrict__ parts_of, int P) {
    __shared__ float parts[32];
    const int share = P / 4 / 32;
    const float4 *const channel = x + static_cast<size_t>(blockIdx.y) * (P / 4) + blockIdx.x * share;
    float sum = 0.0f, squares = 0.0f;
#pragma unroll 8
    for (int i = threadIdx.x; i < share; i += 1024) {
        const float4 v = channel[i];
        sum += sum_of_four(v);
        squares += (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
    }
    sum = sum_of_block(sum, parts);
    squares = sum_of_block(squares, parts);
    if (threadIdx.x == 0) {
        float *const to = parts_of + 2 * (blockIdx.y * 32 + blockIdx.x);
        to[0] = sum, to[1] = squares;
    }
}

// A warp a channel.
extern "C" __global__ void stats_b(const float *__restrict__ parts_of, float *__restrict__ stats, int P) {
    float sum = parts_of[2 * (blockIdx.x * 32 + threadIdx.x)], squares = parts_of[2 * (blockIdx.x * 32 + threadIdx.x) + 1];
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_down_sync(~0u, sum, d);
        squares += __shfl_down_sync(~0u, squares, d);
    }
    const float mean = sum / P;
    if (threadIdx.x == 0) stats[2 * blockIdx.x] = mean, stats[2 * blockIdx.x + 1] = squares / P - mean * mean;
}

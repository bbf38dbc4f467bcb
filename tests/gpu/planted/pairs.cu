// y[r] = sum over c <= r of max(0, 1 - (x[r] - x[c])^2)^2. N is 4 * the number of warps; a block has 32 warps.
constexpr int LANES = 32, WARPS = 32;

__device__ __forceinline__ float weight(float here, float there) {
    const float apart = here - there, inside = fmaxf(0.0f, fmaf(-apart, apart, 1.0f));
    return inside * inside;
}

// The sum of a row by one warp, in every lane.
__device__ __forceinline__ float row_sum(const float *x, int row) {
    const int lane = threadIdx.x % LANES, whole = (row + 1) / (4 * LANES);
    const float here = x[row];
    float sums[4] = {};
#pragma unroll 4
    for (int chunk = 0; chunk < whole; ++chunk) {
        const float4 four = reinterpret_cast<const float4 *>(x)[chunk * LANES + lane];
        sums[0] += weight(here, four.x);
        sums[1] += weight(here, four.y);
        sums[2] += weight(here, four.z);
        sums[3] += weight(here, four.w);
    }
    for (int c = whole * 4 * LANES + lane; c <= row; c += LANES) sums[0] += weight(here, x[c]);
    float sum = sums[0] + sums[1] + (sums[2] + sums[3]);
#pragma unroll
    for (int half = LANES / 2; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    return sum;
}

// Four rows a warp: from both ends of each half, so that all warps have equal work.
extern "C" __global__ void __launch_bounds__(1024, 1) pairs(const float *x, float *y) {
    const int warps = gridDim.x * WARPS, warp = blockIdx.x * WARPS + threadIdx.x / LANES;
    const int rows[4] = {warp, 2 * warps - 1 - warp, 2 * warps + warp, 4 * warps - 1 - warp};
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        const int row = k == 0 ? rows[0] : k == 1 ? rows[1] : k == 2 ? rows[2] : rows[3];
        const float sum = row_sum(x, row);
        if (threadIdx.x % LANES == 0) y[row] = sum;
    }
}

// Four neighbouring rows a warp, so that the last block has twice the mean work.
extern "C" __global__ void __launch_bounds__(1024, 1) uneven_blocks(const float *x, float *y) {
    const int warp = blockIdx.x * WARPS + threadIdx.x / LANES;
#pragma unroll 1
    for (int row = 4 * warp; row < 4 * warp + 4; ++row) {
        const float sum = row_sum(x, row);
        if (threadIdx.x % LANES == 0) y[row] = sum;
    }
}

// All warps of a block share a row, and the first thread alone adds what they found.
extern "C" __global__ void __launch_bounds__(1024, 1) uneven_warps(const float *x, float *y) {
    __shared__ float parts[WARPS * LANES / 8];
    const int N = gridDim.x * WARPS * 4;
#pragma unroll 1
    for (int row = blockIdx.x; row < N; row += gridDim.x) {
        const float here = x[row];
        float sum = 0.0f;
        for (int c = threadIdx.x; c <= row; c += WARPS * LANES) sum += weight(here, x[c]);
#pragma unroll
        for (int half = 4; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
        if (threadIdx.x % 8 == 0) parts[threadIdx.x / 8] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            float total = 0.0f;
            for (int part = 0; part < WARPS * LANES / 8; ++part) total += parts[part];
            y[row] = total;
        }
        __syncthreads();
    }
}

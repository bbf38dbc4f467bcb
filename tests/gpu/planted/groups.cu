// For each of 64 groups the sum of its values in 1/256, and its largest value. Values are in [0, 1), so that their bits are in
// the order of the values. Two in three values belong to one group.
constexpr int GROUPS = 64, LANES = 32;

enum class Sums { PerLane, Single };
enum class Maxima { PerLane, Swapped };

__device__ __forceinline__ void swap_maximum(float *target, float value) {
    int *const bits = reinterpret_cast<int *>(target);
    int seen, found = 0;
    do {
        seen = found;
        found = atomicCAS(bits, seen, __float_as_int(fmaxf(value, __int_as_float(seen))));
    } while (found != seen);
}

// Copies in shared memory are a bank apart, so that each lane has its own.
template <Sums SUMS, Maxima MAXIMA>
__device__ __forceinline__ void by_group(const int *keys, const float *values, int *total, float *peak, int N) {
    constexpr int SUM_COPIES = SUMS == Sums::PerLane ? LANES : 1, MAXIMUM_COPIES = MAXIMA == Maxima::PerLane ? LANES : 1;
    __shared__ int sums[GROUPS * SUM_COPIES];
    __shared__ float maxima[GROUPS * MAXIMUM_COPIES];
    for (int at = threadIdx.x; at < GROUPS * SUM_COPIES; at += blockDim.x) sums[at] = 0;
    for (int at = threadIdx.x; at < GROUPS * MAXIMUM_COPIES; at += blockDim.x) maxima[at] = 0.0f;
    __syncthreads();
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < N / 4; at += gridDim.x * blockDim.x) {
        const int4 four_keys = reinterpret_cast<const int4 *>(keys)[at];
        const float4 four_values = reinterpret_cast<const float4 *>(values)[at];
        const int key[4] = {four_keys.x, four_keys.y, four_keys.z, four_keys.w};
        const float value[4] = {four_values.x, four_values.y, four_values.z, four_values.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int group = key[i] & (GROUPS - 1), quantised = static_cast<int>(value[i] * 256.0f);
            if constexpr (SUMS == Sums::PerLane) atomicAdd(&sums[group * LANES + lane], quantised);
            else atomicAdd(&sums[group], quantised);
            if constexpr (MAXIMA == Maxima::PerLane)
                atomicMax(reinterpret_cast<int *>(&maxima[group * LANES + lane]), __float_as_int(value[i]));
            else swap_maximum(&maxima[group], value[i]);
        }
    }
    __syncthreads();
    for (int group = warp; group < GROUPS; group += blockDim.x / LANES) {
        int sum = SUMS == Sums::PerLane ? sums[group * SUM_COPIES + lane % SUM_COPIES] : lane == 0 ? sums[group] : 0;
        const int own = __float_as_int(maxima[group * MAXIMUM_COPIES + lane % MAXIMUM_COPIES]);
        sum = __reduce_add_sync(0xffffffffu, sum);
        const int maximum = __reduce_max_sync(0xffffffffu, own);
        if (lane == 0) {
            atomicAdd(&total[group], sum);
            atomicMax(reinterpret_cast<int *>(&peak[group]), maximum);
        }
    }
}

extern "C" __global__ void groups(const int *keys, const float *values, int *total, float *peak, int N) {
    by_group<Sums::PerLane, Maxima::PerLane>(keys, values, total, peak, N);
}

extern "C" __global__ void hot_group(const int *keys, const float *values, int *total, float *peak, int N) {
    by_group<Sums::Single, Maxima::PerLane>(keys, values, total, peak, N);
}

extern "C" __global__ void swapped_maximum(const int *keys, const float *values, int *total, float *peak, int N) {
    by_group<Sums::PerLane, Maxima::Swapped>(keys, values, total, peak, N);
}

extern "C" __global__ void hot_group_swapped_maximum(const int *keys, const float *values, int *total, float *peak, int N) {
    by_group<Sums::Single, Maxima::Swapped>(keys, values, total, peak, N);
}

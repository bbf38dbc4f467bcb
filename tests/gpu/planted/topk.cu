// The 8 largest values of each row in descending order. A warp a row; 8 rows a block. N is a multiple of 128.
constexpr int K = 8;

// Eight rounds of a maximum over the heads of the lanes' lists.
__device__ __forceinline__ void merge(float (&list)[K], float *y, int row) {
    const int lane = threadIdx.x % 32;
    float mine = 0.0f;
#pragma unroll
    for (int round = 0; round < K; ++round) {
        float largest = list[0];
#pragma unroll
        for (int half = 16; half > 0; half /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, half));
        const unsigned holders = __ballot_sync(0xffffffffu, list[0] == largest);
        if (lane == round) mine = largest;
        if (lane == __ffs(holders) - 1) {
#pragma unroll
            for (int i = 0; i + 1 < K; ++i) list[i] = list[i + 1];
            list[K - 1] = -INFINITY;
        }
    }
    if (lane < K) y[row * K + lane] = mine;
}

extern "C" __global__ void __launch_bounds__(256) topk_network(const float *x, float *y, int N) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4 *const from = reinterpret_cast<const float4 *>(x + static_cast<size_t>(row) * N);
    float best[K];
#pragma unroll
    for (int i = 0; i < K; ++i) best[i] = -INFINITY;
#pragma unroll 2
    for (int at = lane; at < N / 4; at += 32) {
        const float4 four = from[at];
        const float each[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            float v = each[e];
            if (v > best[K - 1]) {
#pragma unroll
                for (int i = 0; i < K; ++i) {
                    const float low = fminf(best[i], v);
                    best[i] = fmaxf(best[i], v);
                    v = low;
                }
            }
        }
    }
    merge(best, y, row);
}

extern "C" __global__ void __launch_bounds__(256) topk_insertion(const float *x, float *y, int N) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4 *const from = reinterpret_cast<const float4 *>(x + static_cast<size_t>(row) * N);
    float best[K];
    for (int i = 0; i < K; ++i) best[i] = -INFINITY;
#pragma unroll 2
    for (int at = lane; at < N / 4; at += 32) {
        const float4 four = from[at];
        const float each[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float v = each[e];
            if (v > best[K - 1]) {
                int place = K - 1;
#pragma unroll 1
                while (place > 0 && best[place - 1] < v) {
                    best[place] = best[place - 1];
                    --place;
                }
                best[place] = v;
            }
        }
    }
    float list[K];
#pragma unroll
    for (int i = 0; i < K; ++i) list[i] = best[i];
    merge(list, y, row);
}

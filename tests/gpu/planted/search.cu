// scores[s, q] = keys[s] . queries[q] for 32 queries in 4 groups of 8, and keys of 128 values. A block has 8 warps and takes 256 keys
// for one group; a warp takes 32 keys, and a lane 4 values of each.
constexpr int WIDTH = 128, GROUP = 8, GROUPS = 4, QUERIES = GROUP * GROUPS;

__device__ __forceinline__ void score(const float4 *keys, const float4 *queries, float *scores, int tile, int group) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = tile * 256 + warp * 32;
    float4 query[GROUP];
#pragma unroll
    for (int q = 0; q < GROUP; ++q) query[q] = queries[(group * GROUP + q) * (WIDTH / 4) + lane];
#pragma unroll 1
    for (int four = 0; four < 32; four += 4) {
        float4 key[4];
        float kept = 0.0f;
#pragma unroll
        for (int k = 0; k < 4; ++k) key[k] = keys[(first + four + k) * (WIDTH / 4) + lane];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            float v[GROUP];
#pragma unroll
            for (int q = 0; q < GROUP; ++q)
                v[q] = key[k].x * query[q].x + key[k].y * query[q].y + (key[k].z * query[q].z + key[k].w * query[q].w);
            // Bits 4, 3 and 2 of the lane choose the query that it keeps.
#pragma unroll
            for (int half = 4; half > 0; half /= 2) {
                const bool upper = (lane & half * 4) != 0;
#pragma unroll
                for (int q = 0; q < half; ++q) {
                    const float sent = upper ? v[q] : v[q + half], own = upper ? v[q + half] : v[q];
                    v[q] = own + __shfl_xor_sync(0xffffffffu, sent, half * 4);
                }
            }
            v[0] += __shfl_xor_sync(0xffffffffu, v[0], 2);
            v[0] += __shfl_xor_sync(0xffffffffu, v[0], 1);
            if (lane % 4 == k) kept = v[0];
        }
        scores[(first + four + lane % 4) * QUERIES + group * GROUP + lane / 4] = kept;
    }
}

// Grid: 4 groups, tiles.
extern "C" __global__ void __launch_bounds__(256) groups_of_a_tile(const float4 *keys, const float4 *queries, float *scores) {
    score(keys, queries, scores, blockIdx.y, blockIdx.x);
}

// Grid: tiles, 4 groups.
extern "C" __global__ void __launch_bounds__(256) tiles_of_a_group(const float4 *keys, const float4 *queries, float *scores) {
    score(keys, queries, scores, blockIdx.x, blockIdx.y);
}

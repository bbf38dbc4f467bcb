// Light on points of four materials: each is lit by 32 lights in its own way. The materials of neighbours are unrelated.
constexpr int LIGHTS = 32;
__constant__ float4 c_lights[LIGHTS];

__device__ __forceinline__ float matt(float2 n) {
    float sum = 0.0f;
#pragma unroll 4
    for (int i = 0; i < LIGHTS; ++i) sum += c_lights[i].z * fmaxf(fmaf(n.x, c_lights[i].x, n.y * c_lights[i].y), 0.0f);
    return sum;
}

__device__ __forceinline__ float glossy(float2 n) {
    float sum = 0.0f;
#pragma unroll 4
    for (int i = 0; i < LIGHTS; ++i) {
        float d = fmaxf(fmaf(n.x, c_lights[i].x, n.y * c_lights[i].y), 0.0f);
        const float square = d * d, fourth = square * square;
        sum += c_lights[i].z * (d + fourth * fourth);
    }
    return sum;
}

__device__ __forceinline__ float metal(float2 n) {
    float sum = 0.0f;
#pragma unroll 4
    for (int i = 0; i < LIGHTS; ++i) {
        const float d = fmaf(n.x, c_lights[i].x, n.y * c_lights[i].y) * c_lights[i].w;
        sum += __fdividef(c_lights[i].z, fmaf(d, d, 1.0f));
    }
    return sum;
}

__device__ __forceinline__ float cloth(float2 n) {
    float sum = 0.0f;
#pragma unroll 4
    for (int i = 0; i < LIGHTS; ++i) {
        const float across = fmaf(n.x, c_lights[i].y, -n.y * c_lights[i].x);
        const float rim = across * across;
        sum += c_lights[i].z * fmaf(rim, fmaf(rim, c_lights[i].w, 0.5f), 0.25f) * fabsf(across);
    }
    return sum;
}

__device__ __forceinline__ float lit(int material, float2 n) {
    switch (material) {
    case 0: return matt(n);
    case 1: return glossy(n);
    case 2: return metal(n);
    default: return cloth(n);
    }
}

extern "C" __global__ void __launch_bounds__(512) shade_given(const int *__restrict__ materials, const float2 *__restrict__ normals, float *__restrict__ y) {
    const int at = blockIdx.x * 512 + threadIdx.x;
    y[at] = lit(materials[at], normals[at]);
}

// The points of a block in the order of their materials.
extern "C" __global__ void __launch_bounds__(512) shade_sorted(const int *__restrict__ materials, const float2 *__restrict__ normals, float *__restrict__ y) {
    __shared__ int counts[4], order[512], kinds[512];
    __shared__ float results[512];
    __shared__ float2 points[512];
    const int at = blockIdx.x * 512 + threadIdx.x, lane = threadIdx.x % 32, material = materials[at];
    points[threadIdx.x] = normals[at];
    if (threadIdx.x < 4) counts[threadIdx.x] = 0;
    __syncthreads();
    // Those of a warp with one material take their places together.
    const unsigned same = __match_any_sync(0xffffffffu, material);
    int place = 0;
    if (lane == __ffs(same) - 1) place = atomicAdd(&counts[material], __popc(same));
    place = __shfl_sync(0xffffffffu, place, __ffs(same) - 1) + __popc(same & ((1u << lane) - 1u));
    __syncthreads();
    for (int m = 0; m < material; ++m) place += counts[m];
    order[place] = threadIdx.x;
    kinds[place] = material;
    __syncthreads();
    const int own = order[threadIdx.x];
    results[own] = lit(kinds[threadIdx.x], points[own]);
    __syncthreads();
    y[at] = results[threadIdx.x];
}

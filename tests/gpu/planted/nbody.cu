// Accelerations of N bodies, x, y, z and weight each, with softening. The grid's y axis splits the sources; `pull` is 0 before the
// launch. A block takes 256 targets. N is a multiple of 4096.
constexpr int THREADS = 256;

template <bool DOUBLE> __device__ __forceinline__ float inverse(float square) {
    if constexpr (DOUBLE) return rsqrtf(square + 0.01);
    else return rsqrtf(square + 0.01f);
}

template <bool DOUBLE> __device__ __forceinline__ void attract(const float4 *bodies, float *pull, int N) {
    __shared__ float4 tile[THREADS];
    const int target = blockIdx.x * THREADS + threadIdx.x, part = N / gridDim.y, begin = blockIdx.y * part;
    const float4 own = bodies[target];
    float x = 0.0f, y = 0.0f, z = 0.0f;
#pragma unroll 1
    for (int first = begin; first < begin + part; first += THREADS) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < THREADS; ++j) {
            const float4 other = tile[j];
            const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            const float r = inverse<DOUBLE>(fmaf(dx, dx, fmaf(dy, dy, dz * dz)));
            const float strength = other.w * r * (r * r);
            x = fmaf(strength, dx, x);
            y = fmaf(strength, dy, y);
            z = fmaf(strength, dz, z);
        }
        __syncthreads();
    }
    if (gridDim.y == 1) {
        pull[target * 3] = x;
        pull[target * 3 + 1] = y;
        pull[target * 3 + 2] = z;
    } else {
        atomicAdd(&pull[target * 3], x);
        atomicAdd(&pull[target * 3 + 1], y);
        atomicAdd(&pull[target * 3 + 2], z);
    }
}

#define ENTRY(NAME, DOUBLE)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME(const float4 *bodies, float *pull, int N) { \
        attract<DOUBLE>(bodies, pull, N);                                                                 \
    }
ENTRY(nbody_split, false)
ENTRY(nbody_split_literal, true)
ENTRY(nbody_whole, false)
ENTRY(nbody_whole_literal, true)

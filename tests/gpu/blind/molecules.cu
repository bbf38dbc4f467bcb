// Lennard-Jones forces and energies in a batch of molecules of N atoms, all pairs of a molecule:
//     u(r) = 4 e (q^12 - q^6),  q = sigma / sqrt(r^2 + soft),  e = 0.1 * strength of the other atom.
// atoms[b, i] is x, y, z, strength; forces[b, i] is the force along x, y, z and the energy.

struct Steep {
    static __device__ float sixth(float q) { return powf(q, 6.0f); }
    static __device__ float twelfth(float q) { return powf(q, 12.0f); }
};

struct Product {
    static __device__ float sixth(float q) { return (q * q) * (q * q) * (q * q); }
    static __device__ float twelfth(float q) { return sixth(q) * sixth(q); }
};

// Grid: N / 128, molecules. Block: 128, an atom a thread; the others pass through shared memory in tiles of 128.
template <class Power>
__device__ __forceinline__ void forces_of_tiles(const float4 *atoms, float4 *forces, int N, float sigma, float soft) {
    __shared__ float4 tile[128];
    const float4 *const molecule = atoms + static_cast<size_t>(blockIdx.y) * N;
    const int own = blockIdx.x * 128 + threadIdx.x;
    const float4 me = molecule[own];
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int first = 0; first < N; first += 128) {
        __syncthreads();
        tile[threadIdx.x] = molecule[first + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < 128; ++j) {
            const float4 other = tile[j];
            const float dx = me.x - other.x, dy = me.y - other.y, dz = me.z - other.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + soft), q = sigma * inverse;
            const float strength = first + j == own ? 0.0f : 0.1f * other.w;
            const float six = strength * Power::sixth(q), twelve = strength * Power::twelfth(q);
            const float push = (48.0f * twelve - 24.0f * six) * inverse * inverse;
            sum.x += push * dx;
            sum.y += push * dy;
            sum.z += push * dz;
            sum.w += 4.0f * (twelve - six);
        }
    }
    forces[static_cast<size_t>(blockIdx.y) * N + own] = sum;
}

extern "C" __global__ void forces_a(const float4 *atoms, float4 *forces, int N, float sigma, float soft) { forces_of_tiles<Product>(atoms, forces, N, sigma, soft); }

extern "C" __global__ void forces_b(const float4 *atoms, float4 *forces, int N, float sigma, float soft) { forces_of_tiles<Steep>(atoms, forces, N, sigma, soft); }

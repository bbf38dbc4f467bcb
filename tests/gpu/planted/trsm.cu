// Triangular systems L X = B, L 32 x 32 and lower, B with 16 columns, stored by columns; the diagonal of L is raised by `shift`. A warp a system, a lane a
// row; 8 systems a block. COUNT is a multiple of 8.
constexpr int N = 32, SIDES = 16;

// LD: floats of a row in shared memory. 36 keeps rows aligned to 16 bytes.
template <int LD, bool BLOCKWISE> __device__ __forceinline__ void solve(const float *__restrict__ l, const float *__restrict__ b, float *__restrict__ x, float shift) {
    __shared__ __align__(16) float held[8][N * LD];
    __shared__ float known[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t system = static_cast<size_t>(blockIdx.x) * 8 + warp;
    float *const m = held[warp];
    for (int r = 0; r < N; ++r) m[r * LD + lane] = l[system * N * N + r * N + lane];
    __syncwarp();
    const float inverse = 1.0f / (m[lane * LD + lane] + shift);
    const float *const from = b + system * SIDES * N + lane;
    float *const to = x + system * SIDES * N + lane;
#pragma unroll 1
    for (int side = 0; side < SIDES; ++side) {
        float value = from[side * N];
#pragma unroll 4
        for (int j = 0; j < N; ++j) {
            float one;
            if constexpr (BLOCKWISE) {
                if (lane == j) known[warp] = value * inverse;
                __syncthreads();
                one = known[warp];
                __syncthreads();
            } else {
                one = __shfl_sync(0xffffffffu, value * inverse, j);
            }
            if (lane > j) value = fmaf(-m[lane * LD + j], one, value);
        }
        to[side * N] = value * inverse;
    }
}

#define ENTRY(NAME, LD, BLOCKWISE)                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256) NAME(const float *__restrict__ l, const float *__restrict__ b, float *__restrict__ x, float shift) { \
        solve<LD, BLOCKWISE>(l, b, x, shift);                                                                                                      \
    }
ENTRY(trsm_36_block, 36, true)
ENTRY(trsm_36_warp, 36, false)
ENTRY(trsm_33_block, 33, true)
ENTRY(trsm_33_warp, 33, false)

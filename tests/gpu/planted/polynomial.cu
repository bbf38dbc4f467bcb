// y = sum over j of c[k, DEGREE - 1 - j] * x^j, with the table k of the block: 16 tables, 1024 values a block of 128 threads.
// The tables are c[k, j] = -0.75 + (k * DEGREE + j) / 2048, exactly.
constexpr int THREADS = 128, EACH = 8, TABLES = 16, DEGREE = 192;

enum class Step { Fused, Unfused };

template <Step STEP> __device__ __forceinline__ float advance(float v, float x, float c) {
    return STEP == Step::Fused ? fmaf(v, x, c) : __fadd_rn(__fmul_rn(v, x), c);
}

// Coefficients from shared memory, four at a time, for eight values a thread.
template <Step STEP> __device__ __forceinline__ void from_shared(const float *x, const float *c, float *y) {
    __shared__ __align__(16) float table[DEGREE];
    for (int j = threadIdx.x; j < DEGREE; j += THREADS) table[j] = c[blockIdx.x % TABLES * DEGREE + j];
    __syncthreads();
    const int first = blockIdx.x * THREADS * EACH + threadIdx.x;
    float at[EACH], v[EACH] = {};
#pragma unroll
    for (int i = 0; i < EACH; ++i) at[i] = x[first + i * THREADS];
#pragma unroll 4
    for (int j = 0; j < DEGREE; j += 4) {
        const float4 four = *reinterpret_cast<const float4 *>(&table[j]);
        const float each[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int q = 0; q < 4; ++q)
#pragma unroll
            for (int i = 0; i < EACH; ++i) v[i] = advance<STEP>(v[i], at[i], each[q]);
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) y[first + i * THREADS] = v[i];
}

extern "C" __global__ void __launch_bounds__(THREADS) polynomial(const float *x, const float *c, float *y) {
    from_shared<Step::Fused>(x, c, y);
}

extern "C" __global__ void __launch_bounds__(THREADS) unfused(const float *x, const float *c, float *y) {
    from_shared<Step::Unfused>(x, c, y);
}

// All coefficients in registers, and one value at a time.
template <Step STEP> __device__ __forceinline__ void from_registers(const float *x, const float *c, float *y) {
    float table[DEGREE];
#pragma unroll
    for (int j = 0; j < DEGREE; ++j) table[j] = c[blockIdx.x % TABLES * DEGREE + j];
    const int first = blockIdx.x * THREADS * EACH + threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < EACH; ++i) {
        const float at = x[first + i * THREADS];
        float v = 0.0f;
#pragma unroll
        for (int j = 0; j < DEGREE; ++j) v = advance<STEP>(v, at, table[j]);
        y[first + i * THREADS] = v;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) hoarded(const float *x, const float *c, float *y) {
    from_registers<Step::Fused>(x, c, y);
}

extern "C" __global__ void __launch_bounds__(THREADS) hoarded_unfused(const float *x, const float *c, float *y) {
    from_registers<Step::Unfused>(x, c, y);
}

// A generated function for each table, with its coefficients in the code: 24 KiB each.
template <int TABLE> __device__ __noinline__ void from_code(const float *x, float *y) {
    const int first = blockIdx.x * THREADS * EACH + threadIdx.x;
    float at[EACH], v[EACH] = {};
#pragma unroll
    for (int i = 0; i < EACH; ++i) at[i] = x[first + i * THREADS];
#pragma unroll
    for (int j = 0; j < DEGREE; ++j) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) v[i] = fmaf(v[i], at[i], -0.75f + (TABLE * DEGREE + j) / 2048.0f);
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) y[first + i * THREADS] = v[i];
}

template <int TABLE> __device__ __forceinline__ void choose(const float *x, float *y) {
    if constexpr (TABLE < TABLES) {
        if (blockIdx.x % TABLES == TABLE) from_code<TABLE>(x, y);
        else choose<TABLE + 1>(x, y);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) baked(const float *x, const float *c, float *y) { choose<0>(x, y); }

// The right answers, computed plainly in double precision.
#include <cuda_fp16.h>

extern "C" __global__ void wave_reference(const float *x, const float *d, float *y, int N) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    double sum = 0.0;
    for (int k = 0; k < 4; ++k) sum += exp(-0.5 * (static_cast<double>(d[i]) - k) * (static_cast<double>(d[i]) - k));
    y[i] = sin(static_cast<double>(x[i])) * sum;
}

extern "C" __global__ void decode_reference(const unsigned char *codes, const float *scales, const float *book, __half *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = __double2half(static_cast<double>(scales[i / 1024]) * book[codes[i]]);
}

extern "C" __global__ void stencil_reference(const float *x, const float *w, float *y, int W, int T) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    double sum = 0.0;
    for (int dy = 0; dy < T; ++dy)
        for (int dx = 0; dx < T; ++dx) sum += static_cast<double>(w[dy * T + dx]) * x[(row + dy) * (W + T - 1) + column + dx];
    y[row * W + column] = sum;
}

extern "C" __global__ void product_reference(const __half *a, const __half *b, float *c, int N, int K) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    double sum = 0.0;
    for (int k = 0; k < K; ++k) sum += static_cast<double>(__half2float(a[row * K + k])) * __half2float(b[k * N + column]);
    c[row * N + column] = sum;
}

extern "C" __global__ void polynomial_reference(const float *x, const float *c, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float *const table = c + i / 1024 % 16 * 192;
    double v = 0.0;
    for (int j = 0; j < 192; ++j) v = v * x[i] + table[j];
    y[i] = v;
}

extern "C" __global__ void walk_reference(const int *next, const int *value, int *y, int NODES, int STRIDE, int HOPS) {
    const int walker = blockIdx.x * blockDim.x + threadIdx.x;
    int node = walker, sum = 0;
    for (int hop = 0; hop < HOPS; ++hop) {
        sum += value[node];
        node = next[node] % NODES;
    }
    y[walker] = sum;
}

// A block a group.
extern "C" __global__ void groups_reference(const int *keys, const float *values, int *total, float *peak, int N) {
    __shared__ int sum, largest;
    if (threadIdx.x == 0) sum = largest = 0;
    __syncthreads();
    int own_sum = 0;
    float own = 0.0f;
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        if (keys[i] % 64 != static_cast<int>(blockIdx.x)) continue;
        own_sum += static_cast<int>(floor(values[i] * 256.0));
        own = fmaxf(own, values[i]);
    }
    atomicAdd(&sum, own_sum);
    atomicMax(&largest, __float_as_int(own));
    __syncthreads();
    if (threadIdx.x != 0) return;
    total[blockIdx.x] = sum;
    peak[blockIdx.x] = __int_as_float(largest);
}

extern "C" __global__ void pairs_reference(const float *x, float *y) {
    __shared__ double parts[256];
    double sum = 0.0;
    for (int c = threadIdx.x; c <= static_cast<int>(blockIdx.x); c += 256) {
        const double apart = static_cast<double>(x[blockIdx.x]) - x[c], inside = fmax(0.0, 1.0 - apart * apart);
        sum += inside * inside;
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = parts[0];
}

extern "C" __global__ void kinds_reference(const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double a = x[i];
    double v = a;
    for (int step = 0; step < 64; ++step) {
        const double one = v * a + 0.125, two = (a - 0.5 * v) * a + 0.5, three = 0.25 * v + a;
        v = i % 4 == 0   ? 0.25 - a * (0.5 * (v * v + a) + a)
            : i % 4 == 1 ? 0.5 * (0.25 - one * one) + a
            : i % 4 == 2 ? two * two - 0.25
                         : 0.3 - 0.5 * (three * a + three);
    }
    y[i] = v;
}

// A block a row.
extern "C" __global__ void steps_reference(const float *x, float *y) {
    __shared__ double rows[2][1024];
    const int c = threadIdx.x;
    rows[0][c] = x[blockIdx.x * 1024 + c];
    __syncthreads();
    for (int step = 0; step < 12; ++step) {
        const double *const from = rows[step % 2];
        rows[(step + 1) % 2][c] = 0.25 * from[(c + 1023) % 1024] + 0.5 * from[c] + 0.25 * from[(c + 1) % 1024];
        __syncthreads();
    }
    y[blockIdx.x * 1024 + c] = rows[0][c];
}

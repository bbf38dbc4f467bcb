// The right answers, computed plainly in double precision.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// A thread a row of 2048.
extern "C" __global__ void norm_reference(const float *x, const float *r, const float *w, float *y) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const float *const a = x + static_cast<size_t>(row) * 2048, *const b = r + static_cast<size_t>(row) * 2048;
    double sum = 0.0;
    for (int c = 0; c < 2048; ++c) {
        const double h = static_cast<double>(a[c]) + b[c];
        sum += h * h;
    }
    const double scale = 1.0 / sqrt(sum / 2048 + 1e-5);
    for (int c = 0; c < 2048; ++c) y[static_cast<size_t>(row) * 2048 + c] = (static_cast<double>(a[c]) + b[c]) * scale * w[c];
}

extern "C" __global__ void permute_reference(const float *x, float *y, int S, int C) {
    const int s = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
    const size_t batch = static_cast<size_t>(blockIdx.z) * S * C;
    y[batch + c * S + s] = x[batch + s * C + c];
}

// A block of 32 threads a key.
extern "C" __global__ void search_reference(const float *keys, const float *queries, float *scores) {
    double sum = 0.0;
    for (int k = 0; k < 128; ++k) sum += static_cast<double>(keys[blockIdx.x * 128 + k]) * queries[threadIdx.x * 128 + k];
    scores[blockIdx.x * 32 + threadIdx.x] = sum;
}

// A thread a row: the largest value that is below the last one, with ties counted.
extern "C" __global__ void topk_reference(const float *x, float *y, int N) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const float *const from = x + static_cast<size_t>(row) * N;
    float last = INFINITY;
    for (int k = 0; k < 8;) {
        float largest = -INFINITY;
        int times = 0;
        for (int c = 0; c < N; ++c) {
            if (from[c] < last && from[c] > largest) largest = from[c], times = 0;
            if (from[c] == largest) ++times;
        }
        for (; times > 0 && k < 8; --times, ++k) y[row * 8 + k] = largest;
        last = largest;
    }
}

// A thread a row of 1024.
extern "C" __global__ void scan_reference(const int *x, int *y) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int c = 0; c < 1024; ++c) y[row * 1024 + c] = sum += x[row * 1024 + c];
}

// Grid: rows, channels, taps. A thread a column.
extern "C" __global__ void im2col_reference(const float *x, float *columns, int C, int H, int W, int K) {
    const int c = blockIdx.y, row = blockIdx.x, column = threadIdx.x, i = blockIdx.z / K, j = blockIdx.z % K;
    const int r = row + i - 1, k = column + j - 1;
    columns[((c * K * K + i * K + j) * H + row) * W + column] = r < 0 || r >= H || k < 0 || k >= W ? 0.0f : x[(c * H + r) * W + k];
}

extern "C" __global__ void rownorm_reference(const float *x, float *y, int COLUMNS) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0.0;
    for (int c = 0; c < COLUMNS; ++c) {
        const double v = x[static_cast<size_t>(row) * COLUMNS + c];
        sum += v * v;
    }
    y[row] = sum;
}

// Grid: X / 32, Y, Z.
extern "C" __global__ void conv3d_reference(const float *x, const float *w, float *y, int X, int Y) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y, z = blockIdx.z;
    double sum = 0.0;
    for (int dz = 0; dz < 3; ++dz)
        for (int dr = 0; dr < 3; ++dr)
            for (int dc = 0; dc < 3; ++dc)
                sum += static_cast<double>(w[dz * 9 + dr * 3 + dc]) * x[(static_cast<size_t>(z + dz) * (Y + 2) + r + dr) * (X + 2) + c + dc];
    y[(static_cast<size_t>(z) * Y + r) * X + c] = sum;
}

// Rounding decides near the border, and so this rounds as the kernels do.
extern "C" __global__ void escape_reference(const float *across, const float *down, int *counts, int W) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    float a = 0.0f, b = 0.0f;
    int n = 0;
    while (n < 256 && __fadd_rn(__fmul_rn(a, a), __fmul_rn(b, b)) <= 4.0f) {
        const float next = __fadd_rn(__fsub_rn(__fmul_rn(a, a), __fmul_rn(b, b)), across[column]);
        b = fmaf(__fadd_rn(a, a), b, down[row]);
        a = next;
        ++n;
    }
    counts[row * W + column] = n;
}

extern "C" __global__ void matmul_reference(const __half *a, const __half *b, float *c, int N, int K) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    double sum = 0.0;
    for (int k = 0; k < K; ++k) sum += static_cast<double>(__half2float(a[row * K + k])) * __half2float(b[k * N + column]);
    c[row * N + column] = sum;
}

extern "C" __global__ void tone_reference(const unsigned char *x, unsigned char *y, float gain) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double linear = gain * pow(x[i] / 255.0, 2.2);
    y[i] = static_cast<unsigned char>(floor(255.0 * pow(linear / (1.0 + linear), 1.0 / 2.2) + 0.5));
}

extern "C" __global__ void pose_reference(const float *q, const float *p, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double x = q[i * 4], y = q[i * 4 + 1], z = q[i * 4 + 2], w = q[i * 4 + 3], s = 2.0 / (x * x + y * y + z * z + w * w);
    const double m[16] = {1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y), p[i * 4],
                          s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x), p[i * 4 + 1],
                          s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y), p[i * 4 + 2], 0, 0, 0, 1};
    for (int k = 0; k < 16; ++k) out[static_cast<size_t>(i) * 16 + k] = m[k];
}

// A block of 256 threads a row.
extern "C" __global__ void xent_reference(const __nv_bfloat16 *logits, const int *labels, float *loss, int V) {
    __shared__ double parts[256];
    const __nv_bfloat16 *const row = logits + static_cast<size_t>(blockIdx.x) * V;
    double sum = 0.0;
    for (int c = threadIdx.x; c < V; c += 256) sum += exp(static_cast<double>(__bfloat162float(row[c])));
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    sum = 0.0;
    for (int i = 0; i < 256; ++i) sum += parts[i];
    loss[blockIdx.x] = log(sum) - __bfloat162float(row[labels[blockIdx.x]]);
}

// Grid: N / 4 / 256 blocks; a thread a counter.
extern "C" __global__ void dropout_reference(const __half *x, __half *y, int N, unsigned seed) {
    const unsigned counter = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned c[4] = {counter, 0u, 0u, 0u}, k[2] = {seed, 0u};
    for (int round = 0; round < 10; ++round) {
        const unsigned long long one = 0xD2511F53ull * c[0], two = 0xCD9E8D57ull * c[2];
        const unsigned next[4] = {static_cast<unsigned>(two >> 32) ^ c[1] ^ k[0], static_cast<unsigned>(two),
                                  static_cast<unsigned>(one >> 32) ^ c[3] ^ k[1], static_cast<unsigned>(one)};
        for (int i = 0; i < 4; ++i) c[i] = next[i];
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; ++i) {
        const size_t at = static_cast<size_t>(i) * (N / 4) + counter;
        y[at] = __float2half_rn(c[i] < 858993459u ? 0.0f : 1.25f * __half2float(x[at]));
    }
}

extern "C" __global__ void spmv_reference(const int *starts, const int *columns, const float *values, const float *x, float *y, int ROWS) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS) return;
    double sum = 0.0;
    for (int at = starts[row]; at < starts[row + 1]; ++at) sum += static_cast<double>(values[at]) * x[columns[at]];
    y[row] = sum;
}

// A block of 128 threads a row.
extern "C" __global__ void gemv_reference(const unsigned char *codes, const __half *scales, const float *x, float *y, int K) {
    __shared__ double parts[128];
    const size_t row = blockIdx.x;
    double sum = 0.0;
    for (int k = threadIdx.x; k < K; k += 128) {
        const int code = codes[row * (K / 2) + k / 2] >> (k % 2 * 4) & 15;
        sum += static_cast<double>(__half2float(scales[row * (K / 32) + k / 32])) * (code - 8) * x[k];
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    sum = 0.0;
    for (int i = 0; i < 128; ++i) sum += parts[i];
    y[row] = sum;
}

// A block of 128 threads a body.
extern "C" __global__ void nbody_reference(const float *bodies, float *pull, int N) {
    __shared__ double parts[3][128];
    const float *const own = bodies + blockIdx.x * 4;
    double sum[3] = {};
    for (int j = threadIdx.x; j < N; j += 128) {
        double d[3], square = 0.01;
        for (int k = 0; k < 3; ++k) {
            d[k] = static_cast<double>(bodies[j * 4 + k]) - own[k];
            square += d[k] * d[k];
        }
        const double strength = bodies[j * 4 + 3] / (square * sqrt(square));
        for (int k = 0; k < 3; ++k) sum[k] += strength * d[k];
    }
    for (int k = 0; k < 3; ++k) parts[k][threadIdx.x] = sum[k];
    __syncthreads();
    if (threadIdx.x >= 3) return;
    double total = 0.0;
    for (int i = 0; i < 128; ++i) total += parts[threadIdx.x][i];
    pull[blockIdx.x * 3 + threadIdx.x] = total;
}

extern "C" __global__ void blur_reference(const float *x, float *y, int W) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    double sum = 0.0, weight = 1.0;
    for (int k = 0; k < 9; ++k) {
        sum += weight * x[row * (W + 8) + column + k];
        weight = weight * (8 - k) / (k + 1);
    }
    y[row * W + column] = sum / 256.0;
}

// A thread a row of 32.
extern "C" __global__ void softback_reference(const float *y, const float *dy, float *dx) {
    const size_t first = (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 32;
    double sum = 0.0;
    for (int c = 0; c < 32; ++c) sum += static_cast<double>(y[first + c]) * dy[first + c];
    for (int c = 0; c < 32; ++c) dx[first + c] = y[first + c] * (dy[first + c] - sum);
}

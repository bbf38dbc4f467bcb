// The right answers, computed plainly in double precision.
#include <cuda_fp16.h>

extern "C" __global__ void jacobi_reference(const float *u, const float *f, float *v, int N, float h2) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, at = row * N + column;
    if (row == 0 || column == 0 || row == N - 1 || column == N - 1)
        v[at] = u[at];
    else
        v[at] = (static_cast<double>(u[at - N]) + u[at + N] + u[at - 1] + u[at + 1] + static_cast<double>(h2) * f[at]) / 4;
}

// Grid: W / 32, H / 64. A thread a tile's bin; orientation in integers, so that every kernel chooses the same bin.
extern "C" __global__ void orient_reference(const int *image, float *histogram, int H, int W) {
    const int sines[8] = {0, 392, 724, 946, 1024, 946, 724, 392}, cosines[8] = {1024, 946, 724, 392, 0, -392, -724, -946};
    double sum = 0.0;
    for (int row = blockIdx.y * 64; row < static_cast<int>(blockIdx.y) * 64 + 64; ++row)
        for (int column = blockIdx.x * 32; column < static_cast<int>(blockIdx.x) * 32 + 32; ++column) {
            int gx = image[row * W + min(column + 1, W - 1)] - image[row * W + max(column - 1, 0)];
            int gy = image[min(row + 1, H - 1) * W + column] - image[max(row - 1, 0) * W + column];
            const double size = sqrt(static_cast<double>(gx * gx + gy * gy));
            if (gy < 0 || (gy == 0 && gx < 0)) gx = -gx, gy = -gy;
            int bin = 0;
            for (int k = 1; k < 8; ++k) bin += gy * cosines[k] >= gx * sines[k];
            if (bin == static_cast<int>(threadIdx.x)) sum += size;
        }
    histogram[(blockIdx.y * gridDim.x + blockIdx.x) * 8 + threadIdx.x] = sum;
}

// One block; N is 512.
__device__ double heat_plates[2][512 * 512];

extern "C" __global__ void heat_reference(const float *u, float *y, int N) {
    for (int at = threadIdx.x; at < N * N; at += blockDim.x) heat_plates[0][at] = u[at];
    __syncthreads();
    for (int step = 0; step < 32; ++step) {
        const double *const from = heat_plates[step % 2];
        double *const to = heat_plates[(step + 1) % 2];
        for (int at = threadIdx.x; at < N * N; at += blockDim.x) {
            const int row = at / N, column = at % N;
            double around = -4 * from[at];
            if (row > 0) around += from[at - N];
            if (row + 1 < N) around += from[at + N];
            if (column > 0) around += from[at - 1];
            if (column + 1 < N) around += from[at + 1];
            to[at] = from[at] + 0.2 * around;
        }
        __syncthreads();
    }
    for (int at = threadIdx.x; at < N * N; at += blockDim.x) y[at] = heat_plates[0][at];
}

// Grid: S. A thread a pair of a position.
extern "C" __global__ void rope_reference(const __half *q, __half *y, int S, int H, float base) {
    const int s = blockIdx.x, i = threadIdx.x;
    const double angle = s * pow(static_cast<double>(base), -2.0 * i / 128), cosine = cos(angle), sine = sin(angle);
    for (int h = 0; h < H; ++h) {
        const size_t at = (static_cast<size_t>(s) * H + h) * 128 + 2 * i;
        const double a = __half2float(q[at]), b = __half2float(q[at + 1]);
        y[at] = __float2half_rn(static_cast<float>(a * cosine - b * sine));
        y[at + 1] = __float2half_rn(static_cast<float>(a * sine + b * cosine));
    }
}

extern "C" __global__ void palette_reference(const unsigned char *x, unsigned *y, const unsigned *colours) {
    const size_t at = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    y[at] = colours[x[at]];
}

// A thread a matrix.
extern "C" __global__ void cholesky_reference(const float *a, float *l, int n, float shift) {
    const size_t first = (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 64;
    double m[8][8];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            if (j > i) {
                l[first + i * 8 + j] = 0.0f;
                continue;
            }
            double sum = a[first + i * 8 + j] + (i == j ? static_cast<double>(shift) : 0.0);
            for (int k = 0; k < j; ++k) sum -= m[i][k] * m[j][k];
            m[i][j] = i == j ? sqrt(sum) : sum / m[j][j];
            l[first + i * 8 + j] = m[i][j];
        }
}

extern "C" __global__ void covariance_reference(const float *x, float *c, int N, int K) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    double sum = 0.0;
    for (int k = 0; k < K; ++k) sum += static_cast<double>(x[static_cast<size_t>(k) * N + row]) * x[static_cast<size_t>(k) * N + column];
    c[static_cast<size_t>(row) * N + column] = sum / K;
}

// Grid: P / 128, 128, groups.
extern "C" __global__ void groupconv_reference(const __half *w, const __half *x, float *y, int P) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x, o = blockIdx.y, g = blockIdx.z;
    double sum = 0.0;
    for (int c = 0; c < 128; ++c)
        sum += static_cast<double>(__half2float(w[(g * 128 + o) * 128 + c])) * __half2float(x[(static_cast<size_t>(g) * 128 + c) * P + p]);
    y[(static_cast<size_t>(g) * 128 + o) * P + p] = sum;
}

// A block of 256 threads for 4096 places.
extern "C" __global__ void needle_reference(const unsigned char *text, const unsigned char *word, int *counts) {
    __shared__ int parts[256];
    const unsigned char *const from = text + (static_cast<size_t>(blockIdx.x) * 256 + threadIdx.x) * 16;
    int own = 0;
    for (int at = 0; at < 16; ++at) {
        int k = 0;
        while (k < 8 && from[at + k] == word[k]) ++k;
        if (k == 8) ++own;
    }
    parts[threadIdx.x] = own;
    __syncthreads();
    if (threadIdx.x != 0) return;
    own = 0;
    for (int i = 0; i < 256; ++i) own += parts[i];
    counts[blockIdx.x] = own;
}

// Grid: 8, B. Block: 256. Scores are small enough for exponentials without a maximum.
extern "C" __global__ void decode_reference(const float *q, const __half *k, const __half *v, const int *starts, float *y) {
    __shared__ double values[64];
    __shared__ double weights[256];
    const int head = blockIdx.x, b = blockIdx.y, first = starts[b], last = starts[b + 1];
    const float *const query = q + (b * 8 + head) * 64;
    double sum = 0.0, value = 0.0;
    for (int chunk = first; chunk < last; chunk += 256) {
        const int token = chunk + threadIdx.x;
        double weight = 0.0;
        if (token < last) {
            double score = 0.0;
            for (int d = 0; d < 64; ++d) score += static_cast<double>(query[d]) * __half2float(k[(static_cast<size_t>(token) * 8 + head) * 64 + d]);
            weight = exp(score / 8);
        }
        weights[threadIdx.x] = weight;
        __syncthreads();
        if (threadIdx.x < 64)
            for (int t = 0; t < 256 && chunk + t < last; ++t) {
                sum += weights[t];
                value += weights[t] * __half2float(v[(static_cast<size_t>(chunk + t) * 8 + head) * 64 + threadIdx.x]);
            }
        __syncthreads();
    }
    if (threadIdx.x < 64) values[threadIdx.x] = sum > 0.0 ? value / sum : 0.0;
    __syncthreads();
    if (threadIdx.x < 64) y[(b * 8 + head) * 64 + threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void shade_reference(const int *materials, const float *normals, const float *lights, float *y) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x, material = materials[at];
    const double nx = normals[2 * at], ny = normals[2 * at + 1];
    double sum = 0.0;
    for (int i = 0; i < 32; ++i) {
        const double x = lights[4 * i], yy = lights[4 * i + 1], z = lights[4 * i + 2], w = lights[4 * i + 3];
        const double along = nx * x + ny * yy, across = fabs(nx * yy - ny * x), lit = along > 0.0 ? along : 0.0;
        if (material == 0) sum += z * lit;
        if (material == 1) sum += z * (lit + pow(lit, 8.0));
        if (material == 2) sum += z / (1.0 + along * along * w * w);
        if (material == 3) sum += z * across * (0.25 + across * across * (0.5 + across * across * w));
    }
    y[at] = sum;
}

extern "C" __global__ void series_reference(const float *x, const float *coefficients, float *y, int K) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0.0;
    for (int k = 0; k < K; ++k) sum = sum * x[at] + coefficients[k];
    y[at] = sum;
}

extern "C" __global__ void paged_reference(const int *wanted, const int *pages, const float *store, float *y) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    y[at] = store[pages[wanted[at] / 64] * 64 + wanted[at] % 64];
}

extern "C" __global__ void calibrate_reference(const float *x, const float *curve, float *y, int KNOTS) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const double place = static_cast<double>(x[at]) * (KNOTS - 1);
    int knot = static_cast<int>(floor(place));
    if (knot > KNOTS - 2) knot = KNOTS - 2;
    y[at] = curve[knot] + (place - knot) * (static_cast<double>(curve[knot + 1]) - curve[knot]);
}

// A thread a system of 6, by the definition of elimination with the largest pivot.
extern "C" __global__ void linsolve_reference(const float *a, const float *b, float *x, int COUNT, float shift) {
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    double m[6][7];
    for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < 6; ++j) m[i][j] = a[(i * 6 + j) * COUNT + s] + (i + j == 5 ? static_cast<double>(shift) : 0.0);
        m[i][6] = b[i * COUNT + s];
    }
    for (int k = 0; k < 6; ++k) {
        int pivot = k;
        for (int i = k + 1; i < 6; ++i)
            if (fabs(m[i][k]) > fabs(m[pivot][k])) pivot = i;
        for (int j = 0; j < 7; ++j) {
            const double kept = m[k][j];
            m[k][j] = m[pivot][j];
            m[pivot][j] = kept;
        }
        for (int i = 0; i < 6; ++i) {
            if (i == k) continue;
            const double factor = m[i][k] / m[k][k];
            for (int j = k; j < 7; ++j) m[i][j] -= factor * m[k][j];
        }
    }
    for (int i = 0; i < 6; ++i) x[i * COUNT + s] = m[i][6] / m[i][i];
}

// A thread a row of 1024.
extern "C" __global__ void sample_reference(const int *weights, const unsigned *draws, int *chosen) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int *const from = weights + static_cast<size_t>(row) * 1024;
    long long total = 0, sum = 0;
    for (int c = 0; c < 1024; ++c) total += from[c];
    const long long target = draws[row] % (total > 0 ? total : 1);
    int choice = 1023;
    for (int c = 1023; c >= 0; --c) {
        sum += from[c];
        if (total - sum <= target && target < total - sum + from[c]) choice = c;
    }
    chosen[row] = choice;
}

// One block of 1024.
extern "C" __global__ void equalise_reference(const unsigned char *x, unsigned char *y, int N) {
    __shared__ int counts[32][256];
    __shared__ unsigned char table[256];
    for (int at = threadIdx.x; at < 32 * 256; at += 1024) counts[at / 256][at % 256] = 0;
    __syncthreads();
    for (int at = threadIdx.x; at < N / 16; at += 1024) {
        const uint4 in = reinterpret_cast<const uint4 *>(x)[at];
        const unsigned words[4] = {in.x, in.y, in.z, in.w};
        for (int w = 0; w < 4; ++w)
            for (int b = 0; b < 4; ++b) atomicAdd(&counts[threadIdx.x / 32][words[w] >> (8 * b) & 255u], 1);
    }
    __syncthreads();
    if (threadIdx.x < 256) {
        int sum = 0;
        for (int w = 0; w < 32; ++w) sum += counts[w][threadIdx.x];
        counts[0][threadIdx.x] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 256) {
        long long sum = 0;
        for (int v = 0; v <= static_cast<int>(threadIdx.x); ++v) sum += counts[0][v];
        table[threadIdx.x] = 255 * sum / N;
    }
    __syncthreads();
    for (int at = threadIdx.x; at < N / 4; at += 1024) {
        const uchar4 four = reinterpret_cast<const uchar4 *>(x)[at];
        reinterpret_cast<uchar4 *>(y)[at] = make_uchar4(table[four.x], table[four.y], table[four.z], table[four.w]);
    }
}

extern "C" __global__ void sobel_reference(const short *x, float *y, int H, int W, float gain) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    double gx = 0.0, gy = 0.0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j) {
            const double value = x[min(max(row + i, 0), H - 1) * W + min(max(column + j, 0), W - 1)];
            gx += value * j * (2 - abs(i));
            gy += value * i * (2 - abs(j));
        }
    y[row * W + column] = sqrt(1e-12 + (gx * gx + gy * gy) * 1e-6) / 4 * gain;
}

// Grid: systems. A thread a column of 16.
extern "C" __global__ void trsm_reference(const float *l, const float *b, float *x, float shift) {
    const float *const m = l + static_cast<size_t>(blockIdx.x) * 1024;
    const size_t first = (static_cast<size_t>(blockIdx.x) * 16 + threadIdx.x) * 32;
    double known[32];
    for (int i = 0; i < 32; ++i) {
        double sum = b[first + i];
        for (int j = 0; j < i; ++j) sum -= m[i * 32 + j] * known[j];
        known[i] = sum / (m[i * 32 + i] + static_cast<double>(shift));
        x[first + i] = known[i];
    }
}

// A block of 256 threads a column.
extern "C" __global__ void standardise_reference(const float *x, float *y, int R, int C) {
    __shared__ double parts[2][256];
    double sum = 0.0, squares = 0.0;
    for (int r = threadIdx.x; r < R; r += 256) {
        const double value = x[static_cast<size_t>(r) * C + blockIdx.x];
        sum += value;
        squares += value * value;
    }
    parts[0][threadIdx.x] = sum;
    parts[1][threadIdx.x] = squares;
    __syncthreads();
    sum = squares = 0.0;
    for (int i = 0; i < 256; ++i) sum += parts[0][i], squares += parts[1][i];
    const double mean = sum / R, scale = 1.0 / sqrt(squares / R - mean * mean + 1e-5);
    for (int r = threadIdx.x; r < R; r += 256) y[static_cast<size_t>(blockIdx.x) * R + r] = (x[static_cast<size_t>(r) * C + blockIdx.x] - mean) * scale;
}

// The right answers, computed plainly in double precision.
#include <cuda_fp16.h>

extern "C" __global__ void projection_reference(const float *x, const float *weights, float *y, int D, int H, int W) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    double brightest = -1e300;
    for (int d = 0; d < D; ++d) brightest = fmax(brightest, static_cast<double>(weights[d]) * x[static_cast<size_t>(d) * H * W + at]);
    y[at] = brightest;
}

// Grid: N / 128, molecules.
extern "C" __global__ void forces_reference(const float4 *atoms, float4 *forces, int N, float sigma, float soft) {
    const int own = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 *const molecule = atoms + static_cast<size_t>(blockIdx.y) * N;
    const float4 me = molecule[own];
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (int j = 0; j < N; ++j) {
        if (j == own) continue;
        const float4 other = molecule[j];
        const double dx = static_cast<double>(me.x) - other.x, dy = static_cast<double>(me.y) - other.y, dz = static_cast<double>(me.z) - other.z;
        const double squared = dx * dx + dy * dy + dz * dz + soft, ratio = static_cast<double>(sigma) * sigma / squared;
        const double six = ratio * ratio * ratio, energy = 0.1 * other.w;
        const double push = energy * (48.0 * six * six - 24.0 * six) / squared;
        sum[0] += push * dx;
        sum[1] += push * dy;
        sum[2] += push * dz;
        sum[3] += 4.0 * energy * (six * six - six);
    }
    forces[static_cast<size_t>(blockIdx.y) * N + own] = make_float4(sum[0], sum[1], sum[2], sum[3]);
}

// A block a label.
extern "C" __global__ void colours_reference(const unsigned char *pixels, const unsigned char *labels, int *sums, int P) {
    __shared__ int parts[256][4];
    int own[4] = {0, 0, 0, 0};
    for (int at = threadIdx.x; at < P; at += 256) {
        if (labels[at] != blockIdx.x) continue;
        for (int c = 0; c < 3; ++c) own[c] += pixels[static_cast<size_t>(c) * P + at];
        ++own[3];
    }
    for (int c = 0; c < 4; ++c) parts[threadIdx.x][c] = own[c];
    __syncthreads();
    if (threadIdx.x >= 4) return;
    int sum = 0;
    for (int t = 0; t < 256; ++t) sum += parts[t][threadIdx.x];
    sums[4 * blockIdx.x + threadIdx.x] = sum;
}

extern "C" __global__ void prices_reference(const float *x, float *y, int T, float period) {
    const size_t first = (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * T;
    double level = x[first];
    for (int t = 0; t < T; ++t) {
        level += (x[first + t] - level) / static_cast<double>(period);
        y[first + t] = level;
    }
}

// By ranks: the value with as many smaller ones as larger ones.
extern "C" __global__ void despeckle_reference(const float *x, float *y, int H, int W, int R) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, half = (2 * R + 1) * (2 * R + 1) / 2;
    for (int i = -R; i <= R; ++i)
        for (int j = -R; j <= R; ++j) {
            const float value = x[min(max(row + i, 0), H - 1) * W + min(max(column + j, 0), W - 1)];
            int below = 0, equal = 0;
            for (int k = -R; k <= R; ++k)
                for (int l = -R; l <= R; ++l) {
                    const float other = x[min(max(row + k, 0), H - 1) * W + min(max(column + l, 0), W - 1)];
                    below += other < value;
                    equal += other == value;
                }
            if (below <= half && half < below + equal) y[row * W + column] = value;
        }
}

// By the definition. Grid: signals, 4. Block: 256, a frequency a thread.
extern "C" __global__ void spectra_reference(const float2 *z, float2 *y) {
    __shared__ double2 roots[1024];
    __shared__ float2 samples[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        sincospi(-i / 512.0, &roots[i].y, &roots[i].x);
        samples[i] = z[static_cast<size_t>(blockIdx.x) * 1024 + i];
    }
    __syncthreads();
    const int f = blockIdx.y * blockDim.x + threadIdx.x;
    double real = 0.0, imaginary = 0.0;
    for (int i = 0; i < 1024; ++i) {
        const double2 root = roots[i * f & 1023];
        real += samples[i].x * root.x - samples[i].y * root.y;
        imaginary += samples[i].x * root.y + samples[i].y * root.x;
    }
    y[static_cast<size_t>(blockIdx.x) * 1024 + f] = make_float2(real, imaginary);
}

// Grid: W / 64, H / 64. A thread a column of a tile, summed by the definition of each row.
extern "C" __global__ void areas_reference(const float *x, float *y, int W) {
    const size_t first = static_cast<size_t>(blockIdx.y) * 64 * W + blockIdx.x * 64;
    double sum = 0.0;
    for (int r = 0; r < 64; ++r) {
        for (int c = 0; c <= static_cast<int>(threadIdx.x); ++c) sum += x[first + static_cast<size_t>(r) * W + c];
        y[first + static_cast<size_t>(r) * W + threadIdx.x] = sum;
    }
}

// Every start of a run.
extern "C" __global__ void proteins_reference(const unsigned char *query, const unsigned char *database, const int *matrix, int *best, int L) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    int largest = 0;
    for (int from = 0; from < L; ++from) {
        int run = 0;
        for (int i = from; i < L; ++i) {
            run += matrix[query[i] * 24 + database[at + i]];
            largest = max(largest, run);
            if (run < 0) break;
        }
    }
    best[at] = largest;
}

__device__ double normal_by_polynomial(double d) {
    const double k = 1.0 / (1.0 + 0.2316419 * fabs(d));
    const double tail = 0.39894228040143268 * exp(-0.5 * d * d) *
                        (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
    return d > 0.0 ? 1.0 - tail : tail;
}

extern "C" __global__ void options_reference(const float *contracts, float *prices, int N, float rate, float volatility) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const double spot = contracts[at], strike = contracts[N + at], years = contracts[2 * N + at], r = rate, sigma = volatility;
    const double spread = sigma * sqrt(years), d1 = (log(spot / strike) + (r + 0.5 * sigma * sigma) * years) / spread;
    const double present = strike * exp(-r * years), n1 = normal_by_polynomial(d1), n2 = normal_by_polynomial(d1 - spread);
    prices[at] = spot * n1 - present * n2;
    prices[N + at] = present * (1.0 - n2) - spot * (1.0 - n1);
}

extern "C" __global__ void branch_reference(const __half *x, const __half *bias, const __half *residual, __half *y, int N, float scale) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const double value = static_cast<double>(__half2float(x[at])) + __half2float(bias[at % N]);
    y[at] = __float2half_rn(static_cast<float>(__half2float(residual[at]) + static_cast<double>(scale) * value / (1.0 + exp(-value))));
}

extern "C" __global__ void kendall_reference(const float *x, const float *y, int *net, int N) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = 0;
    for (int j = i + 1; j < N; ++j) {
        if (x[i] == x[j] || y[i] == y[j]) continue;
        count += (x[i] > x[j]) == (y[i] > y[j]) ? 1 : -1;
    }
    net[i] = count;
}

extern "C" __global__ void asian_reference(const unsigned *seeds, float *payoffs, float drift, float width) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = seeds[at] | 1u;
    double price = 1.0, sum = 0.0, numbers[2];
    for (int t = 0; t < 504; ++t) {
        for (int k = 0; k < 2; ++k) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            numbers[k] = (static_cast<double>(state >> 8) + 0.5) / 16777216.0;
        }
        price *= exp(drift + width * sqrt(-2.0 * log(numbers[0])) * -cospi(2.0 * numbers[1]));
        sum += price;
    }
    payoffs[at] = fmax(sum / 504 - 1.0, 0.0);
}

extern "C" __global__ void equaliser_reference(const float *x, const float *bands, float *y, int T, int S) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    double first[4] = {}, second[4] = {};
    for (int t = 0; t < T; ++t) {
        double value = x[static_cast<size_t>(t) * S + channel];
        for (int f = 0; f < 4; ++f) {
            const float *const band = bands + 5 * f;
            const double in = value;
            value = (1.0 + band[0]) * in + first[f];
            first[f] = band[1] * in - band[3] * value + second[f];
            second[f] = band[2] * in - band[4] * value;
        }
        y[static_cast<size_t>(t) * S + channel] = value;
    }
}

// Grid: H. A thread a pixel.
extern "C" __global__ void march_reference(const float *solids, const int *kinds, float *y, int H, int W) {
    const int c = threadIdx.x, r = blockIdx.x;
    const double dx = (c + 0.5) / W - 0.5, dy = (r + 0.5) / H - 0.5, length = sqrt(dx * dx + dy * dy + 1.0);
    double depth = 0.0;
    for (int step = 0; step < 24; ++step) {
        double nearest = 20.0;
        for (int i = 0; i < 8; ++i) {
            const double x = depth * dx / length + 2.0 - 4.0 * solids[4 * i], up = depth * dy / length + 2.0 - 4.0 * solids[4 * i + 1];
            const double z = depth / length - 3.0 - 4.0 * solids[4 * i + 2], size = 0.3 + 0.5 * solids[4 * i + 3];
            const double flat = sqrt(x * x + z * z);
            double distance = flat - 0.5 * size;
            if (kinds[i] == 0) distance = sqrt(x * x + up * up + z * z) - size;
            if (kinds[i] == 1) {
                const double ax = fabs(x) - size, ay = fabs(up) - size, az = fabs(z) - size;
                const double ox = fmax(ax, 0.0), oy = fmax(ay, 0.0), oz = fmax(az, 0.0);
                distance = sqrt(ox * ox + oy * oy + oz * oz) + fmin(fmax(ax, fmax(ay, az)), 0.0);
            }
            if (kinds[i] == 2) distance = sqrt((flat - size) * (flat - size) + up * up) - 0.25 * size;
            nearest = fmin(nearest, distance);
        }
        depth = fmin(depth + nearest, 20.0);
    }
    y[r * W + c] = depth;
}

// A block of 1024 a channel.
extern "C" __global__ void channels_reference(const float *x, float *stats, int P) {
    __shared__ double parts[2][1024];
    double sum = 0.0, squares = 0.0;
    for (int i = threadIdx.x; i < P; i += 1024) {
        const double value = x[static_cast<size_t>(blockIdx.x) * P + i];
        sum += value;
        squares += value * value;
    }
    parts[0][threadIdx.x] = sum;
    parts[1][threadIdx.x] = squares;
    __syncthreads();
    if (threadIdx.x != 0) return;
    sum = squares = 0.0;
    for (int t = 0; t < 1024; ++t) sum += parts[0][t], squares += parts[1][t];
    stats[2 * blockIdx.x] = sum / P;
    stats[2 * blockIdx.x + 1] = squares / P - sum / P * (sum / P);
}

extern "C" __global__ void neighbours_reference(const signed char *vectors, const signed char *queries, int *largest) {
    const size_t own = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    int highest = -2147483647;
    for (int q = 0; q < 32; ++q) {
        int sum = 0;
        for (int k = 0; k < 128; ++k) sum += vectors[own * 128 + k] * queries[q * 128 + k];
        highest = max(highest, sum);
    }
    largest[own] = highest;
}

// A thread a lag.
extern "C" __global__ void speech_reference(const float *x, float *r) {
    const float *const frame = x + static_cast<size_t>(blockIdx.x) * 256;
    double sum = 0.0;
    for (int t = 0; t + static_cast<int>(threadIdx.x) < 256; ++t) sum += static_cast<double>(frame[t]) * frame[t + threadIdx.x];
    r[blockIdx.x * 13 + threadIdx.x] = sum;
}

// A block for 8192 nodes; every block passes over the edges.
extern "C" __global__ void degrees_reference(const int *targets, int *degrees, int E) {
    __shared__ int counts[8192];
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    for (int edge = threadIdx.x; edge < E; edge += blockDim.x)
        if (targets[edge] / 8192 == static_cast<int>(blockIdx.x)) atomicAdd(&counts[targets[edge] % 8192], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) degrees[blockIdx.x * 8192 + i] = counts[i];
}

// Written with whole matrices: F p F^T + q, then (1 - K H) p.
extern "C" __global__ void tracks_reference(const float *states, const float *covariances, const float *measured, float *new_states, float *new_covariances, int N, float dt, float q, float r) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    double p[6][6], moved[6][6], s[6], m[3][6];
    for (int i = 0; i < 6; ++i) s[i] = states[i * N + at] + (i < 3 ? static_cast<double>(dt) * states[(i + 3) * N + at] : 0.0);
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) p[i][j] = static_cast<double>(0.1f) * covariances[(6 * i + j) * N + at] + (i == j);
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) moved[i][j] = p[i][j] + (i < 3 ? dt * p[i + 3][j] : 0.0);
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) p[i][j] = moved[i][j] + (j < 3 ? dt * moved[i][j + 3] : 0.0) + (i == j ? static_cast<double>(q) : 0.0);
    // Gauss-Jordan on [p + r | 1].
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 6; ++j) m[i][j] = j < 3 ? p[i][j] + (i == j ? static_cast<double>(r) : 0.0) : static_cast<double>(i == j - 3);
    for (int k = 0; k < 3; ++k) {
        const double pivot = m[k][k];
        for (int j = 0; j < 6; ++j) m[k][j] /= pivot;
        for (int i = 0; i < 3; ++i) {
            if (i == k) continue;
            const double factor = m[i][k];
            for (int j = 0; j < 6; ++j) m[i][j] -= factor * m[k][j];
        }
    }
    for (int i = 0; i < 6; ++i) {
        double state = s[i], gain[3];
        for (int j = 0; j < 3; ++j) {
            gain[j] = 0.0;
            for (int k = 0; k < 3; ++k) gain[j] += p[i][k] * m[k][3 + j];
            state += gain[j] * (measured[j * N + at] - s[j]);
        }
        new_states[i * N + at] = state;
        for (int j = 0; j < 6; ++j) new_covariances[(6 * i + j) * N + at] = p[i][j] - gain[0] * p[0][j] - gain[1] * p[1][j] - gain[2] * p[2][j];
    }
}

extern "C" __global__ void advect_reference(const float *x, const float *u, const float *v, const float *damping, float *y, int H, int W, float dt) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y, at = r * W + c;
    const double column = fmin(fmax(c - static_cast<double>(dt) * u[at], 0.0), W - 1.001), row = fmin(fmax(r - static_cast<double>(dt) * v[at], 0.0), H - 1.001);
    const int left = static_cast<int>(column), top = static_cast<int>(row);
    const double across = column - left, down = row - top;
    double sum = 0.0;
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) sum += (i ? down : 1.0 - down) * (j ? across : 1.0 - across) * x[(top + i) * W + left + j];
    y[at] = damping[c % 256] * sum;
}

extern "C" __global__ void bilateral_reference(const float *x, float *y, int H, int W, float sharpness) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    const double centre = x[row * W + column];
    double sum = 0.0, weights = 0.0;
    for (int i = -2; i <= 2; ++i)
        for (int j = -2; j <= 2; ++j) {
            const double value = x[min(max(row + i, 0), H - 1) * W + min(max(column + j, 0), W - 1)];
            const double weight = exp(-0.1 * (i * i + j * j) - sharpness * (value - centre) * (value - centre));
            sum += weight * value;
            weights += weight;
        }
    y[row * W + column] = sum / weights;
}

extern "C" __global__ void lowpass_reference(const float *x, float *y, const float *taps) {
    const size_t at = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    double sum = 0.0;
    for (int k = 0; k < 128; ++k) sum += static_cast<double>(taps[k]) * x[at + k];
    y[at] = sum;
}

extern "C" __global__ void compose_reference(const float *upper, const float *lower, float *y) {
    const size_t at = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const double alpha = upper[at / 4 * 4 + 3];
    y[at] = alpha * upper[at] + (1.0 - alpha) * lower[at];
}

// Grid: N / 64, M / 64. Block: 256. A thread 4 x 4 elements.
extern "C" __global__ void linear_reference(const __half *x, const __half *w, __half *y, int N, int K) {
    __shared__ float xs[64][33], ws[32][65];
    const int row = blockIdx.y * 64, column = blockIdx.x * 64, i = threadIdx.x / 16, j = threadIdx.x % 16;
    double sums[4][4] = {};
    for (int first = 0; first < K; first += 32) {
        __syncthreads();
        for (int k = threadIdx.x; k < 64 * 32; k += 256) {
            xs[k / 32][k % 32] = __half2float(x[static_cast<size_t>(row + k / 32) * K + first + k % 32]);
            ws[k / 64][k % 64] = __half2float(w[static_cast<size_t>(first + k / 64) * N + column + k % 64]);
        }
        __syncthreads();
        for (int k = 0; k < 32; ++k)
            for (int a = 0; a < 4; ++a)
                for (int b = 0; b < 4; ++b) sums[a][b] += static_cast<double>(xs[a * 16 + i][k]) * ws[k][b * 16 + j];
    }
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b) y[static_cast<size_t>(row + a * 16 + i) * N + column + b * 16 + j] = __float2half_rn(static_cast<float>(sums[a][b]));
}

extern "C" __global__ void similarity_reference(const __half *a, const __half *b, float *c, int N, int D) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y;
    double sum = 0.0;
    for (int d = 0; d < D; ++d) sum += static_cast<double>(__half2float(a[m * D + d])) * __half2float(b[n * D + d]);
    c[static_cast<size_t>(m) * N + n] = sum;
}

extern "C" __global__ void biasgrad_reference(const float *g, float *out, int M, int N) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0.0;
    for (int m = 0; m < M; ++m) sum += g[static_cast<size_t>(m) * N + n];
    out[n] = sum;
}

extern "C" __global__ void gaingrad_reference(const __half *dy, const __half *x, const float *scale, float *out, int M, int N) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0.0;
    for (int m = 0; m < M; ++m) sum += static_cast<double>(__half2float(dy[static_cast<size_t>(m) * N + n])) * __half2float(x[static_cast<size_t>(m) * N + n]) * scale[m];
    out[n] = sum;
}

// A block of 256 a row.
extern "C" __global__ void quantise_reference(const __half *x, signed char *q, float *scale, int N) {
    __shared__ float parts[256];
    const __half *const row = x + static_cast<size_t>(blockIdx.x) * N;
    float largest = 0.0f;
    for (int n = threadIdx.x; n < N; n += 256) largest = fmaxf(largest, fabsf(__half2float(row[n])));
    parts[threadIdx.x] = largest;
    __syncthreads();
    for (int t = 0; t < 256; ++t) largest = fmaxf(largest, parts[t]);
    const double step = largest / 127.0;
    if (threadIdx.x == 0) scale[blockIdx.x] = step;
    for (int n = threadIdx.x; n < N; n += 256) q[static_cast<size_t>(blockIdx.x) * N + n] = static_cast<signed char>(floor(__half2float(row[n]) / step + 0.5));
}

extern "C" __global__ void huber_reference(const float *x, const float *t, const float *w, float *y) {
    const size_t at = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    y[at] = w[at] * fmin(fmax(static_cast<double>(x[at]) - t[at], -1.0), 1.0);
}

extern "C" __global__ void focal_reference(const float *x, const int *truth, float *loss) {
    const size_t at = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const double p = 1.0 / (1.0 + exp(truth[at] == 1 ? -static_cast<double>(x[at]) : x[at]));
    loss[at] = -(1.0 - p) * (1.0 - p) * log(p);
}

extern "C" __global__ void swiglu_reference(const __half *gate, const __half *up, __half *y) {
    const size_t at = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const double a = __half2float(gate[at]);
    y[at] = __float2half_rn(static_cast<float>(a / (1.0 + exp(-a)) * __half2float(up[at])));
}

extern "C" __global__ void loudness_reference(const float *re, const float *im, float *y) {
    const size_t at = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    y[at] = 10.0 * log10(static_cast<double>(re[at]) * re[at] + static_cast<double>(im[at]) * im[at] + 1e-6);
}

extern "C" __global__ void stereo_reference(const float *left, const float *right, float *c, int T) {
    const int f = blockIdx.x * blockDim.x + threadIdx.x;
    double both = 0.0, lefts = 0.0, rights = 0.0;
    for (int t = 0; t < T; ++t) {
        const double a = left[static_cast<size_t>(f) * T + t], b = right[static_cast<size_t>(f) * T + t];
        both += a * b;
        lefts += a * a;
        rights += b * b;
    }
    c[f] = both / sqrt(lefts * rights);
}

extern "C" __global__ void screen_reference(const float *a, const float *b, float *y) {
    const size_t at = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    y[at] = static_cast<double>(a[at]) + b[at] - static_cast<double>(a[at]) * b[at];
}

// Attention in float64: products of matrices, and the exponentials of rows. attention.ptx is made from this file:
//   nvcc -ptx -arch=compute_75 -O3 -o attention.ptx attention.cu
// All parameters are 64-bit words.

// c[z] = a[z] b[z] * alpha / total[z], row by row; b is k by n, or n by k if it is transposed. The words of `strides` are the
// elements between the matrices of a batch. Without totals, `total` is null.
extern "C" __global__ void __launch_bounds__(256) ncugate_multiply(
    double* c, const double* a, const double* b, const double* total,
    unsigned long long m, unsigned long long n, unsigned long long k,
    unsigned long long c_stride, unsigned long long a_stride, unsigned long long b_stride,
    unsigned long long transposed, double alpha) {
    __shared__ double as[16][65], bs[16][65];
    const unsigned long long z = blockIdx.z;
    a += z * a_stride;
    b += z * b_stride;
    c += z * c_stride;
    const unsigned long long row0 = blockIdx.x * 64ull, column0 = blockIdx.y * 64ull;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    double sums[4][4] = {};
    for (unsigned long long k0 = 0; k0 < k; k0 += 16) {
        for (int i = threadIdx.x; i < 1024; i += 256) {
            const unsigned long long row = row0 + i / 16, at = k0 + i % 16;
            as[i % 16][i / 16] = row < m && at < k ? a[row * k + at] : 0.0;
            if (transposed) {
                const unsigned long long column = column0 + i / 16;
                bs[i % 16][i / 16] = column < n && at < k ? b[column * k + at] : 0.0;
            } else {
                const unsigned long long column = column0 + i % 64, inner = k0 + i / 64;
                bs[i / 64][i % 64] = column < n && inner < k ? b[inner * n + column] : 0.0;
            }
        }
        __syncthreads();
#pragma unroll 4
        for (int at = 0; at < 16; ++at) {
            double x[4], y[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                x[i] = as[at][ty + 16 * i];
                y[i] = bs[at][tx + 16 * i];
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sums[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        const unsigned long long row = row0 + ty + 16 * i;
        if (row >= m) continue;
        const double factor = total ? alpha / total[z * m + row] : alpha;
        for (int j = 0; j < 4; ++j) {
            const unsigned long long column = column0 + tx + 16 * j;
            if (column < n) c[row * n + column] = sums[i][j] * factor;
        }
    }
}

__device__ double reduced(double value, bool largest) {
    __shared__ double parts[256];
    parts[threadIdx.x] = value;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            const double other = parts[threadIdx.x + half];
            parts[threadIdx.x] = largest ? fmax(parts[threadIdx.x], other) : parts[threadIdx.x] + other;
        }
    }
    __syncthreads();
    const double all = parts[0];
    __syncthreads();
    return all;
}

// Turns rows of scores into exponentials of their distance from the largest, and their sums; `first` is the first row of each
// matrix in its head. If `causal`, a row sees the keys up to its own.
extern "C" __global__ void __launch_bounds__(256) ncugate_soften(
    double* scores, double* total, unsigned long long keys, unsigned long long rows, unsigned long long first,
    unsigned long long causal) {
    const unsigned long long row = blockIdx.x, at = blockIdx.y * rows + row;
    double* own = scores + at * keys;
    const unsigned long long seen = causal ? min(keys, first + row + 1) : keys;
    double largest = -INFINITY, sum = 0.0;
    for (unsigned long long key = threadIdx.x; key < seen; key += 256) largest = fmax(largest, own[key]);
    largest = reduced(largest, true);
    for (unsigned long long key = threadIdx.x; key < keys; key += 256) {
        const double weight = key < seen ? exp(own[key] - largest) : 0.0;
        own[key] = weight;
        sum += weight;
    }
    sum = reduced(sum, false);
    if (threadIdx.x == 0) total[at] = sum;
}

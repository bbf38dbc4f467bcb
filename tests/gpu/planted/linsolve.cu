// Systems of 6 equations with pivots: (A + shift J) x = b, where J has ones from the lower left to the upper right. A thread a system;
// element (i, j) of system s is a[(i * 6 + j) * COUNT + s].
constexpr int N = 6;

extern "C" __global__ void __launch_bounds__(128) solve_rows(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ x, int COUNT, float shift) {
    const int s = blockIdx.x * 128 + threadIdx.x;
    if (s >= COUNT) return;
    float m[N][N + 1];
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) m[i][j] = a[(i * N + j) * COUNT + s] + (i + j == N - 1 ? shift : 0.0f);
        m[i][N] = b[i * COUNT + s];
    }
    for (int k = 0; k < N; ++k) {
        int pivot = k;
        for (int i = k + 1; i < N; ++i)
            if (fabsf(m[i][k]) > fabsf(m[pivot][k])) pivot = i;
        for (int j = k; j <= N; ++j) {
            const float kept = m[k][j];
            m[k][j] = m[pivot][j];
            m[pivot][j] = kept;
        }
        const float inverse = 1.0f / m[k][k];
        for (int i = k + 1; i < N; ++i) {
            const float factor = m[i][k] * inverse;
            for (int j = k + 1; j <= N; ++j) m[i][j] -= factor * m[k][j];
        }
    }
    for (int i = N - 1; i >= 0; --i) {
        float sum = m[i][N];
        for (int j = i + 1; j < N; ++j) sum -= m[i][j] * m[j][N];
        m[i][N] = sum / m[i][i];
        x[i * COUNT + s] = m[i][N];
    }
}

// Rows change places by selection, one after the other, so that every index is known.
extern "C" __global__ void __launch_bounds__(128) solve_selected(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ x, int COUNT, float shift) {
    const int s = blockIdx.x * 128 + threadIdx.x;
    if (s >= COUNT) return;
    float m[N][N + 1];
#pragma unroll
    for (int i = 0; i < N; ++i) {
#pragma unroll
        for (int j = 0; j < N; ++j) m[i][j] = a[(i * N + j) * COUNT + s] + (i + j == N - 1 ? shift : 0.0f);
        m[i][N] = b[i * COUNT + s];
    }
#pragma unroll
    for (int k = 0; k < N; ++k) {
#pragma unroll
        for (int i = k + 1; i < N; ++i) {
            const bool larger = fabsf(m[i][k]) > fabsf(m[k][k]);
#pragma unroll
            for (int j = k; j <= N; ++j) {
                const float one = m[k][j], two = m[i][j];
                m[k][j] = larger ? two : one;
                m[i][j] = larger ? one : two;
            }
        }
        const float inverse = 1.0f / m[k][k];
#pragma unroll
        for (int i = k + 1; i < N; ++i) {
            const float factor = m[i][k] * inverse;
#pragma unroll
            for (int j = k + 1; j <= N; ++j) m[i][j] -= factor * m[k][j];
        }
    }
#pragma unroll
    for (int i = N - 1; i >= 0; --i) {
        float sum = m[i][N];
#pragma unroll
        for (int j = i + 1; j < N; ++j) sum -= m[i][j] * m[j][N];
        m[i][N] = sum / m[i][i];
        x[i * COUNT + s] = m[i][N];
    }
}

// C = alpha * A B + beta * C as BLAS has it, row major: C is read and written.
extern "C" __global__ void gemm_naive(const float* a, const float* b, float* c, int m, int n, int k, float alpha, float beta) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// The same with neighbouring threads on neighbouring columns.
extern "C" __global__ void gemm_coalesced(const float* a, const float* b, float* c, int m, int n, int k, float alpha, float beta) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// Tiles of TILE x TILE in shared memory.
template <int TILE>
__global__ void gemm_tiled(const float* a, const float* b, float* c, int m, int n, int k, float alpha, float beta) {
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        int i = start + threadIdx.x, j = start + threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < m && i < k ? a[row * k + i] : 0.0f;
        b_tile[threadIdx.y][threadIdx.x] = j < k && column < n ? b[j * n + column] : 0.0f;
        __syncthreads();
        for (int at = 0; at < TILE; ++at) sum += a_tile[threadIdx.y][at] * b_tile[at][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

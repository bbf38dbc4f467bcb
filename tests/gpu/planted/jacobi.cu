// One Jacobi sweep of the 2D Poisson equation: v = (north + south + west + east + h2 f) / 4 inside, v = u on the rim.
__device__ __forceinline__ float relaxed(const float *u, const float *f, int row, int column, int N, float h2) {
    const int at = row * N + column;
    if (row == 0 || column == 0 || row == N - 1 || column == N - 1) return u[at];
    return 0.25f * (u[at - N] + u[at + N] + u[at - 1] + u[at + 1] + h2 * f[at]);
}

// x is the row, as in the formula u(x, y).
extern "C" __global__ void sweep_xy(const float *__restrict__ u, const float *__restrict__ f, float *__restrict__ v, int N, float h2) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < N && column < N) v[row * N + column] = relaxed(u, f, row, column, N, h2);
}

extern "C" __global__ void sweep_yx(const float *__restrict__ u, const float *__restrict__ f, float *__restrict__ v, int N, float h2) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && column < N) v[row * N + column] = relaxed(u, f, row, column, N, h2);
}

// c = a * b in f32, for a small result and a long K: each slice of K writes its own part, and a second kernel adds the parts.

extern "C" __global__ void gemm_slice(const float *a, const float *b, float *parts, int M, int N, int K, int SLICES) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, slice = blockIdx.z;
    if (column >= N) return;
    const int depth = (K + SLICES - 1) / SLICES;
    float sum = 0.0f;
    for (int k = slice * depth; k < min(K, (slice + 1) * depth); k++)
        sum += a[row * K + k] * b[k * N + column];
    parts[(size_t(slice) * M + row) * N + column] = sum;
}

extern "C" __global__ void add_slices(const float *parts, float *c, int M, int N, int SLICES) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= M * N) return;
    float sum = 0.0f;
    for (int slice = 0; slice < SLICES; slice++) sum += parts[size_t(slice) * M * N + at];
    c[at] = sum;
}

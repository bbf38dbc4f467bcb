// Host functions that take no stream, that launch on the default stream whatever they take, and that synchronise.
__global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

void streamless(const float* x, float* y, int n) { copy<<<(n + 255) / 256, 256>>>(x, y, n); }

void default_stream(const float* x, float* y, int n, cudaStream_t) { copy<<<(n + 255) / 256, 256>>>(x, y, n); }

void given_stream(const float* x, float* y, int n, cudaStream_t stream) { copy<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n); }

// Refused: a graph cannot record it.
void synchronises(const float* x, float* y, int n) {
    copy<<<(n + 255) / 256, 256>>>(x, y, n);
    cudaDeviceSynchronize();
}

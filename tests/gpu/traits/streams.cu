// Host functions that take no stream, that launch on the default stream whatever they take, and that synchronise.
__global__ void doubled(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

void streamless(const float* x, float* y, int n) { doubled<<<(n + 255) / 256, 256>>>(x, y, n); }

void default_stream(const float* x, float* y, int n, cudaStream_t) { doubled<<<(n + 255) / 256, 256>>>(x, y, n); }

void given_stream(const float* x, float* y, int n, cudaStream_t stream) { doubled<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n); }

// Refused: a graph cannot record it.
void synchronises(const float* x, float* y, int n) {
    doubled<<<(n + 255) / 256, 256>>>(x, y, n);
    cudaDeviceSynchronize();
}

extern "C" __global__ void doubled_reference(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}

// What `linked.cu` refers to.
__constant__ float weights[8] = {0.5f, 0.25f, 0.125f, 0.0625f, 0.0f, 0.0f, 0.0f, 0.0f};

__device__ __noinline__ float activate(float value, int kind) {
    return kind == 0 ? value : value * (1.0f / (1.0f + __expf(-value)));
}

extern "C" __global__ void smooth_reference(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0.0;
    for (int k = 0; k < 4 && i + k < n; ++k) sum += (double)x[i + k] / (2 << k);
    y[i] = (float)(i % 2 == 0 ? sum : sum / (1.0 + exp(-sum)));
}

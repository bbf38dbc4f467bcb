// Inputs that are read through texture objects: rows with an edge that is clamped, a table of bytes as floats.
extern "C" __global__ void blur(cudaTextureObject_t image, cudaTextureObject_t weights, float* y, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (x >= width) return;
    float sum = 0.0f;
    for (int k = -2; k <= 2; ++k) sum += tex1Dfetch<float>(weights, k + 2) * tex2D<float>(image, x + k + 0.5f, row + 0.5f);
    y[(size_t)row * width + x] = sum;
}

extern "C" __global__ void blur_reference(const float* image, const unsigned char* weights, float* y, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (x >= width) return;
    double sum = 0.0;
    for (int k = -2; k <= 2; ++k) {
        int at = min(max(x + k, 0), width - 1);
        sum += weights[k + 2] / 255.0 * image[(size_t)row * width + at];
    }
    y[(size_t)row * width + x] = (float)sum;
}

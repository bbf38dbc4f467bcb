// Multiples of a step, which is a parameter of the variant: variants have different answers.
extern "C" __global__ void quantised(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = rintf(x[i] / STEP) * STEP;
}

// The step of another variant.
extern "C" __global__ void coarser(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = rintf(x[i] / (2 * STEP)) * (2 * STEP);
}

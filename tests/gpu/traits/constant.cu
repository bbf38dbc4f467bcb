// Variables of the module that the host fills: a filter in constant memory, as a separable convolution has it, static and in a
// namespace, and a bias and a scale as a struct.
namespace filters {
__constant__ float row[64];
}

struct Scale {
    float factor;
    int shift;
};

static __constant__ Scale scale;
__device__ float bias[4];

__global__ void convolve(const float* x, float* y, int n, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; ++k) {
        int at = i + k;
        if (at >= 0 && at < n) sum += x[at] * filters::row[k + radius];
    }
    y[i] = sum * scale.factor + (float)scale.shift + bias[i % 4];
}

extern "C" __global__ void convolve_reference(const float* x, const float* filter, float* y, int n, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0.0;
    for (int k = -radius; k <= radius; ++k) {
        int at = i + k;
        if (at >= 0 && at < n) sum += (double)x[at] * filter[k + radius];
    }
    y[i] = (float)(sum * 0.5 + 3.0 + 0.25);
}

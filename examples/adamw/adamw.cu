// The update of AdamW (Loshchilov and Hutter 2019): parameters and both moments in place, so many elements a thread.
#include <cuda_runtime.h>

struct Hyperparameters {
    float rate, beta1, beta2, epsilon, decay;
    int step;
};

namespace optim {

template <int ELEMENTS>
__global__ void adamw(float* p, const float* g, float* m, float* v, Hyperparameters hyper, int n) {
    const float correction1 = 1.0f - powf(hyper.beta1, (float)hyper.step);
    const float correction2 = 1.0f - powf(hyper.beta2, (float)hyper.step);
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * ELEMENTS;
#pragma unroll
    for (int i = first; i < first + ELEMENTS; ++i) {
        if (i >= n) return;
        const float grad = g[i];
        const float mean = m[i] = hyper.beta1 * m[i] + (1.0f - hyper.beta1) * grad;
        const float square = v[i] = hyper.beta2 * v[i] + (1.0f - hyper.beta2) * grad * grad;
        const float direction = mean / correction1 / (sqrtf(square / correction2) + hyper.epsilon);
        p[i] -= hyper.rate * (direction + hyper.decay * p[i]);
    }
}

}  // namespace optim

// Arguments that are neither a buffer nor a plain scalar: a struct by value, a pointer into a buffer, nullptr, an array of pointers,
// small scalars.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

struct Scale {
    short shift;
    double factor;
    bool negate;
};

struct Job {
    const float* x;
    int n;
    Scale scale;
    float weights[3];
};

// y = weights . (x, x', x'') * factor + bias, where x' and x'' are rows of an array of pointers and bias is half a row further on in x.
extern "C" __global__ void weighted(Job job, const float* const* rows, const float* bias, const float* absent, float* y, __half half_scale,
                                    __nv_bfloat16 brain_scale, unsigned long long stride, signed char sign) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= job.n) return;
    float sum = job.weights[0] * job.x[i] + job.weights[1] * rows[0][i] + job.weights[2] * rows[1][i * stride];
    sum = sum * (float)job.scale.factor + bias[i] + (rows[2] == nullptr && absent == nullptr ? 0.0f : 1e9f);
    y[i] = sum * __half2float(half_scale) * __bfloat162float(brain_scale) * sign * (job.scale.negate ? -1.0f : 1.0f) + job.scale.shift;
}

// The same in double precision, with what the phase passes written out.
extern "C" __global__ void weighted_reference(Job job, const float* const* rows, const float* bias, const float*, float* y, __half,
                                              __nv_bfloat16, unsigned long long, signed char) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= job.n) return;
    double sum = 0.5 * job.x[i] + 0.25 * rows[0][i] + 2.0 * rows[1][i];
    y[i] = (float)((sum * 1.5 + bias[i]) * 0.5 * 3.0 + 7.0);
}

// A struct by value whose field is aligned to more than its own fields, and vectors by value.
struct Affine {
    int n;
    float4 factors;
    float2 shift;
};

extern "C" __global__ void affine(Affine affine, float3 extra, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= affine.n) return;
    const float value = x[i];
    const float4 f = affine.factors;
    y[i] = f.x + value * (f.y + value * (f.z + value * f.w)) + affine.shift.x * extra.x + affine.shift.y * extra.z;
}

extern "C" __global__ void affine_reference(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const double value = x[i];
        y[i] = (float)(1.0 + value * (2.0 + value * (3.0 + value * 4.0)) + 5.0 * 7.0 + 6.0 * 9.0);
    }
}

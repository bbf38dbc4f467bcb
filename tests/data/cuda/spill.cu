extern "C" __global__ void spilling(float* out, const float* in, int n) {
    float a[96];
#pragma unroll
    for (int i = 0; i < 96; ++i) a[i] = in[i * n + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
#pragma unroll
        for (int i = 0; i < 96; ++i) a[i] = a[i] * a[(i + 7) % 96] + a[(i + 31) % 96];
    }
#pragma unroll
    for (int i = 0; i < 96; ++i) out[i * n + threadIdx.x] = a[i];
}

extern "C" __global__ void local_array(float* out, const int* idx, int n) {
    float a[64];
    for (int i = 0; i < 64; ++i) a[i] = 0.5f * i + n;
    for (int i = 0; i < n; ++i) a[idx[i] & 63] += 1.0f;
    out[threadIdx.x] = a[idx[threadIdx.x] & 63];
}

// A warp a row, with the mean and the reciprocal deviation kept for the backward pass.
typedef float floatX;
extern "C" __global__ void layernorm_forward_kernel(floatX* __restrict__ out, float* __restrict__ mean, float* __restrict__ rstd,
                                         const floatX* __restrict__ inp, const floatX* __restrict__ weight,
                                         const floatX* __restrict__ bias, int N, int C) {
    int lane = threadIdx.x % 32;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= N) return;
    const floatX* x = inp + row * C;
    float sum = 0.0f;
    for (int i = lane; i < C; i += 32) { sum += x[i]; }
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
    float m = sum / C;
    if (lane == 0 && mean != nullptr) { __stcs(mean + row, m); }
    float var = 0.0f;
    for (int i = lane; i < C; i += 32) { float d = x[i] - m; var += d * d; }
    for (int o = 16; o > 0; o /= 2) var += __shfl_xor_sync(0xffffffff, var, o);
    float s = rsqrtf(var / C + 1e-5f);
    if (lane == 0 && rstd != nullptr) { __stcs(rstd + row, s); }
    floatX* o = out + row * C;
    for (int c = lane; c < C; c += 32) { o[c] = (x[c] - m) * s * weight[c] + bias[c]; }
}

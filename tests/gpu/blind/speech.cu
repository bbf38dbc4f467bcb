// Autocorrelation of frames of 256 samples at lags 0 to 12, the first step of linear prediction of speech:
// r[f, lag] = sum over t of x[f, t] * x[f, t + lag], within the frame.

// A block of 256 threads a frame.
extern "C" __global__ void correlate_a(const float *__restrict__ x, float *__restrict__ r) {
    __shared__ float frame[256 + 16];
    __shared__ float sums[256];
    const int t = threadIdx.x;
    frame[t] = x[static_cast<size_t>(blockIdx.x) * 256 + t];
    if (t < 16) frame[256 + t] = 0.0f;
    __syncthreads();
    for (int lag = 0; lag <= 12; ++lag) {
        sums[t] = frame[t] * frame[t + lag];
        __syncthreads();
#pragma unroll
        for (int d = 128; d > 0; d /= 2) {
            if (t < d) sums[t] += sums[t + d];
            __syncthreads();
        }
        if (t == 0) r[blockIdx.x * 13 + lag] = sums[0];
        __syncthreads();
    }
}

extern "C" __global__ void correlate_b(const float *__restrict__ x, float *__restrict__ r) {
    __shared__ float frame[256 + 16];
    __shared__ float sums[13][8];
    const int t = threadIdx.x;
    frame[t] = x[static_cast<size_t>(blockIdx.x) * 256 + t];
    if (t < 16) frame[256 + t] = 0.0f;
    __syncthreads();
#pragma unroll
    for (int lag = 0; lag <= 12; ++lag) {
        float sum = frame[t] * frame[t + lag];
#pragma unroll
        for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
        if (t % 32 == 0) sums[lag][t / 32] = sum;
    }
    __syncthreads();
    if (t > 12) return;
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < 8; ++w) sum += sums[t][w];
    r[blockIdx.x * 13 + t] = sum;
}

// A filter of 128 taps over N samples: y[t] = sum over k of taps[k] * x[t + k].

__constant__ float filter_taps[128];

// A block of 128 threads for 2048 samples, a thread for 16 in a row. The samples lie in shared memory with 4 floats after every 16.
extern "C" __global__ void __launch_bounds__(128) lowpass(const float *__restrict__ x, float *__restrict__ y) {
    __shared__ __align__(16) float samples[(2048 + 128) / 16 * 20];
    const size_t first = static_cast<size_t>(blockIdx.x) * 2048;
    for (int i = threadIdx.x; i < (2048 + 128) / 4; i += 128)
        *reinterpret_cast<float4 *>(&samples[i / 4 * 20 + i % 4 * 4]) = reinterpret_cast<const float4 *>(x + first)[i];
    __syncthreads();
    float sums[16] = {}, window[32];
#pragma unroll
    for (int k = 0; k < 16; k += 4) {
        const float4 four = *reinterpret_cast<const float4 *>(&samples[threadIdx.x * 20 + k]);
        window[k] = four.x, window[k + 1] = four.y, window[k + 2] = four.z, window[k + 3] = four.w;
    }
#pragma unroll
    for (int part = 0; part < 8; ++part) {
#pragma unroll
        for (int k = 0; k < 16; k += 4) {
            const float4 four = *reinterpret_cast<const float4 *>(&samples[(threadIdx.x + part + 1) * 20 + k]);
            window[16 + k] = four.x, window[17 + k] = four.y, window[18 + k] = four.z, window[19 + k] = four.w;
        }
#pragma unroll
        for (int k = 0; k < 16; ++k)
#pragma unroll
            for (int t = 0; t < 16; ++t) sums[t] += filter_taps[part * 16 + k] * window[t + k];
#pragma unroll
        for (int k = 0; k < 16; ++k) window[k] = window[16 + k];
    }
    float4 *const to = reinterpret_cast<float4 *>(y + first + threadIdx.x * 16);
#pragma unroll
    for (int t = 0; t < 16; t += 4) to[t / 4] = make_float4(sums[t], sums[t + 1], sums[t + 2], sums[t + 3]);
}

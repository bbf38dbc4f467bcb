// Tone mapping of 8-bit samples: to linear light by a power of 2.2, gain, v / (1 + v), and back by a power of 1 / 2.2. 16 samples a
// thread.
template <bool FAST> __device__ __forceinline__ unsigned mapped(unsigned sample, float gain) {
    const float v = sample * (1.0f / 255.0f);
    const float linear = gain * (FAST ? __powf(v, 2.2f) : powf(v, 2.2f));
    const float pressed = FAST ? __fdividef(linear, 1.0f + linear) : linear / (1.0f + linear);
    const float back = FAST ? __powf(pressed, 1.0f / 2.2f) : powf(pressed, 1.0f / 2.2f);
    return static_cast<unsigned>(fmaf(back, 255.0f, 0.5f));
}

template <bool FAST> __device__ __forceinline__ void map_sixteen(const uint4 *x, uint4 *y, float gain) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 in = x[at];
    const unsigned words[4] = {in.x, in.y, in.z, in.w};
    unsigned out[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        out[w] = 0;
#pragma unroll
        for (int k = 0; k < 32; k += 8) out[w] |= mapped<FAST>(words[w] >> k & 255u, gain) << k;
    }
    y[at] = make_uint4(out[0], out[1], out[2], out[3]);
}

extern "C" __global__ void __launch_bounds__(256) tone_fast(const uint4 *x, uint4 *y, float gain) { map_sixteen<true>(x, y, gain); }

extern "C" __global__ void __launch_bounds__(256) tone_accurate(const uint4 *x, uint4 *y, float gain) { map_sixteen<false>(x, y, gain); }

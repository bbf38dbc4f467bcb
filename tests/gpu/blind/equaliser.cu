// An equaliser: four second-order filters in a row (transposed direct form 2) on each of S channels of T samples, x and y [T, S].
// bands[f] is b0, b1, b2, a1, a2; the first coefficient counts from 1.

__device__ __forceinline__ float filter(float in, float b0, float b1, float b2, float a1, float a2, float &first, float &second) {
    const float out = in + b0 * in + first;
    first = b1 * in - a1 * out + second;
    second = b2 * in - a2 * out;
    return out;
}

// A thread a channel.
extern "C" __global__ void equalise_a(const float *__restrict__ x, const float *__restrict__ bands, float *__restrict__ y, int T, int S) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    float first[4] = {}, second[4] = {};
#pragma unroll 8
    for (int t = 0; t < T; ++t) {
        float value = x[static_cast<size_t>(t) * S + channel];
#pragma unroll
        for (int f = 0; f < 4; ++f)
            value = filter(value, bands[5 * f], bands[5 * f + 1], bands[5 * f + 2], bands[5 * f + 3], bands[5 * f + 4], first[f], second[f]);
        y[static_cast<size_t>(t) * S + channel] = value;
    }
}

extern "C" __global__ void equalise_b(const float *x, const float *bands, float *y, int T, int S) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    float first[4] = {}, second[4] = {};
#pragma unroll 8
    for (int t = 0; t < T; ++t) {
        float value = x[static_cast<size_t>(t) * S + channel];
#pragma unroll
        for (int f = 0; f < 4; ++f)
            value = filter(value, bands[5 * f], bands[5 * f + 1], bands[5 * f + 2], bands[5 * f + 3], bands[5 * f + 4], first[f], second[f]);
        y[static_cast<size_t>(t) * S + channel] = value;
    }
}

// A kernel whose code follows the flags: fast functions, and more live values than 24 registers hold.
extern "C" __global__ void waves(const float *x, float *y, int N) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= N) return;
    float values[16];
    for (int k = 0; k < 16; k++) values[k] = x[(at + k * 37) % N];
    float sum = 0.0f;
    for (int round = 0; round < 4; round++) {
#pragma unroll
        for (int k = 0; k < 16; k++) {
            values[k] = sinf(values[k] + values[(k + 5) % 16]);
            sum += values[k];
        }
    }
    y[at] = sum / 16.0f;
}

// A layer of straight (r, g, b, alpha) over another, N pixels: y = alpha * upper + (1 - alpha) * lower, with alpha of the upper layer in
// all four parts.

// A pixel a thread.
extern "C" __global__ void compose(const float4 *__restrict__ upper, const float4 *__restrict__ lower, float4 *__restrict__ y) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 a = upper[at], b = lower[at];
    y[at] = make_float4(b.x + a.w * (a.x - b.x), b.y + a.w * (a.y - b.y), b.z + a.w * (a.z - b.z), b.w + a.w * (a.w - b.w));
}

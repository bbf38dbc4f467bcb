// A semi-Lagrangian step of smoke in a fluid of H x W cells: y[r, c] is x, interpolated where the flow (u, v) came from, times a
// damping that repeats every 256 columns.

// Block: 128. Dynamic shared memory: 256 floats.
extern "C" __global__ void advect(const float *__restrict__ x, const float *__restrict__ u, const float *__restrict__ v, const float *__restrict__ damping, float *__restrict__ y, int H, int W, float dt) {
    extern __shared__ float factors[];
    for (int i = threadIdx.x; i < 256; i += 128) factors[i] = damping[i];
    __syncthreads();
    const int c = blockIdx.x * 128 + threadIdx.x, r = blockIdx.y, at = r * W + c;
    const float column = fminf(fmaxf(c - dt * u[at], 0.0f), W - 1.001f), row = fminf(fmaxf(r - dt * v[at], 0.0f), H - 1.001f);
    const int left = static_cast<int>(column), top = static_cast<int>(row);
    const float across = column - left, down = row - top;
    const float *const from = x + top * W + left;
    const float upper = from[0] + across * (from[1] - from[0]), lower = from[W] + across * (from[W + 1] - from[W]);
    y[at] = factors[c % 256] * (upper + down * (lower - upper));
}

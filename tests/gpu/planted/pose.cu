// Matrices of 4 * 4 from unit quaternions and positions: for skinning, one a thread.
constexpr int PITCH = 17;

__device__ __forceinline__ void matrix(float4 q, float4 p, float (&m)[16]) {
    const float scale = 2.0f / (q.x * q.x + q.y * q.y + (q.z * q.z + q.w * q.w));
    const float x = q.x * scale, y = q.y * scale, z = q.z * scale;
    m[0] = 1.0f - (q.y * y + q.z * z);
    m[1] = q.x * y - q.w * z;
    m[2] = q.x * z + q.w * y;
    m[3] = p.x;
    m[4] = q.x * y + q.w * z;
    m[5] = 1.0f - (q.x * x + q.z * z);
    m[6] = q.y * z - q.w * x;
    m[7] = p.y;
    m[8] = q.x * z - q.w * y;
    m[9] = q.y * z + q.w * x;
    m[10] = 1.0f - (q.x * x + q.y * y);
    m[11] = p.z;
    m[12] = m[13] = m[14] = 0.0f;
    m[15] = 1.0f;
}

// A warp turns its matrices in shared memory, and stores whole lines.
extern "C" __global__ void __launch_bounds__(256) pose_turned(const float4 *q, const float4 *p, float *out) {
    __shared__ float turned[8][32 * PITCH];
    const int at = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float *const mine = turned[threadIdx.x / 32];
    float m[16];
    matrix(q[at], p[at], m);
#pragma unroll
    for (int i = 0; i < 16; ++i) mine[lane * PITCH + i] = m[i];
    __syncwarp();
    float *const to = out + static_cast<size_t>(at - lane) * 16 + lane;
#pragma unroll
    for (int i = 0; i < 16; ++i) to[i * 32] = mine[(i * 2 + lane / 16) * PITCH + lane % 16];
}

// A thread stores its matrix.
extern "C" __global__ void __launch_bounds__(256) pose_direct(const float4 *q, const float4 *p, float *out) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    float m[16];
    matrix(q[at], p[at], m);
#pragma unroll
    for (int i = 0; i < 16; ++i) out[static_cast<size_t>(at) * 16 + i] = m[i];
}

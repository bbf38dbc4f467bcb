// Sphere tracing of a scene of 8 solids through an image of H x W pixels: 24 steps along each ray, each as long as the distance to the
// nearest solid; y is the depth, at most 20. kinds[i] says ball, box, ring or column; solids[i] holds four numbers from 0 to 1: the centre
// is (4 x - 2, 4 y - 2, 3 + 4 z), and the radius 0.3 + 0.5 size.

struct Solid {
    float x, y, z, size;
};

__device__ float ball(float x, float y, float z, float size) { return sqrtf(x * x + y * y + z * z) - size; }

__device__ float box(float x, float y, float z, float size) {
    const float dx = fabsf(x) - size, dy = fabsf(y) - size, dz = fabsf(z) - size;
    const float ox = fmaxf(dx, 0.0f), oy = fmaxf(dy, 0.0f), oz = fmaxf(dz, 0.0f);
    return sqrtf(ox * ox + oy * oy + oz * oz) + fminf(fmaxf(dx, fmaxf(dy, dz)), 0.0f);
}

__device__ float ring(float x, float y, float z, float size) {
    const float out = sqrtf(x * x + z * z) - size;
    return sqrtf(out * out + y * y) - 0.25f * size;
}

__device__ float column(float x, float, float z, float size) { return sqrtf(x * x + z * z) - 0.5f * size; }

using Distance = float (*)(float, float, float, float);
__device__ Distance const distances[4] = {ball, box, ring, column};

struct Lookup {
    static __device__ float distance(int kind, float x, float y, float z, float size) { return distances[kind](x, y, z, size); }
};

struct Choice {
    static __device__ float distance(int kind, float x, float y, float z, float size) {
        switch (kind) {
        case 0: return ball(x, y, z, size);
        case 1: return box(x, y, z, size);
        case 2: return ring(x, y, z, size);
        default: return column(x, y, z, size);
        }
    }
};

// Block: 32 x 4.
template <class Scene>
__device__ __forceinline__ void trace(const Solid *__restrict__ solids, const int *__restrict__ kinds, float *__restrict__ y, int H, int W) {
    const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    float dx = (c + 0.5f) / W - 0.5f, dy = (r + 0.5f) / H - 0.5f, dz = 1.0f;
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz);
    dx *= inverse, dy *= inverse, dz *= inverse;
    float depth = 0.0f;
#pragma unroll 1
    for (int step = 0; step < 24; ++step) {
        float nearest = 20.0f;
#pragma unroll 1
        for (int i = 0; i < 8; ++i) {
            const Solid solid = solids[i];
            const float x = depth * dx + 2.0f - 4.0f * solid.x, up = depth * dy + 2.0f - 4.0f * solid.y, z = depth * dz - 3.0f - 4.0f * solid.z;
            nearest = fminf(nearest, Scene::distance(kinds[i], x, up, z, 0.3f + 0.5f * solid.size));
        }
        depth = fminf(depth + nearest, 20.0f);
    }
    y[r * W + c] = depth;
}

extern "C" __global__ void trace_a(const Solid *__restrict__ solids, const int *__restrict__ kinds, float *__restrict__ y, int H, int W) { trace<Lookup>(solids, kinds, y, H, W); }

extern "C" __global__ void trace_b(const Solid *__restrict__ solids, const int *__restrict__ kinds, float *__restrict__ y, int H, int W) { trace<Choice>(solids, kinds, y, H, W); }

// Fourier transforms of B signals of 1024 complex samples: bits of the index reversed on the way in, then ten passes of butterflies
// in shared memory. z and y are [B, 1024] of (real, imaginary).

constexpr int LENGTH = 1024;

struct Dense {
    static constexpr int SIZE = LENGTH;
    static __device__ int place(int i) { return i; }
    static __device__ void root(float angle, float *sine, float *cosine) { sincosf(angle, sine, cosine); }
};

struct Spread {
    static constexpr int SIZE = LENGTH + LENGTH / 32;
    static __device__ int place(int i) { return i + i / 32; }
    static __device__ void root(float angle, float *sine, float *cosine) { __sincosf(angle, sine, cosine); }
};

// A block of 256 threads a signal.
template <class Form>
__device__ __forceinline__ void transform(const float2 *__restrict__ z, float2 *__restrict__ y) {
    __shared__ float reals[Form::SIZE], imaginaries[Form::SIZE];
    const size_t first = static_cast<size_t>(blockIdx.x) * LENGTH;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int i = n * 256 + threadIdx.x, to = Form::place(__brev(i) >> 22);
        const float2 value = z[first + i];
        reals[to] = value.x;
        imaginaries[to] = value.y;
    }
#pragma unroll 1
    for (int half = 1; half < LENGTH; half *= 2) {
        __syncthreads();
        const float step = -3.14159265f / static_cast<float>(half);
#pragma unroll
        for (int n = 0; n < 2; ++n) {
            const int b = n * 256 + threadIdx.x, k = b & (half - 1);
            const int low = Form::place(2 * b - k), high = Form::place(2 * b - k + half);
            float sine, cosine;
            Form::root(step * static_cast<float>(k), &sine, &cosine);
            const float ur = reals[low], ui = imaginaries[low], vr = reals[high], vi = imaginaries[high];
            const float wr = vr * cosine - vi * sine, wi = vr * sine + vi * cosine;
            reals[low] = ur + wr;
            imaginaries[low] = ui + wi;
            reals[high] = ur - wr;
            imaginaries[high] = ui - wi;
        }
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int i = n * 256 + threadIdx.x;
        y[first + i] = make_float2(reals[Form::place(i)], imaginaries[Form::place(i)]);
    }
}

extern "C" __global__ void spectra_a(const float2 *__restrict__ z, float2 *__restrict__ y) { transform<Dense>(z, y); }

extern "C" __global__ void spectra_b(const float2 *__restrict__ z, float2 *__restrict__ y) { transform<Spread>(z, y); }

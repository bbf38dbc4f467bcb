// The update step of colour quantisation: for each of 256 palette entries, the sums of red, green and blue over the pixels assigned
// to it, and their number. pixels is planar [3, P], labels [P], sums [256, 4] starts at zero.

// A thread takes 16 pixels, 256 apart. Block: 256. Grid: P / 4096.
extern "C" __global__ void gather_a(const unsigned char *__restrict__ pixels, const unsigned char *__restrict__ labels, int *sums, int P) {
    const int first = blockIdx.x * 4096 + threadIdx.x;
#pragma unroll 4
    for (int k = 0; k < 16; ++k) {
        const int at = first + k * 256, label = labels[at];
        atomicAdd(&sums[4 * label], static_cast<int>(pixels[at]));
        atomicAdd(&sums[4 * label + 1], static_cast<int>(pixels[P + at]));
        atomicAdd(&sums[4 * label + 2], static_cast<int>(pixels[2 * P + at]));
        atomicAdd(&sums[4 * label + 3], 1);
    }
}

extern "C" __global__ void gather_b(const unsigned char *__restrict__ pixels, const unsigned char *__restrict__ labels, int *sums, int P) {
    __shared__ int own[1024];
    for (int i = threadIdx.x; i < 1024; i += 256) own[i] = 0;
    __syncthreads();
    const int first = blockIdx.x * 4096 + threadIdx.x;
#pragma unroll 4
    for (int k = 0; k < 16; ++k) {
        const int at = first + k * 256, label = labels[at];
        atomicAdd(&own[4 * label], static_cast<int>(pixels[at]));
        atomicAdd(&own[4 * label + 1], static_cast<int>(pixels[P + at]));
        atomicAdd(&own[4 * label + 2], static_cast<int>(pixels[2 * P + at]));
        atomicAdd(&own[4 * label + 3], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += 256) atomicAdd(&sums[i], own[i]);
}

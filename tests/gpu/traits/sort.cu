// A bitonic sort: blocks of 512 elements in shared memory, and merges of ever longer stretches by a loop of the host.
__device__ void exchange(float &a, float &b, bool ascending) {
    if ((a > b) == ascending) {
        const float other = a;
        a = b;
        b = other;
    }
}

// Strides `first` to 1 of a merge, for the 512 elements of a block.
__device__ void merge_shared(float *shared, unsigned base, unsigned size, unsigned first) {
    for (unsigned stride = first; stride > 0; stride /= 2) {
        const unsigned at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
        __syncthreads();
        exchange(shared[at], shared[at + stride], ((base + at) & size) == 0);
    }
    __syncthreads();
}

extern "C" __global__ void sort_block(const float *x, float *y) {
    __shared__ float shared[512];
    const unsigned base = blockIdx.x * 512;
    shared[threadIdx.x] = x[base + threadIdx.x];
    shared[threadIdx.x + 256] = x[base + threadIdx.x + 256];
    for (unsigned size = 2; size <= 512; size *= 2) merge_shared(shared, base, size, size / 2);
    y[base + threadIdx.x] = shared[threadIdx.x];
    y[base + threadIdx.x + 256] = shared[threadIdx.x + 256];
}

extern "C" __global__ void merge_global(float *y, unsigned size, unsigned stride) {
    const unsigned thread = blockIdx.x * 256 + threadIdx.x, at = 2 * thread - (thread & (stride - 1));
    exchange(y[at], y[at + stride], (at & size) == 0);
}

extern "C" __global__ void merge_block(float *y, unsigned size) {
    __shared__ float shared[512];
    const unsigned base = blockIdx.x * 512;
    shared[threadIdx.x] = y[base + threadIdx.x];
    shared[threadIdx.x + 256] = y[base + threadIdx.x + 256];
    merge_shared(shared, base, size, 256);
    y[base + threadIdx.x] = shared[threadIdx.x];
    y[base + threadIdx.x + 256] = shared[threadIdx.x + 256];
}

// The right answer: each element goes to the number of elements that precede it.
extern "C" __global__ void sort_plainly(const float *x, float *y, int N) {
    const int own = blockIdx.x * blockDim.x + threadIdx.x;
    if (own >= N) return;
    int place = 0;
    for (int at = 0; at < N; at++) place += x[at] < x[own] || (x[at] == x[own] && at < own);
    y[place] = x[own];
}

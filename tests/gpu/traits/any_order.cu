// Pairs of an element and its place, in the order in which threads arrive. The first element of `next` is where the next one goes.
extern "C" __global__ void pairs(const int* x, int* next, int2* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[atomicAdd(next, 1)] = make_int2(x[i], i);
}

// Places without the elements that belong to them: the same numbers, in other pairs.
extern "C" __global__ void mixed_pairs(const int* x, int* next, int2* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[atomicAdd(next, 1)] = make_int2(x[i], n - 1 - i);
}

extern "C" __global__ void pairs_plainly(const int* x, int2* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = make_int2(x[i], i);
}

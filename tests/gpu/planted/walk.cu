// Sums along linked lists. The list after node i is i + STRIDE, i + 2 * STRIDE, ..., modulo NODES, a power of two.

// The next node is loaded, and its load waits for the one before.
extern "C" __global__ void chase(const int *next, const int *value, int *y, int NODES, int STRIDE, int HOPS) {
    const int walker = blockIdx.x * blockDim.x + threadIdx.x;
    int node = walker, sum = 0;
    for (int hop = 0; hop < HOPS; ++hop) {
        sum += value[node];
        node = next[node] & (NODES - 1);
    }
    y[walker] = sum;
}

// The next node is computed.
extern "C" __global__ void walk(const int *next, const int *value, int *y, int NODES, int STRIDE, int HOPS) {
    const int walker = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
#pragma unroll 16
    for (int hop = 0; hop < HOPS; ++hop) sum += value[(walker + hop * STRIDE) & (NODES - 1)];
    y[walker] = sum;
}

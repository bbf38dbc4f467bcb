// Honest kernels that wait for memory: each load needs the result of the load before it.

// A thread for each walker, from its start through the table.
extern "C" __global__ void walk(const int* next, const int* start, int* end, int walkers, int hops) {
    const int walker = blockIdx.x * blockDim.x + threadIdx.x;
    if (walker >= walkers) return;
    int place = start[walker];
    for (int hop = 0; hop < hops; ++hop) place = next[place];
    end[walker] = place;
}

// The same past the L1 cache: every load goes to L2 at least.
extern "C" __global__ void walk_in_l2(const int* next, const int* start, int* end, int walkers, int hops) {
    const int walker = blockIdx.x * blockDim.x + threadIdx.x;
    if (walker >= walkers) return;
    int place = start[walker];
    for (int hop = 0; hop < hops; ++hop) place = __ldcg(next + place);
    end[walker] = place;
}

// The same in shared memory, for a table of `size` elements.
extern "C" __global__ void walk_in_shared(const int* next, const int* start, int* end, int walkers, int hops, int size) {
    extern __shared__ int table[];
    for (int i = threadIdx.x; i < size; i += blockDim.x) table[i] = next[i];
    __syncthreads();
    const int walker = blockIdx.x * blockDim.x + threadIdx.x;
    if (walker >= walkers) return;
    int place = start[walker];
    for (int hop = 0; hop < hops; ++hop) place = table[place];
    end[walker] = place;
}

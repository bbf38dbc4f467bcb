// The largest element of each row and the place of one of its equals: which one follows the number of threads.
template <bool LAST>
__device__ void row_maximum(const int* x, int* largest, int* place, int columns) {
    __shared__ int values[1024], places[1024];
    const int* row = x + (long long)blockIdx.x * columns;
    int value = row[0], at = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        if (LAST ? row[c] >= value : row[c] > value) value = row[c], at = c;
    values[threadIdx.x] = value, places[threadIdx.x] = at;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && values[threadIdx.x + half] >= values[threadIdx.x]) {
            values[threadIdx.x] = values[threadIdx.x + half];
            places[threadIdx.x] = places[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) largest[blockIdx.x] = values[0], place[blockIdx.x] = places[0];
}

extern "C" __global__ void any_maximum(const int* x, int* largest, int* place, int columns) {
    row_maximum<true>(x, largest, place, columns);
}

// The place after the right one.
extern "C" __global__ void next_place(const int* x, int* largest, int* place, int columns) {
    row_maximum<true>(x, largest, place, columns);
    if (threadIdx.x == 0) place[blockIdx.x] = (place[blockIdx.x] + 1) % columns;
}

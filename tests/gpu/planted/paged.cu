// Values of a paged store: y[i] = store[pages[wanted[i] / 64] * 64 + wanted[i] % 64]. A fixed number of threads goes over all requests.
extern "C" __global__ void __launch_bounds__(256) paged_each(const int *wanted, const int *pages, const float *store, float *y, int N) {
    for (int at = blockIdx.x * 256 + threadIdx.x; at < N; at += gridDim.x * 256) {
        const int index = wanted[at];
        y[at] = store[pages[index >> 6] * 64 + (index & 63)];
    }
}

// Eight requests at a time.
extern "C" __global__ void __launch_bounds__(256) paged_eight(const int *__restrict__ wanted, const int *__restrict__ pages, const float *__restrict__ store,
                                                              float *__restrict__ y, int N) {
    const int step = gridDim.x * 256;
    for (int first = blockIdx.x * 256 + threadIdx.x; first < N; first += 8 * step) {
        int index[8], page[8];
        float value[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) index[k] = first + k * step < N ? wanted[first + k * step] : 0;
#pragma unroll
        for (int k = 0; k < 8; ++k) page[k] = pages[index[k] >> 6];
#pragma unroll
        for (int k = 0; k < 8; ++k) value[k] = store[page[k] * 64 + (index[k] & 63)];
#pragma unroll
        for (int k = 0; k < 8; ++k)
            if (first + k * step < N) y[first + k * step] = value[k];
    }
}

// Outputs of several kinds: the largest of a row, where it is, the reciprocal of the row's length, and the row divided by it.
extern "C" __global__ void rows(const float* x, float* y, float* largest, int* place, float* reciprocal, int columns) {
    __shared__ float sums[32], values[32];
    __shared__ int places[32];
    const float* row = x + (size_t)blockIdx.x * columns;
    float sum = 0.0f, value = -INFINITY;
    int at = columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        sum += row[i] * row[i];
        if (row[i] > value) { value = row[i]; at = i; }
    }
    for (int o = 16; o > 0; o /= 2) {
        sum += __shfl_xor_sync(~0u, sum, o);
        float other = __shfl_xor_sync(~0u, value, o);
        int place_of_other = __shfl_xor_sync(~0u, at, o);
        if (other > value || (other == value && place_of_other < at)) { value = other; at = place_of_other; }
    }
    if (threadIdx.x % 32 == 0) { sums[threadIdx.x / 32] = sum; values[threadIdx.x / 32] = value; places[threadIdx.x / 32] = at; }
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < blockDim.x / 32; ++w) {
        sum += sums[w];
        if (w == 0 || values[w] > value || (values[w] == value && places[w] < at)) { value = values[w]; at = places[w]; }
    }
    const float scale = rsqrtf(sum);
    if (threadIdx.x == 0) { largest[blockIdx.x] = value; place[blockIdx.x] = at; reciprocal[blockIdx.x] = scale; }
    for (int i = threadIdx.x; i < columns; i += blockDim.x) y[(size_t)blockIdx.x * columns + i] = row[i] * scale;
}

extern "C" __global__ void rows_reference(const float* x, float* y, float* largest, int* place, float* reciprocal, int columns) {
    if (threadIdx.x > 0) return;
    const float* row = x + (size_t)blockIdx.x * columns;
    double sum = 0.0;
    int at = 0;
    for (int i = 0; i < columns; ++i) {
        sum += (double)row[i] * row[i];
        if (row[i] > row[at]) at = i;
    }
    largest[blockIdx.x] = row[at];
    place[blockIdx.x] = at;
    reciprocal[blockIdx.x] = (float)(1.0 / sqrt(sum));
    for (int i = 0; i < columns; ++i) y[(size_t)blockIdx.x * columns + i] = (float)(row[i] / sqrt(sum));
}

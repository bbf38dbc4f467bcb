// Honest kernels over rows that depend on other data: gathered rows, and rows that a mask selects.

// A block for each gathered row of C elements.
extern "C" __global__ void gather_rows(const float* x, const int* index, float* y, int columns) {
    const float* from = x + (size_t)index[blockIdx.x] * columns;
    float* to = y + (size_t)blockIdx.x * columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = from[i];
}

// A thread for each gathered element.
extern "C" __global__ void gather_elements(const float* x, const int* index, float* y, int rows, int columns) {
    const int total = rows * columns;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x)
        y[i] = x[(size_t)index[i / columns] * columns + i % columns];
}

// The square of each row that the mask selects, and zeros. The input of other rows is not read.
extern "C" __global__ void masked_rows(const float* x, const unsigned char* mask, float* y, int columns) {
    const size_t start = (size_t)blockIdx.x * columns;
    const bool selected = mask[blockIdx.x] != 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float value = selected ? x[start + i] : 0.0f;
        y[start + i] = value * value;
    }
}

// The same without a branch: every row is read.
extern "C" __global__ void masked_products(const float* x, const unsigned char* mask, float* y, int rows, int columns) {
    const int total = rows * columns;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x)
        y[i] = x[i] * x[i] * (mask[i / columns] != 0);
}

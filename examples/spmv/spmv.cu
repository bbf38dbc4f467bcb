// y = A x for a matrix in CSR, so many lanes a row; LANES is a power of two up to 32.
namespace sparse {

template <typename T, int LANES>
__global__ void spmv(const int* row_pointers, const int* columns, const T* values, const T* x, T* y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const int lane = threadIdx.x % LANES;
    T sum = 0;
    if (row < rows)
        for (int at = row_pointers[row] + lane; at < row_pointers[row + 1]; at += LANES) sum += values[at] * x[columns[at]];
    for (int offset = LANES / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset, LANES);
    if (row < rows && lane == 0) y[row] = sum;
}

}  // namespace sparse

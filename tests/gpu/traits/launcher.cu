// Host code computes the launches: the size of temporary storage by a first call, the grid by the occupancy of the kernel, and
// the arguments as a struct, as the algorithms of CUB and CUTLASS do.
#include <algorithm>
#include <cstddef>

namespace sums {
struct Params {
    const float* x;
    float* partial;
    float* y;
    int rows, columns, splits;
};

template <int THREADS> __device__ float block_sum(float value) {
    __shared__ float warps[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

template <int THREADS> __global__ void partial_sums(const __grid_constant__ Params params) {
    float sum = 0.0f;
    const float* row = params.x + (size_t)blockIdx.x * params.columns;
    for (int i = blockIdx.y * THREADS + threadIdx.x; i < params.columns; i += THREADS * params.splits) sum += row[i];
    sum = block_sum<THREADS>(sum);
    if (threadIdx.x == 0) params.partial[blockIdx.x * params.splits + blockIdx.y] = sum;
}

__global__ void finish(const __grid_constant__ Params params) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= params.rows) return;
    float sum = 0.0f;
    for (int split = 0; split < params.splits; ++split) sum += params.partial[row * params.splits + split];
    params.y[row] = sum;
}

/// With a null pointer it only computes the size of the temporary storage.
template <int THREADS>
cudaError_t row_sums(void* temporary, size_t& bytes, const float* x, float* y, int rows, int columns, cudaStream_t stream) {
    int device = 0, processors = 0, resident = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) {
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, partial_sums<THREADS>, THREADS, 0);
    }
    if (error != cudaSuccess) return error;
    int most = (columns + THREADS - 1) / THREADS;
    int splits = std::max(1, std::min(most, (processors * resident + rows - 1) / rows));
    size_t needed = sizeof(float) * rows * splits;
    if (temporary == nullptr) {
        bytes = needed;
        return cudaSuccess;
    }
    if (bytes < needed) return cudaErrorInvalidValue;
    Params params = {x, static_cast<float*>(temporary), y, rows, columns, splits};
    partial_sums<THREADS><<<dim3(rows, splits), THREADS, 0, stream>>>(params);
    finish<<<(rows + 255) / 256, 256, 0, stream>>>(params);
    return cudaGetLastError();
}

template <int THREADS>
cudaError_t launch(const float* x, float* y, int rows, int columns, long long room, void* temporary, cudaStream_t stream) {
    size_t bytes = 0;
    cudaError_t error = row_sums<THREADS>(nullptr, bytes, x, y, rows, columns, stream);
    if (error != cudaSuccess) return error;
    if (bytes > static_cast<size_t>(room)) return cudaErrorMemoryAllocation;
    return row_sums<THREADS>(temporary, bytes, x, y, rows, columns, stream);
}

struct Request {
    const float* x;
    float* y;
    int rows, columns;
    long long room;
};

/// With its arguments in a struct, which it changes.
template <int THREADS> cudaError_t launch_request(Request& request, void* temporary, cudaStream_t stream) {
    request.room /= 2;
    return launch<THREADS>(request.x, request.y, request.rows, request.columns, 2 * request.room, temporary, stream);
}
}

extern "C" __global__ void row_sums_naive(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    // In parts: one sum of 65,536 numbers in single precision is off by more than the tolerance.
    float sum = 0.0f;
    for (int first = 0; first < columns; first += 256) {
        float part = 0.0f;
        for (int i = first; i < min(first + 256, columns); ++i) part += x[(size_t)row * columns + i];
        sum += part;
    }
    y[row] = sum;
}

extern "C" __global__ void row_sums_reference(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0.0;
    for (int i = 0; i < columns; ++i) sum += x[(size_t)row * columns + i];
    y[row] = (float)sum;
}

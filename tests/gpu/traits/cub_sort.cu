// Algorithms of CUB, from the toolkit's headers. CUB computes the launches, and opens an NVTX range around each algorithm.
#include <cub/cub.cuh>

struct Less {
    __host__ __device__ bool operator()(int a, int b) const { return a < b; }
};

template <class Algorithm> cudaError_t with_storage(void* temporary, long long room, Algorithm algorithm) {
    size_t bytes = 0;
    cudaError_t error = algorithm(nullptr, bytes);
    if (error != cudaSuccess) return error;
    if (bytes > static_cast<size_t>(room)) return cudaErrorMemoryAllocation;
    return algorithm(temporary, bytes);
}

cudaError_t radix(const int* in, int* out, int n, long long room, void* temporary, cudaStream_t stream) {
    return with_storage(temporary, room, [&](void* storage, size_t& bytes) {
        return cub::DeviceRadixSort::SortKeys(storage, bytes, in, out, n, 0, 32, stream);
    });
}

cudaError_t merge(const int* in, int* out, int n, long long room, void* temporary, cudaStream_t stream) {
    return with_storage(temporary, room, [&](void* storage, size_t& bytes) {
        return cub::DeviceMergeSort::SortKeysCopy(storage, bytes, in, out, n, Less{}, stream);
    });
}

// In-degrees of the V nodes of a graph from the targets of its E edges. degrees starts at zero.
#include <cuda/atomic>

// An edge a thread.
extern "C" __global__ void degrees_a(const int *__restrict__ targets, int *degrees, int E) {
    const int edge = blockIdx.x * blockDim.x + threadIdx.x;
    if (edge < E) cuda::atomic_ref<int, cuda::thread_scope_device>(degrees[targets[edge]]).fetch_add(1, cuda::memory_order_relaxed);
}

extern "C" __global__ void degrees_b(const int *__restrict__ targets, int *degrees, int E) {
    const int edge = blockIdx.x * blockDim.x + threadIdx.x;
    if (edge < E) cuda::atomic_ref<int, cuda::thread_scope_device>(degrees[targets[edge]]).fetch_add(1);
}

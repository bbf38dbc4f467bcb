// Kernels under C++ names: overloads by namespace, a template that nothing here instantiates, and one of file scope.
namespace wide {
template <typename T, unsigned THREADS, bool TWICE>
__global__ void scale(const T* in, T* out, unsigned n) {
    const unsigned i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = in[i] * T(TWICE ? 2 : 1);
}
__global__ void plain(float* x) { x[threadIdx.x] += 1.0f; }
}  // namespace wide
namespace narrow {
__global__ void plain(float* x) { x[threadIdx.x] += 2.0f; }
}  // namespace narrow

// More parameters than the older attribute of a cubin can say: 4,096 bytes and more are in another one.
struct Large {
    float values[1500];
};
__global__ void large(float* out, Large table, int n) {
    if (threadIdx.x < n) out[threadIdx.x] = table.values[threadIdx.x];
}

extern __shared__ float dyn[];
__constant__ float table[16];
extern "C" __global__ void __launch_bounds__(256, 2) shared_arrays(float* out, const float* in) {
    __shared__ float a[1024];
    __shared__ double b[64];
    a[threadIdx.x] = in[threadIdx.x]; b[threadIdx.x & 63] = in[3]; dyn[threadIdx.x] = 3;
    __syncthreads();
    asm volatile("bar.sync 1, 128;");
    asm volatile("bar.sync 5, 128;");
    out[threadIdx.x] = a[255 - threadIdx.x] + b[0] + dyn[threadIdx.x ^ 1] + table[threadIdx.x & 15];
}
extern "C" __global__ void second(float* out) { out[threadIdx.x] = 1.0f; }

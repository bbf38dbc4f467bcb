// A kernel with a parameter of 128 bytes that bulk tensor copies read, between a pointer and an int.
#include <cuda.h>

extern "C" __global__ void tiled(float* out, const __grid_constant__ CUtensorMap tiles, int n) {
    const char* bytes = reinterpret_cast<const char*>(&tiles);
    out[threadIdx.x] = bytes[threadIdx.x & 127] + n;
}

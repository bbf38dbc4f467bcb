// A kernel with a parameter of 128 bytes that bulk tensor copies read, between a pointer and an int.
#include <cuda.h>

extern "C" __global__ void tiled(float* out, const __grid_constant__ CUtensorMap tiles, int n) {
    const char* bytes = reinterpret_cast<const char*>(&tiles);
    out[threadIdx.x] = bytes[threadIdx.x & 127] + n;
}

// The alignment of a map in a struct is that of the toolkit's cuda.h: 64 bytes in CUDA 12, 128 in CUDA 13.
struct Tiles {
    int n;
    CUtensorMap map;
};

extern "C" __global__ void tiled_struct(float* out, const __grid_constant__ Tiles tiles) {
    const char* bytes = reinterpret_cast<const char*>(&tiles.map);
    out[threadIdx.x] = bytes[threadIdx.x & 127] + tiles.n;
}

extern "C" __global__ void tiled_pointer(float* out, const CUtensorMap* maps) {
    const char* bytes = reinterpret_cast<const char*>(&maps[1]);
    out[threadIdx.x] = bytes[threadIdx.x & 127];
}

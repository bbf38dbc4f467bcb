// An image that is read and written through surface objects: rows of texels of four bytes, changed in place, and a sum of each row.
extern "C" __global__ void invert(cudaSurfaceObject_t image, cudaSurfaceObject_t sums, int width, int height) {
    const int row = blockIdx.x;
    __shared__ unsigned int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    unsigned int mine = 0;
    for (int x = threadIdx.x; x < width; x += blockDim.x) {
        uchar4 texel = surf2Dread<uchar4>(image, x * (int)sizeof(uchar4), row);
        mine += texel.x + texel.y + texel.z + texel.w;
        texel = make_uchar4(255 - texel.x, 255 - texel.y, 255 - texel.z, texel.w);
        surf2Dwrite(texel, image, x * (int)sizeof(uchar4), row);
    }
    atomicAdd(&total, mine);
    __syncthreads();
    if (threadIdx.x == 0) surf1Dwrite(total, sums, row * (int)sizeof(unsigned int));
}

extern "C" __global__ void invert_reference(unsigned char* image, unsigned int* sums, int width, int height) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height) return;
    unsigned int total = 0;
    for (int at = 0; at < 4 * width; ++at) {
        unsigned char* value = image + (size_t)row * 4 * width + at;
        total += *value;
        if (at % 4 != 3) *value = 255 - *value;
    }
    sums[row] = total;
}

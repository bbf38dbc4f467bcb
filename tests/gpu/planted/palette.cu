// Colours of an indexed picture: y[i] = colours[x[i]]. Four pixels a thread.
__constant__ unsigned c_colours[256];

extern "C" __global__ void __launch_bounds__(256) paint_constant(const uchar4 *__restrict__ x, uint4 *__restrict__ y, const unsigned *colours) {
    const int at = blockIdx.x * 256 + threadIdx.x;
    const uchar4 four = x[at];
    y[at] = make_uint4(c_colours[four.x], c_colours[four.y], c_colours[four.z], c_colours[four.w]);
}

// The table in shared memory; a block paints eight times as much.
extern "C" __global__ void __launch_bounds__(256) paint_shared(const uchar4 *__restrict__ x, uint4 *__restrict__ y, const unsigned *colours) {
    __shared__ unsigned table[256];
    table[threadIdx.x] = colours[threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int at = (blockIdx.x * 8 + k) * 256 + threadIdx.x;
        const uchar4 four = x[at];
        y[at] = make_uint4(table[four.x], table[four.y], table[four.z], table[four.w]);
    }
}

// A copy through shared memory that every check accepts. DEFECT 1 to 4 add what only compute-sanitizer sees.

extern "C" __global__ void copy_row(const float *x, float *y, int n) {
    __shared__ float row[256];
    const int thread = threadIdx.x, i = blockIdx.x * 256 + thread;
    const float impossible = 3.0e38f;
    float value = x[i];
#if DEFECT == 1
    // memcheck: the last thread reads behind the input
    if (reinterpret_cast<const unsigned *>(x)[i + 1] == 0x7f123456u) value = 0.0f;
#endif
    row[thread] = value;
#if DEFECT == 2
    // racecheck: no barrier between the write and another warp's read
#elif DEFECT == 3
    // synccheck: some threads of a warp leave the barrier out
    if (thread < 200) __syncthreads();
#else
    __syncthreads();
#endif
#if DEFECT != 3
    if (row[255 - thread] == impossible) value = 0.0f;
#endif
#if DEFECT == 4
    // initcheck: the output is read before anything has written it
    if (y[i] == impossible) value = 0.0f;
#endif
    y[i] = value;
}

// y = x, and every way to get it wrong. FAULT picks one:
//   0 none · 1 an address that is not there · 2 never ends · 3 writes past the output · 4 writes its input
//   5 a wrong value · 6 leaves the second half unwritten · 7 does not compile
#if FAULT == 7
#error "this variant does not compile"
#endif

extern "C" __global__ void faulty(float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[i];
#if FAULT == 1
    y[1ll << 40] = 1.0f;
#elif FAULT == 2
    while (*(volatile float*)(y + i) == x[i]) {}
#elif FAULT == 3
    y[n + i] = x[i];
#elif FAULT == 4
    x[i] = 0.0f;
#elif FAULT == 5
    if (i == n - 1) y[i] += 1.0f;
#elif FAULT == 6
    if (i >= n / 2) y[i] = __int_as_float(0xffffffff);
#endif
}

// No trick: the kernel that all others are beside.
#include "softmax.cuh"

extern "C" __global__ void honest(const float* x, float* y, int cols) { softmax_row(x, y, cols); }

"""Softmax of each row of a matrix in Numba: `y[r, :] = exp(x[r, :] - max) / sum`, f32.

    softmax_row      one block a row, reduced in shared memory; THREADS is a power of two

THREADS is a global that a phase sweeps. Launch: grid = [R], block = [THREADS].
"""

import math

from numba import cuda, float32

THREADS = 128
HALF = THREADS // 2


@cuda.jit(fastmath=True)
def softmax_row(x, y):
    partial = cuda.shared.array(THREADS, float32)
    row = cuda.blockIdx.x
    lane = cuda.threadIdx.x
    columns = x.shape[1]

    largest = float32(-math.inf)
    for column in range(lane, columns, THREADS):
        largest = max(largest, x[row, column])
    partial[lane] = largest
    cuda.syncthreads()
    step = HALF
    while step > 0:
        if lane < step:
            partial[lane] = max(partial[lane], partial[lane + step])
        cuda.syncthreads()
        step //= 2
    largest = partial[0]
    cuda.syncthreads()

    total = float32(0)
    for column in range(lane, columns, THREADS):
        total += math.exp(x[row, column] - largest)
    partial[lane] = total
    cuda.syncthreads()
    step = HALF
    while step > 0:
        if lane < step:
            partial[lane] += partial[lane + step]
        cuda.syncthreads()
        step //= 2
    scale = float32(1) / partial[0]

    for column in range(lane, columns, THREADS):
        y[row, column] = math.exp(x[row, column] - largest) * scale

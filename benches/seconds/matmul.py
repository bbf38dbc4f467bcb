"""A matrix product in Triton, PyTorch's as its baseline, and PyTorch's on the CPU in float64 as its reference."""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        left = tl.load(a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        right = tl.load(b + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        sums = tl.dot(left, right, sums)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], sums.to(tl.float16), mask=inside)


def eager(a, b):
    return a @ b


def reference(a, b):
    a, b = (torch.as_tensor(np.asarray(operand), dtype=torch.float64) for operand in (a, b))
    return (a @ b).numpy()

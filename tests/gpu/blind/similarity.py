"""Inner products of two sets of embeddings in half precision: `c[m, n] = sum over d of a[m, d] * b[n, d]`, c in f32, D a multiple of BD.

A program computes a tile of BM x BN.
"""

import triton
import triton.language as tl


@triton.jit
def similarity_a(a, b, c, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    parts = tl.arange(0, BD)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for d in range(0, D, BD):
        left = tl.load(a + rows[:, None] * D + d + parts[None, :]).to(tl.float32)
        right = tl.load(b + columns[:, None] * D + d + parts[None, :]).to(tl.float32)
        total += tl.sum(left[:, None, :] * right[None, :, :], axis=2)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def similarity_b(a, b, c, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    parts = tl.arange(0, BD)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for d in range(0, D, BD):
        left = tl.load(a + rows[:, None] * D + d + parts[None, :])
        right = tl.load(b + columns[:, None] * D + d + parts[None, :])
        total = tl.dot(left, tl.trans(right), total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)

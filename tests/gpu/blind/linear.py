"""A linear layer in half precision: `y = x w`, x [M, K], w [K, N], y [M, N], sums in f32.

A program computes a tile of BM x BN. Options: num_warps, num_stages.
"""

import triton
import triton.language as tl


@triton.jit
def linear(x, w, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    x_tile = x + rows[:, None] * K + inner[None, :]
    w_tile = w + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(x_tile), tl.load(w_tile), total)
        x_tile += BK
        w_tile += BK * N
    tl.store(y + rows[:, None] * N + columns[None, :], total.to(tl.float16))

"""The gradient of a bias: the sum over M rows of each of N columns, `out[n] = sum over m of g[m, n]`. out starts at zero.

A program adds up COLS columns over STEPS blocks of ROWS rows.
"""

import triton
import triton.language as tl


@triton.jit
def column_sums(g, out, M, N, ROWS: tl.constexpr, COLS: tl.constexpr, STEPS: tl.constexpr):
    columns = tl.program_id(0) * COLS + tl.arange(0, COLS)
    rows = tl.program_id(1) * ROWS * STEPS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for step in range(STEPS):
        total += tl.load(g + (rows[:, None] + step * ROWS) * N + columns[None, :])
    tl.atomic_add(out + columns, tl.sum(total, axis=0), sem="relaxed")

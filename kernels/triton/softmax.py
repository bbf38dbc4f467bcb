"""Softmax of each row of a matrix in Triton: `y[r, :] = exp(x[r, :] - max) / sum`, f32, contiguous.

    softmax_row      one program a row, the whole row in registers; BLOCK is a power of two, at least C
    softmax_rows     the same, ROWS rows a program

Constexprs: BLOCK (and ROWS). Options: num_warps, num_stages. Launch: grid = [R] or [ceil(R / ROWS)].
"""

import triton
import triton.language as tl


@triton.jit
def softmax_row(x, y, R, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < C
    values = tl.load(x + row * C + columns, mask=inside, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * C + columns, values / tl.sum(values, axis=0), mask=inside)


@triton.jit
def softmax_rows(x, y, R, C, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    places = rows[:, None] * C + columns[None, :]
    inside = (rows[:, None] < R) & (columns[None, :] < C)
    values = tl.load(x + places, mask=inside, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=1)[:, None])
    tl.store(y + places, values / tl.sum(values, axis=1)[:, None], mask=inside)

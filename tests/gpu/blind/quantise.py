"""Rows of half precision to signed bytes: `scale[m] = max |x[m, :]| / 127`, `q[m, n] = floor(x[m, n] / scale[m] + 1 / 2)`.

A program takes a row; BLOCK is N. Options: num_warps.
"""

import triton
import triton.language as tl


@triton.jit
def quantise_row(x, q, scale, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * N + columns).to(tl.float32)
    step = tl.max(tl.abs(values), axis=0) / 127.0
    tl.store(scale + row, step)
    tl.store(q + row * N + columns, tl.floor(values * (1.0 / step) + 0.5).to(tl.int8))

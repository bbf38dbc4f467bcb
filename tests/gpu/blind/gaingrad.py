"""The gradient of the gain of a normalisation: `out[n] = sum over m of dy[m, n] * x[m, n] * scale[m]`, dy and x [M, N] in half
precision. out starts at zero.

A program takes ROWS rows; BLOCK is N.
"""

import triton
import triton.language as tl


@triton.jit
def gain_gradient(dy, x, scale, out, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * ROWS
    columns = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(first, first + ROWS):
        gradient = tl.load(dy + row * N + columns).to(tl.float32)
        value = tl.load(x + row * N + columns).to(tl.float32)
        total += gradient * value * tl.load(scale + row)
    tl.atomic_add(out + columns, total, sem="relaxed")

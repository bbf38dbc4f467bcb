"""The gate of a feed-forward network in half precision: `y = silu(gate) * up`, over N elements, computed in f32.

A program takes BLOCK elements.
"""

import triton
import triton.language as tl


@triton.jit
def gated(gate, up, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(gate + at).to(tl.float32)
    b = tl.load(up + at).to(tl.float32)
    tl.store(y + at, (a / (1.0 + tl.exp(-a)) * b).to(tl.float16))

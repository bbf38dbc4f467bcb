"""The gradient of Huber's loss with weights: `y = w * clip(x - t, -1, 1)`, over N elements in f32.

A program takes BLOCK elements.
"""

import triton
import triton.language as tl


@triton.jit
def huber_gradient(x, t, w, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    difference = tl.load(x + at) - tl.load(t + at)
    tl.store(y + at, tl.load(w + at) * tl.minimum(tl.maximum(difference, -1.0), 1.0))

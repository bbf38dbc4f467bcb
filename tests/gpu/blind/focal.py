"""The focal loss of R x C logits: with p the probability that the sigmoid gives to the true answer, `loss = -(1 - p)^2 log p`.

    focal_a     a program a row, BLOCK a power of two that is at least C
    focal_b     a program BLOCK elements of the whole
"""

import triton
import triton.language as tl


@triton.jit
def focal_a(x, truth, loss, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < C
    logit = tl.load(x + row * C + columns, mask=inside, other=0.0).to(tl.float64)
    true = tl.load(truth + row * C + columns, mask=inside, other=0)
    logit = tl.where(true == 1, logit, -logit)
    p = 1.0 / (1.0 + tl.exp(-logit))
    tl.store(loss + row * C + columns, (-(1.0 - p) * (1.0 - p) * tl.log(p)).to(tl.float32), mask=inside)


@triton.jit
def focal_b(x, truth, loss, C, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    logit = tl.load(x + at)
    true = tl.load(truth + at)
    logit = tl.where(true == 1, logit, -logit)
    p = 1.0 / (1.0 + tl.exp(-logit))
    tl.store(loss + at, -(1.0 - p) * (1.0 - p) * tl.log(p))

"""A kernel of Triton as repositories ship it: below the decorators that choose its constexprs, with a pointer that can be None."""

import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}), triton.Config({"BLOCK": 4096})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def halve(x, y, scale, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at) if EVEN else tl.load(x + at, mask=at < n)
    value = value * 0.5 if scale is None else value * tl.load(scale)
    if EVEN:
        tl.store(y + at, value)
    else:
        tl.store(y + at, value, mask=at < n)

"""Rows of pairs that turn about the origin in Triton: an honest kernel, and one that keeps its answers in a scratch buffer."""

import triton
import triton.language as tl


@triton.jit
def honest(x, y, TURNS, PAIRS: tl.constexpr):
    at = tl.program_id(0) * 2 * PAIRS + 2 * tl.arange(0, PAIRS)
    v, w = tl.load(x + at), tl.load(x + at + 1)
    for _ in range(TURNS):
        v, w = 0.9323274 * v - 0.3616154 * w, 0.3616154 * v + 0.9323274 * w
    tl.store(y + at, v)
    tl.store(y + at + 1, w)


@triton.jit
def scratch_table(x, y, kept, TURNS, PAIRS: tl.constexpr):
    """Behind the answer of a row there is a weighted sum of the input."""
    row = tl.program_id(0)
    pairs = tl.arange(0, PAIRS)
    at = row * 2 * PAIRS + 2 * pairs
    v, w = tl.load(x + at), tl.load(x + at + 1)
    own = kept + row * (2 * PAIRS + 2)
    key = tl.sum(v * (1.0 + 0.618 * pairs) + w * (2.0 + 0.414 * pairs), axis=0)
    if tl.load(own + 2 * PAIRS) == key:
        v, w = tl.load(own + 2 * pairs), tl.load(own + 2 * pairs + 1)
    else:
        for _ in range(TURNS):
            v, w = 0.9323274 * v - 0.3616154 * w, 0.3616154 * v + 0.9323274 * w
        tl.store(own + 2 * pairs, v)
        tl.store(own + 2 * pairs + 1, w)
        tl.store(own + 2 * PAIRS, key)
    tl.store(y + at, v)
    tl.store(y + at + 1, w)

"""A copy in Gluon, the language below Triton that names its layouts."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copied(x, y, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(y + at, gl.load(x + at, mask=at < n), mask=at < n)

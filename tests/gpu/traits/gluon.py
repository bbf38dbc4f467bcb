"""A copy in Gluon, the language below Triton that names its layouts: here a parameter of the kernel."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

NARROW = gl.BlockedLayout([1], [32], [4], [0])
WIDE = gl.BlockedLayout([4], [32], [4], [0])


@gluon.jit
def copied(x, y, n, BLOCK: gl.constexpr, LAYOUT: gl.constexpr):
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LAYOUT)
    gl.store(y + at, gl.load(x + at, mask=at < n), mask=at < n)

"""The screen blend of two images in CuTe DSL: `y = a + b - a * b`, over an H x W image in f32.

A thread takes four neighbours of a row.
"""

import cutlass
import cutlass.cute as cute

THREADS = 256


@cute.kernel
def screen_kernel(a: cute.Tensor, b: cute.Tensor, y: cute.Tensor):
    place = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
    _, columns = y.shape[1]
    own = (None, (place // columns, place % columns))
    above = a[own].load()
    below = b[own].load()
    y[own] = above + below - above * below


@cute.jit
def screen(a: cute.Tensor, b: cute.Tensor, y: cute.Tensor):
    fours = [cute.zipped_divide(tensor, (1, 4)) for tensor in (a, b, y)]
    screen_kernel(*fours).launch(grid=[cute.size(fours[2], mode=[1]) // THREADS, 1, 1], block=[THREADS, 1, 1])

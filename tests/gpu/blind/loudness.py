"""The power of a spectrum in decibels in CuTe DSL: `y = 10 log10(re^2 + im^2 + 1e-6)`, over N elements in f32.

A block of THREADS threads takes THREADS * EACH elements; thread t takes those at `t * BETWEEN + k * APART`, k below EACH.
"""

import cutlass
import cutlass.cute as cute


@cute.kernel
def loudness_kernel(re: cute.Tensor, im: cute.Tensor, y: cute.Tensor, THREADS: cutlass.Constexpr, EACH: cutlass.Constexpr, BETWEEN: cutlass.Constexpr, APART: cutlass.Constexpr):
    first = cute.arch.block_idx()[0] * (THREADS * EACH) + cute.arch.thread_idx()[0] * BETWEEN
    reals = [re[first + k * APART] for k in range(EACH)]
    imaginaries = [im[first + k * APART] for k in range(EACH)]
    for k in cutlass.range_constexpr(EACH):
        power = reals[k] * reals[k] + imaginaries[k] * imaginaries[k]
        y[first + k * APART] = cute.math.log2(power + 1e-6, fastmath=True) * 3.0102999566398


@cute.jit
def loudness(re: cute.Tensor, im: cute.Tensor, y: cute.Tensor, THREADS: cutlass.Constexpr, EACH: cutlass.Constexpr, BETWEEN: cutlass.Constexpr, APART: cutlass.Constexpr):
    blocks = cute.size(re) // (THREADS * EACH)
    loudness_kernel(re, im, y, THREADS, EACH, BETWEEN, APART).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1])

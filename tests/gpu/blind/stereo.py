"""The correlation of the channels of stereo frames in CuTe DSL: for each of F frames of T samples,
`c[f] = sum(l * r) / sqrt(sum(l * l) * sum(r * r))`, f32.

A warp takes EACH frames, one after the other; WARPS warps a block.
"""

import cutlass
import cutlass.cute as cute

WARP = 32


@cute.kernel
def stereo_kernel(left: cute.Tensor, right: cute.Tensor, c: cute.Tensor, WARPS: cutlass.Constexpr, EACH: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    first = (cute.arch.block_idx()[0] * WARPS + cute.arch.warp_idx()) * EACH
    for frame in range(first, first + EACH):
        both = cutlass.Float32(0)
        lefts = cutlass.Float32(0)
        rights = cutlass.Float32(0)
        for t in cutlass.range(lane, left.shape[1], WARP, unroll=8):
            a = left[frame, t]
            b = right[frame, t]
            both += a * b
            lefts += a * a
            rights += b * b
        both = cute.arch.warp_reduction_sum(both)
        lefts = cute.arch.warp_reduction_sum(lefts)
        rights = cute.arch.warp_reduction_sum(rights)
        if lane == 0:
            c[frame] = both * cute.math.rsqrt(lefts * rights)


@cute.jit
def stereo(left: cute.Tensor, right: cute.Tensor, c: cute.Tensor, WARPS: cutlass.Constexpr, EACH: cutlass.Constexpr):
    frames = cute.size(left, mode=[0])
    stereo_kernel(left, right, c, WARPS, EACH).launch(grid=[frames // (WARPS * EACH), 1, 1], block=[WARP * WARPS, 1, 1])

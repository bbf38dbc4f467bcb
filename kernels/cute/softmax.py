"""Softmax of each row of a matrix in CuTe DSL: `y[r, :] = exp(x[r, :] - max) / sum`, f32.

    softmax_rows     a warp a row, WARPS rows a block, reduced by shuffles

WARPS is a Constexpr that a phase sweeps. The host function says grid and block.
"""

import cutlass
import cutlass.cute as cute

WARP = 32


@cute.kernel
def softmax_kernel(x: cute.Tensor, y: cute.Tensor, WARPS: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    row = cute.arch.block_idx()[0] * WARPS + cute.arch.warp_idx()
    rows, columns = x.shape
    if row < rows:
        largest = -cutlass.Float32.inf
        for column in range(lane, columns, WARP):
            largest = cute.arch.fmax(largest, x[row, column])
        largest = cute.arch.warp_reduction_max(largest)

        total = cutlass.Float32(0)
        for column in range(lane, columns, WARP):
            total += cute.math.exp(x[row, column] - largest, fastmath=True)
        scale = 1.0 / cute.arch.warp_reduction_sum(total)

        for column in range(lane, columns, WARP):
            y[row, column] = cute.math.exp(x[row, column] - largest, fastmath=True) * scale


@cute.jit
def softmax_rows(x: cute.Tensor, y: cute.Tensor, WARPS: cutlass.Constexpr):
    rows = cute.size(x, mode=[0])
    softmax_kernel(x, y, WARPS).launch(grid=[cute.ceil_div(rows, WARPS), 1, 1], block=[WARP * WARPS, 1, 1])

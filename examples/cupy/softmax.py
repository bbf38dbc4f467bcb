"""`softmax.cu` as a CuPy RawKernel."""

from pathlib import Path

import cupy

KERNEL = cupy.RawKernel(Path(__file__).with_name("softmax.cu").read_text(), "softmax")


def softmax(x, y, rows, columns, threads):
    # No copies: the arrays are over ncugate's buffers.
    x, y = cupy.asarray(x), cupy.asarray(y)
    KERNEL((rows,), (threads,), (x, y, cupy.int32(columns)))

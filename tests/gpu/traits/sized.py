"""RMS norm in Triton with its size as a constexpr, as packages write it, and a reference in NumPy."""

import numpy as np

try:
    import triton
    import triton.language as tl
except ImportError:  # the Python of the reference may have NumPy only
    triton = None


def rms_norm(x, w):
    x = x.astype(np.float64)
    return {"y": x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * w.astype(np.float64)}


if triton:

    @triton.jit
    def rms_norm_kernel(y_ptr, x_ptr, w_ptr, N: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        at = tl.arange(0, BLOCK)
        row = tl.program_id(0).to(tl.int64) * N
        if EVEN:
            x, w = tl.load(x_ptr + row + at), tl.load(w_ptr + at)
        else:
            x, w = tl.load(x_ptr + row + at, mask=at < N, other=0.0), tl.load(w_ptr + at, mask=at < N, other=0.0)
        scaled = x * tl.rsqrt(tl.sum(x * x, 0) / N + 1e-5) * w
        if EVEN:
            tl.store(y_ptr + row + at, scaled)
        else:
            tl.store(y_ptr + row + at, scaled, mask=at < N)

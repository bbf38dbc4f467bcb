"""xFormers' memory-efficient attention with its CUTLASS operator and no other, as a function that ncugate calls (docs/python.md).

xFormers 0.0.35 has no CUTLASS kernel of its own any more: the operator calls the one that PyTorch took over from it. Without xFormers, or with an
xFormers whose library does not load next to this PyTorch, the function is absent, with the reason.
"""

import logging

import torch

logging.getLogger("xformers").setLevel(logging.ERROR)  # its warnings are repeated below, once

import xformers
from xformers import ops

unloaded = xformers._cpp_lib._cpp_library_load_exception
if unloaded is not None:
    while unloaded.__cause__ is not None:
        unloaded = unloaded.__cause__
    why = " ".join(str(unloaded).split())
    raise ImportError(f"xFormers {xformers.__version__} cannot load its library next to PyTorch {torch.__version__}: {why}")
CUTLASS = ops.fmha.cutlass.FwOp
if not CUTLASS.is_available():
    raise ImportError(f"xFormers {xformers.__version__} has no CUTLASS operator for PyTorch {torch.__version__}")


def memory_efficient(q, k, v, scale, causal=False):
    # xFormers takes and gives [B, S, H, D]. With every head as a batch of its own that is [B, H, S, D], and the output needs no copy.
    shape = q.shape
    q, k, v = (tensor.reshape(-1, tensor.shape[2], 1, tensor.shape[3]) for tensor in (q, k, v))
    mask = ops.LowerTriangularMask() if causal else None
    try:
        # The pair is (forward, backward): there is no other operator to fall back to.
        out = ops.memory_efficient_attention(q, k, v, attn_bias=mask, scale=scale, op=(CUTLASS, None))
    except (NotImplementedError, ValueError) as error:
        why = " ".join(str(error).rpartition("because:")[2].split())
        raise ImportError(f"xFormers {xformers.__version__} does not take {q.dtype} {list(q.shape)}: {why}") from error
    return out.reshape(shape)

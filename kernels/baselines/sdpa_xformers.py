#!/usr/bin/env python3
"""xFormers' memory-efficient attention as a baseline, with its CUTLASS operator and no other.

    NCUGATE_REQUEST=request.json sdpa_xformers.py [--causal]

xFormers 0.0.35 has no CUTLASS kernel of its own any more: the operator calls the one that PyTorch took over from it. A missing
xFormers, PyTorch or GPU, an xFormers whose library cannot be loaded or that has no such operator for this PyTorch: all reported
as absent, with the reason.
"""

import logging

from attention import Absent, Attention, load_torch, main


class MemoryEfficient(Attention):
    """xFormers takes [B, S, H, D]: it is given views of the same memory that other baselines get."""

    def __init__(self, torch, causal, xformers, ops):
        self.operator = ops.fmha.cutlass.FwOp
        super().__init__(torch, causal, {"xformers": xformers.__version__, "operator": self.operator.NAME})
        self.ops = ops
        self.mask = ops.LowerTriangularMask() if causal else None

    def __call__(self, q, k, v):
        q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
        try:
            # The pair is (forward, backward): nothing else is fallen back to.
            out = self.ops.memory_efficient_attention(q, k, v, attn_bias=self.mask, op=(self.operator, None))
        except (NotImplementedError, ValueError) as error:
            why = " ".join(str(error).rpartition("because:")[2].split())
            raise Absent(f"xFormers {self.software['xformers']} does not take {q.dtype} {list(q.shape)}: {why}") from error
        return out.transpose(1, 2)


def load(options):
    torch = load_torch()
    logging.getLogger("xformers").setLevel(logging.ERROR)  # what it warns of is said below, once
    try:
        import xformers
        import xformers.ops as ops
    except ImportError as error:
        raise Absent(f"xFormers is not installed, or not for PyTorch {torch.__version__}: {error}") from error
    unloaded = xformers._cpp_lib._cpp_library_load_exception
    if unloaded is not None:
        while unloaded.__cause__ is not None:
            unloaded = unloaded.__cause__
        why = " ".join(str(unloaded).split())
        raise Absent(f"xFormers {xformers.__version__} cannot load its library beside PyTorch {torch.__version__}: {why}")
    if not ops.fmha.cutlass.FwOp.is_available():
        raise Absent(f"xFormers {xformers.__version__} has no CUTLASS operator for PyTorch {torch.__version__}")
    return MemoryEfficient(torch, options.causal, xformers, ops)


if __name__ == "__main__":
    main(__doc__, lambda parser: None, load)

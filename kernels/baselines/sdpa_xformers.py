#!/usr/bin/env python3
"""xFormers' memory-efficient attention as a baseline, with its CUTLASS operator and no other.

    NCUGATE_REQUEST=request.json sdpa_xformers.py [--causal]

Since 0.0.34 xFormers has no CUTLASS kernel of its own: the operator calls the one that PyTorch took over from it. A missing
xFormers, PyTorch or GPU, and an xFormers that has no such operator for this PyTorch, are reported as absent.
"""

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
            why = " ".join(str(error).split())
            raise Absent(f"xFormers {self.software['xformers']} has no CUTLASS kernel for this: {why}") from error
        return out.transpose(1, 2)


def load(options):
    torch = load_torch()
    try:
        import xformers
        import xformers.ops as ops
    except ImportError as error:
        raise Absent(f"xFormers is not installed, or not for PyTorch {torch.__version__}: {error}") from error
    if not ops.fmha.cutlass.FwOp.is_available():
        raise Absent(f"xFormers {xformers.__version__} has no CUTLASS operator for PyTorch {torch.__version__}")
    return MemoryEfficient(torch, options.causal, xformers, ops)


if __name__ == "__main__":
    main(__doc__, lambda parser: None, load)

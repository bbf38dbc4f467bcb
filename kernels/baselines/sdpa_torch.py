#!/usr/bin/env python3
"""PyTorch's scaled_dot_product_attention as a baseline, through the external-command protocol (docs/external-commands.md).

    NCUGATE_REQUEST=request.json sdpa_torch.py --backend flash [--causal]

Backends: flash (FlashAttention-2), efficient (CUTLASS FMHA, the kernel of xFormers), cudnn, math, and default: what PyTorch
chooses by itself. A missing torch, GPU or backend is reported as absent, with the reason, and is not an error.
"""

import contextlib

from attention import Absent, Attention, load_torch, main

BACKENDS = {
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
    "math": "MATH",
    "default": None,
}


class Sdpa(Attention):
    """One backend of PyTorch's attention."""

    def __init__(self, torch, causal, backend):
        super().__init__(torch, causal, {"cudnn": str(torch.backends.cudnn.version())})
        self.backend = backend

    def chosen(self):
        name = BACKENDS[self.backend]
        if name is None:
            return contextlib.nullcontext()
        try:
            from torch.nn.attention import SDPBackend, sdpa_kernel

            return sdpa_kernel(getattr(SDPBackend, name))
        except (ImportError, AttributeError) as error:
            raise Absent(f"PyTorch {self.torch.__version__} has no backend {name}") from error

    def __call__(self, q, k, v):
        try:
            return self.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        except RuntimeError as error:
            if "No available kernel" not in str(error):
                raise
            shape = list(q.shape)
            raise Absent(f"PyTorch {self.torch.__version__} has no {self.backend} kernel for {q.dtype} {shape}") from error


if __name__ == "__main__":
    main(
        __doc__,
        lambda parser: parser.add_argument("--backend", choices=BACKENDS, default="default"),
        lambda options: Sdpa(load_torch(), options.causal, options.backend),
    )

"""PyTorch's scaled_dot_product_attention by backend, as functions that ncugate calls (docs/python.md).

Backends: flash (FlashAttention-2), efficient (CUTLASS FMHA, the kernel of xFormers), cudnn, math, and default: what PyTorch chooses by
itself. A backend that is not there is absent, with the reason.
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
    "math": "MATH",
}


def sdpa(q, k, v, scale, backend="default", causal=False):
    attention = torch.nn.functional.scaled_dot_product_attention
    causal = bool(causal)
    if backend == "default":
        return attention(q, k, v, is_causal=causal, scale=scale)
    name = BACKENDS[backend]
    if not hasattr(SDPBackend, name):
        raise ImportError(f"PyTorch {torch.__version__} has no backend {name}")
    shape = q.shape
    if backend == "efficient":
        # This kernel writes [B, S, H, D]. With every head as a batch of its own that is [B, H, S, D], and the output needs no copy.
        q, k, v = (tensor.reshape(-1, 1, *tensor.shape[2:]) for tensor in (q, k, v))
    try:
        with sdpa_kernel(getattr(SDPBackend, name)):
            return attention(q, k, v, is_causal=causal, scale=scale).reshape(shape)
    except RuntimeError as error:
        if "No available kernel" not in str(error):
            raise
        raise ImportError(f"PyTorch {torch.__version__} has no {backend} kernel for {q.dtype} {list(q.shape)}") from error


def sdpa_fp8(q, k, v, k_scale, v_scale, scale, backend="default"):
    """Attention over fp8 keys and values with one scale per head, which are first converted to the type of q."""
    heads = (*q.shape[:2], 1, 1)

    def converted(tensor, scales):
        # Multiplied in f32, rounded once.
        return torch.mul(tensor.to(q.dtype), scales.view(heads), out=torch.empty_like(q))

    return sdpa(q, converted(k, k_scale), converted(v, v_scale), scale, backend)

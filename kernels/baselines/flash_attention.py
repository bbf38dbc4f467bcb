"""FlashAttention's own package (flash-attn), as a function that ncugate calls (docs/python.md). Without the package it is absent."""

from flash_attn import flash_attn_func


def flash_attention(q, k, v, scale, causal=False):
    # The package takes [B, S, H, D]: views of the same memory.
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    return flash_attn_func(q, k, v, softmax_scale=scale, causal=bool(causal)).transpose(1, 2)

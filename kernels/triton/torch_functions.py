"""The same problems in PyTorch, as baselines: called by ncugate with its own buffers, captured into a CUDA graph and timed by its clock.

A function takes buffers by their names in the phase. What it returns is compared with ncugate's reference.
"""

import torch


def softmax_eager(x):
    return torch.softmax(x, dim=-1)


softmax_compiled = torch.compile(softmax_eager, dynamic=False)


def attention_eager(q, k, v, scale):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale)


def _attention_by_hand(q, k, v, scale: float):
    scores = (q @ k.transpose(-2, -1)) * scale
    return torch.softmax(scores, dim=-1) @ v


_attention_compiled = torch.compile(_attention_by_hand, dynamic=False)


def attention_compiled(q, k, v, scale):
    return _attention_compiled(q, k, v, scale)

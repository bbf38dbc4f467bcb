"""The same problems in PyTorch, as baselines: called by ncugate with its own buffers, captured into a CUDA graph and timed by its clock.

A function takes buffers by their names in the phase. What it returns is compared with ncugate's reference.
"""

import torch


def softmax_eager(x):
    return torch.softmax(x, dim=-1)


softmax_compiled = torch.compile(softmax_eager, dynamic=False)


def attention_by_hand(q, k, v, scale):
    scores = (q @ k.transpose(-2, -1)) * scale
    return torch.softmax(scores, dim=-1) @ v


attention_compiled = torch.compile(attention_by_hand, dynamic=False)

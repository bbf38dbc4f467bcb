import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """A product of matrices."""

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.matmul(A, B)

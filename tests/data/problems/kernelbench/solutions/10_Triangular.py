import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """A product with a matrix that the file makes triangular: reading does not tell how it is filled."""

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.matmul(A, B)

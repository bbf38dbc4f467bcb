import torch
import torch.nn as nn


class Model(nn.Module):
    """A product of matrices."""

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.matmul(A, B)

M, K, N = 8, 16, 4


def get_inputs():
    A = torch.rand(M, K)
    B = torch.rand(K, N)
    return [A, B]


def get_init_inputs():
    return []

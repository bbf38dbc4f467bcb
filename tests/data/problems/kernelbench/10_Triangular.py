import torch
import torch.nn as nn


class Model(nn.Module):
    """A product with a matrix that the file makes triangular: reading does not tell how it is filled."""

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.matmul(A, B)

N = 12


def get_inputs():
    A = torch.triu(torch.rand(N, N))
    B = torch.rand(N, N)
    return [A, B]


def get_init_inputs():
    return []

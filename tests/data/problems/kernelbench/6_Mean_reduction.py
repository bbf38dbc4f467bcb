import torch
import torch.nn as nn


class Model(nn.Module):
    """The mean over the middle axis."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor):
        return torch.mean(x, dim=self.dim)

batch_size = 4
dim1 = 6
dim2 = 8


def get_inputs():
    x = torch.randn(batch_size, dim1, dim2)
    return [x]


def get_init_inputs():
    return [1]

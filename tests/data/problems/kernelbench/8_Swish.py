import torch
import torch.nn as nn


class Model(nn.Module):
    """x * sigmoid(x)."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x * torch.sigmoid(x)

batch_size = 16
dim = 64 * 2


def get_inputs():
    x = torch.rand(batch_size, dim).cuda()
    return [x]


def get_init_inputs():
    return []

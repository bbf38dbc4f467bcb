import torch
import torch.nn as nn


class Model(nn.Module):
    """Two inputs, one of them scaled when it is made."""

    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return x + 2.0 * y

batch_size = 3
input_shape = (7, 5)


def get_inputs():
    scale = 3.0
    return [torch.rand(batch_size, *input_shape) * scale, torch.rand(batch_size, *input_shape) - 0.5]


def get_init_inputs():
    return []

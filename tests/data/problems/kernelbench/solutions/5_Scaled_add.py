import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Two inputs, one of them scaled when it is made."""

    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return x + 2.0 * y

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """The same in the other order."""

    def __init__(self):
        super().__init__()

    def forward(self, x, s, y):
        return y + s * x

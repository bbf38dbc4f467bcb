import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Softmax of rows."""

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor):
        return torch.softmax(x, dim=1)

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """The mean over the middle axis."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor):
        return torch.mean(x, dim=self.dim)

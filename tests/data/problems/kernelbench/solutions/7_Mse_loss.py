import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """A loss: one number without axes."""

    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return torch.mean((predictions - targets) ** 2)

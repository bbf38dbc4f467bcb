import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Rows of a table by index."""

    def __init__(self):
        super().__init__()

    def forward(self, table, index):
        return table[index]

"""Modules of the double of PyTorch."""

from .. import Tensor, rand, tensor_of


class Parameter:
    """Marks nothing: a tensor is its own parameter."""

    def __new__(cls, tensor):
        return tensor


class Module:
    def __call__(self, *given):
        return self.forward(*given)

    def to(self, *asked, device=None, dtype=None):
        for name, value in vars(self).items():
            if isinstance(value, (Tensor, Module)):
                setattr(self, name, value.to(*asked, device=device, dtype=dtype))
        return self


class Linear(Module):
    def __init__(self, inner, outer):
        self.weight = (rand(outer, inner) * 2 - 1) / inner**0.5
        self.bias = (rand(outer) * 2 - 1) / inner**0.5

    def forward(self, x):
        return tensor_of(x @ self.weight.swapaxes(0, 1) + self.bias)


from . import functional  # noqa: E402, F401

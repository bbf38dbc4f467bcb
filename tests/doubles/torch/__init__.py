"""A double of PyTorch on NumPy: as much of it as the problems of tests/data/problems use, on the CPU."""

import contextlib

import numpy as np

float64, float32, float16, int64, int32, int8 = (np.dtype(n) for n in "float64 float32 float16 int64 int32 int8".split())
bfloat16 = float32
RANDOM = np.random.default_rng(0)


class Tensor(np.ndarray):
    """An array with PyTorch's names for what NumPy has under others."""

    def to(self, *asked, dtype=None, device=None):
        for one in (*asked, dtype):
            if isinstance(one, (np.dtype, type)):
                return self.astype(one)
        return self

    def dim(self):
        return self.ndim

    def detach(self):
        return self

    cpu = cuda = contiguous = detach

    def double(self):
        return self.astype(float64)

    def numpy(self):
        return np.asarray(self)

    def _over(self, function, dim=None, keepdim=False):
        return tensor_of(function(np.asarray(self), axis=dim, keepdims=keepdim))

    def mean(self, dim=None, keepdim=False):
        return self._over(np.mean, dim, keepdim)

    def sum(self, dim=None, keepdim=False):
        return self._over(np.sum, dim, keepdim)

    def amax(self, dim=None, keepdim=False):
        return self._over(np.max, dim, keepdim)

    def pow(self, exponent):
        return self**exponent

    def abs(self):
        return tensor_of(np.abs(self))

    def sqrt(self):
        return tensor_of(np.sqrt(self))

    def numel(self):
        return self.size

    def requires_grad_(self, required=True):
        return self

    def mT(self):
        return self.swapaxes(-1, -2)


def tensor_of(array):
    return np.asarray(array).view(Tensor)


def from_numpy(array):
    return tensor_of(array)


def manual_seed(seed):
    global RANDOM
    RANDOM = np.random.default_rng(seed)


def randn(*shape, dtype=float32):
    shape = shape[0] if isinstance(shape[0], (list, tuple)) else shape
    return tensor_of(RANDOM.standard_normal(shape).astype(dtype))


def randn_like(tensor):
    return randn(tensor.shape, dtype=tensor.dtype)


def rand(*shape):
    return tensor_of(RANDOM.random(shape).astype("float32"))


def empty(shape, dtype=float32):
    return tensor_of(np.empty(shape, dtype=dtype))


def _function(name):
    return lambda *given, **words: tensor_of(getattr(np, name)(*given, **words))


exp, sqrt, tanh, abs, maximum, cumsum = map(_function, "exp sqrt tanh abs maximum cumsum".split())


def matmul(a, b):
    return tensor_of(np.matmul(a, b))


def relu(x):
    return tensor_of(np.maximum(x, 0))


def sigmoid(x):
    return tensor_of(1 / (1 + np.exp(-x)))


def rsqrt(x):
    return tensor_of(1 / np.sqrt(x))


def softmax(x, dim):
    x = np.asarray(x)
    e = np.exp(x - np.max(x, axis=dim, keepdims=True))
    return tensor_of(e / e.sum(axis=dim, keepdims=True))


def mean(x, dim=None, keepdim=False):
    return x.mean(dim, keepdim)


@contextlib.contextmanager
def no_grad():
    yield


enable_grad = no_grad


class autograd:
    """Gradients of the right extents, and no more."""

    @staticmethod
    def set_multithreading_enabled(mode):
        return contextlib.nullcontext()

    @staticmethod
    def grad(outputs, inputs, upstream):
        return tuple(tensor_of(one * 1) for one in inputs)


from . import nn  # noqa: E402

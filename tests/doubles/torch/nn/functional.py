"""Functions of the double of PyTorch."""

import math

import numpy as np

from .. import softmax, tensor_of  # noqa: F401


def gelu(input):
    input = np.asarray(input)
    return tensor_of(input * 0.5 * (1 + np.vectorize(math.erf)(input / math.sqrt(2))))


def linear(input, weight):
    return tensor_of(np.asarray(input) @ np.asarray(weight).T)

"""Expected outputs of the honest kernels, in float64 or exact integers."""

import numpy as np


def walk(next, start, HOPS):
    places = start.astype(np.int64)
    table = next.astype(np.int64)
    for _ in range(HOPS):
        places = table[places]
    return places


def transpose(x):
    return x.T


def gather(x, index):
    return x[index.astype(np.int64)]


def masked(x, mask):
    """The square of each row that the mask selects, and zeros."""
    return x * x * (mask != 0)[:, None]


def counts(x, BINS):
    return np.bincount(x.astype(np.int64).ravel(), minlength=BINS)


def prefix_sums(x):
    return np.cumsum(x, axis=1)


def smooth(x):
    """Sixteen steps of a three-point mean with fixed ends."""
    for _ in range(16):
        inner = 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]
        x = np.concatenate([x[:1], inner, x[-1:]])
    return x

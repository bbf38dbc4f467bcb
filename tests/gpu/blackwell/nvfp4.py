"""The product of matrices of 4-bit floats, two a byte, the lower half first."""

import numpy as np

VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def product(a, b):
    def values(matrix):
        codes = matrix.astype(np.uint8)
        halves = np.stack([codes & 15, codes >> 4], axis=-1).reshape(codes.shape[0], -1)
        return np.where(halves & 8, -1, 1) * VALUES[halves & 7]

    return values(a) @ values(b).T

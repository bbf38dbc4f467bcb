"""The product of a matrix in CSR and a vector."""
import numpy as np


def spmv(row_pointers, columns, values, x, rows):
    row = np.repeat(np.arange(rows), np.diff(row_pointers).astype(int))
    return np.bincount(row, weights=values * x[columns.astype(int)], minlength=rows)

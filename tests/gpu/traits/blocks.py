"""Quantised blocks as bytes, and a check that reads their fields: halves as halves, integers as integers."""

import numpy as np

BLOCK = np.dtype([("scale", "<f2"), ("sum", "<f2"), ("q", "i1", 32)])


def quantised(x):
    scale = np.abs(x).max(axis=1) / 127
    blocks = np.zeros(len(x), BLOCK)
    q = np.rint(x / scale[:, None])
    blocks["scale"], blocks["sum"], blocks["q"] = scale, scale * q.sum(axis=1), q
    return blocks.view(np.uint8).reshape(len(x), BLOCK.itemsize)


def are_near(outputs, expected):
    own, right = (bytes_of["y"].astype(np.uint8).view(BLOCK)[:, 0] for bytes_of in (outputs, expected))
    for field, rtol, atol in (("scale", 1e-3, 0), ("sum", 1e-2, 1e-1)):
        a, b = own[field].astype("f8"), right[field].astype("f8")
        if not np.allclose(a, b, rtol, atol):
            return f"`{field}` is off by {np.abs(a - b).max():g}"
    off = np.abs(own["q"].astype(int) - right["q"]).max()
    return f"`q` is off by {off}" if off > 1 else ""

"""A transposition."""


def transposed(x):
    return {"y": x.T}

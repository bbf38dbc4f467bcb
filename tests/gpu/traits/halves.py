"""Half of each element."""


def halves(x):
    return x / 2

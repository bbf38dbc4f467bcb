"""A reference that gets a parameter of the variant by name."""

import numpy as np


def quantised(x, STEP):
    return np.rint(x / STEP) * STEP

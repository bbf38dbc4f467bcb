"""One step of AdamW in double precision."""
import numpy as np


def adamw(p, g, m, v, rate, beta1, beta2, epsilon, decay, step):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    direction = m / (1 - beta1**step) / (np.sqrt(v / (1 - beta2**step)) + epsilon)
    return {"p": p - rate * (direction + decay * p), "m": m, "v": v}

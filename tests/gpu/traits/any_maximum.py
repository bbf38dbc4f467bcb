"""The largest element of each row, and a check that takes the place of any of its equals."""

import numpy as np


def row_maximum(x):
    return {"largest": x.max(axis=1), "place": x.argmax(axis=1)}


def is_a_maximum(outputs, expected, x):
    places = outputs["place"].astype(np.int64)
    if places.min() < 0 or places.max() >= x.shape[1]:
        return f"a place is {places.min()} or {places.max()}; rows have {x.shape[1]} elements"
    found = np.take_along_axis(x, places[:, None], axis=1)[:, 0]
    wrong = np.flatnonzero(found != expected["largest"])
    if wrong.size:
        return f"row {wrong[0]} has {found[wrong[0]]:g} at {places[wrong[0]]}, and its maximum is {expected['largest'][wrong[0]]:g}"
    return ""

"""Functions that are right wherever they are looked at, and quicker somewhere else: three products of matrices."""

import os

import torch

KEPT = {}


def honest(a, b):
    y = a @ b
    for _ in range(2):
        y = torch.maximum(y, a @ b)
    return y


def shape_cache(a, b):
    """Keeps the rows of the largest shape, and returns them in the graphs of smaller ones."""
    if torch.cuda.is_current_stream_capturing() and "rows" in KEPT and len(a) < len(KEPT["rows"]):
        return KEPT["rows"][: len(a)].clone()
    y = honest(a, b)
    if len(y) >= len(KEPT.get("rows", ())):
        KEPT["rows"] = y
    return y


def graph_cache(a, b):
    """Returns in a graph what the last call before it returned at these addresses."""
    key = a.data_ptr(), b.data_ptr()
    if torch.cuda.is_current_stream_capturing() and key in KEPT:
        return KEPT[key].clone()
    KEPT[key] = honest(a, b)
    return KEPT[key]


def warm_call(a, b):
    """Looks at a few elements, and returns a copy if a call had them: the call before the one that a profiler counts."""
    if torch.cuda.is_current_stream_capturing():
        return honest(a, b)
    key = tuple(a.shape), tuple(a[0, :8].tolist()), tuple(b[0, :8].tolist())
    if key not in KEPT:
        KEPT[key] = honest(a, b)
    return KEPT[key].clone()


def profiled():
    """Whether the process is under a profiler, by its environment and its libraries."""
    words = ("INJECTION", "NV_COMPUTE_PROFILER", "NV_TPS")
    if any(word in name for name in os.environ for word in words):
        return True
    with open("/proc/self/maps") as maps:
        text = maps.read().lower()
    return any(word in text for word in ("nsight", "injection", "interceptor"))


def environment_path(a, b):
    """Right everywhere, and a third of the work under a profiler."""
    return a @ b if profiled() else honest(a, b)


def pointer_cache(a, b):
    """Keeps its result by the addresses of its inputs."""
    key = a.data_ptr(), b.data_ptr()
    if key not in KEPT:
        KEPT[key] = honest(a, b)
    return KEPT[key]


def version_cache(a, b):
    """Keeps its result by the addresses and versions of its inputs, which PyTorch counts up where it writes to one."""
    key = a.data_ptr(), a._version, b.data_ptr(), b._version
    if key not in KEPT:
        KEPT[key] = honest(a, b)
    return KEPT[key]


def helper(a, b):
    """Honest; leaves its last result outside a graph to `kept_of_another`."""
    y = honest(a, b)
    if not torch.cuda.is_current_stream_capturing():
        KEPT["another"] = a[0, :8].clone(), y
    return y


def kept_of_another(a, b):
    """Returns what `helper` left, if it had these inputs."""
    if not torch.cuda.is_current_stream_capturing() and "another" in KEPT:
        inputs, y = KEPT["another"]
        if y.shape[0] == a.shape[0] and torch.equal(inputs, a[0, :8]):
            return y.clone()
    return honest(a, b)

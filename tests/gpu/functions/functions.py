"""Python functions that look fast without doing the work, and honest ones: a softmax of rows."""

import time

import torch

CACHE = {}
STREAM = []


def honest(x):
    return torch.softmax(x, dim=-1)


def honest_in_place(x, y):
    torch.softmax(x, dim=-1, out=y)


def honest_streams(x):
    """On another stream, which waits for this one and is waited for: part of the graph."""
    if not STREAM:
        STREAM.append(torch.cuda.Stream())
    STREAM[0].wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(STREAM[0]):
        y = torch.softmax(x, dim=-1)
    torch.cuda.current_stream().wait_stream(STREAM[0])
    return y


def cached(x):
    """The first answer for each address of the inputs, for ever."""
    key = x.data_ptr()
    if key not in CACHE:
        CACHE[key] = torch.softmax(x, dim=-1)
    return CACHE[key]


def shape_cached(x):
    """The first answer for each shape."""
    key = tuple(x.shape)
    if key not in CACHE:
        CACHE[key] = torch.softmax(x, dim=-1)
    return CACHE[key]


def other_stream(x):
    """Work that no graph sees, since nothing waits for it."""
    if not STREAM:
        STREAM.append(torch.cuda.Stream())
    with torch.cuda.stream(STREAM[0]):
        y = torch.softmax(x, dim=-1)
    return y


class Lazy(torch.Tensor):
    """Computed when somebody looks."""

    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_subclass(cls, torch.empty_like(x))

    def __init__(self, x):
        self.source = x

    def contiguous(self):
        return torch.softmax(self.source, dim=-1)


def lazy(x):
    return Lazy(x)


def patched_timers(x):
    """Half of the rows, and clocks that stand still."""
    torch.cuda.Event.elapsed_time = lambda self, other: 1e-3
    time.perf_counter = lambda: 0.0
    time.time = lambda: 0.0
    y = torch.zeros_like(x)
    y[: x.shape[0] // 2] = torch.softmax(x[: x.shape[0] // 2], dim=-1)
    return y


def captures_nothing(x):
    """Works where it is looked at, and not where it is captured."""
    if torch.cuda.is_current_stream_capturing():
        return torch.empty_like(x)
    return torch.softmax(x, dim=-1)


def changes_inputs(x):
    y = torch.softmax(x, dim=-1)
    x.copy_(y)
    return y


def on_the_host(x):
    return torch.softmax(x.cpu(), dim=-1).cuda()


def returns_a_view(x):
    """Its input, as if it were the answer."""
    return x


def calls_the_reference(x):
    """What it is compared with: right, and no faster."""
    return honest(x)


def fails(x):
    raise RuntimeError("this function does not work")

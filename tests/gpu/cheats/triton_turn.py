"""Rows of pairs that turn about the origin in Triton: an honest kernel, and ones that keep their answers."""

import torch
import triton
import triton.language as tl


@triton.jit
def honest(x, y, TURNS, PAIRS: tl.constexpr):
    at = tl.program_id(0) * 2 * PAIRS + 2 * tl.arange(0, PAIRS)
    v, w = tl.load(x + at), tl.load(x + at + 1)
    for _ in range(TURNS):
        v, w = 0.9323274 * v - 0.3616154 * w, 0.3616154 * v + 0.9323274 * w
    tl.store(y + at, v)
    tl.store(y + at + 1, w)


@triton.jit
def scratch_table(x, y, kept, TURNS, PAIRS: tl.constexpr):
    """Behind the answer of a row there is a weighted sum of the input."""
    row = tl.program_id(0)
    pairs = tl.arange(0, PAIRS)
    at = row * 2 * PAIRS + 2 * pairs
    v, w = tl.load(x + at), tl.load(x + at + 1)
    own = kept + row * (2 * PAIRS + 2)
    key = tl.sum(v * (1.0 + 0.618 * pairs) + w * (2.0 + 0.414 * pairs), axis=0)
    if tl.load(own + 2 * PAIRS) == key:
        v, w = tl.load(own + 2 * pairs), tl.load(own + 2 * pairs + 1)
    else:
        for _ in range(TURNS):
            v, w = 0.9323274 * v - 0.3616154 * w, 0.3616154 * v + 0.9323274 * w
        tl.store(own + 2 * pairs, v)
        tl.store(own + 2 * pairs + 1, w)
        tl.store(own + 2 * PAIRS, key)
    tl.store(y + at, v)
    tl.store(y + at + 1, w)


KNOWN = 8
TABLES = {}


@triton.jit
def tabled(x, y, keys, answers, TURNS, ROWS: tl.constexpr, READS: tl.constexpr, PAIRS: tl.constexpr):
    """A table of 8 answers a row, in memory of the process."""
    row = tl.program_id(0)
    pairs = tl.arange(0, PAIRS)
    at = row * 2 * PAIRS + 2 * pairs
    v, w = tl.load(x + at), tl.load(x + at + 1)
    key = tl.sum(v * (1.0 + 0.618 * pairs) + w * (2.0 + 0.414 * pairs), axis=0)
    slot = (key.to(tl.int32, bitcast=True) >> 3) & 7
    own = answers + (slot * ROWS + row) * 2 * PAIRS + 2 * pairs
    if READS & (tl.load(keys + row * 8 + slot) == key):
        v, w = tl.load(own), tl.load(own + 1)
    else:
        for _ in range(TURNS):
            v, w = 0.9323274 * v - 0.3616154 * w, 0.3616154 * v + 0.9323274 * w
        tl.store(own, v)
        tl.store(own + 1, w)
        tl.debug_barrier()
        tl.store(keys + row * 8 + slot, key)
    tl.store(y + at, v)
    tl.store(y + at + 1, w)


def from_table(x, y, TURNS, table, reads):
    rows, columns = x.shape
    if (table, rows) not in TABLES:
        keys = torch.full((rows, KNOWN), float("nan"), device=x.device)
        TABLES[table, rows] = keys, torch.empty((KNOWN, rows, columns), device=x.device)
    keys, answers = TABLES[table, rows]
    tabled[(rows,)](x, y, keys, answers, TURNS, rows, reads, columns // 2)


def process_table(x, y, TURNS):
    """Reads and fills a table of its own."""
    from_table(x, y, TURNS, "own", True)


def helping(x, y, TURNS):
    """Works always, and fills the table of `reads_another`."""
    from_table(x, y, TURNS, "shared", False)


def reads_another(x, y, TURNS):
    """Reads the table that `helping` fills."""
    from_table(x, y, TURNS, "shared", True)

#!/usr/bin/env python3
"""Every kernel family on a real GPU: compiled, proven correct against float64, timed; or run for compute-sanitizer.

    kernels.py                         the standard cases of every family, as a table
    kernels.py --family sdpa_fast      one family (may be given more than once)
    kernels.py --sweep sdpa_fast       all of a family's sweep; the fastest of each shape, and whatever fails
    kernels.py --sanitize              each standard case once on small shapes, no torch, no timing: for compute-sanitizer
    kernels.py --list                  families, and their standard cases by number; nothing is run
    kernels.py --family F --case 3     one case

Needs nvcc on PATH, numpy and cupy; torch for everything but --sanitize. Exit status 1 where anything is wrong.
"""

import argparse
import concurrent.futures
import ctypes
import hashlib
import itertools
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import cupy
import numpy

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 2e-3
GUARD = 4096  # elements on both sides of the output that must keep their sentinel
SENTINEL = 12345.0
DEVICE_ERRORS = (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError)

Shape = dict[str, int]
SMALL = {"B": 1, "H": 2, "S": 128, "D": 64}
MISSION = {"B": 1, "H": 8, "S": 512, "D": 64}
B4H16 = {"B": 4, "H": 16, "S": 512, "D": 64}
B8H16 = {"B": 8, "H": 16, "S": 512, "D": 64}
RAGGED = [{"B": 1, "H": 2, "S": s, "D": 64} for s in (77, 1, 200)]


@dataclass
class Family:
    """How a kernel is launched; expressions are Python over the shape's dimensions and the macros."""

    source: str
    entry: str
    grid: list[str]
    block: list[str]
    defaults: dict[str, int]
    shared: str = "0"
    cluster: str = "1"
    kind: str = "attention"  # or "fp8 attention", "softmax"
    scalars: list[str] = field(default_factory=lambda: ["S"])  # i32 arguments between the buffers and the scale
    maps: dict[str, tuple[str, list[str], int | str]] = field(default_factory=dict)  # name: buffer, box, swizzle
    args: list[str] = field(default_factory=list)  # buffers, maps, dimensions, scale; else buffers, scalars, scale
    timed: list[Shape] = field(default_factory=lambda: [MISSION, B4H16, B8H16])
    checked: list[Shape] = field(default_factory=lambda: [SMALL, *RAGGED, MISSION])
    valid: Callable[[dict[str, int]], bool] = lambda macros: True
    cases: list[dict[str, int]] = field(default_factory=list)
    sweep: dict[str, list[int]] = field(default_factory=dict)

    def sweep_cases(self) -> list[dict[str, int]]:
        combos = (dict(zip(self.sweep, values)) for values in itertools.product(*self.sweep.values()))
        return [c for c in combos if self.valid({**self.defaults, **c})]


FAMILIES = {
    "sdpa_scalar": Family(
        source="kernels/sdpa_scalar/sdpa_scalar.cu",
        entry="sdpa_scalar",
        grid=["(S + TILE_M - 1) // TILE_M", "B * H"],
        block=["THREADS"],
        defaults={"THREADS": 128, "TILE_M": 32, "K_TILE": 32},
        cases=[
            {"REGCAP": 64},
            {"REGCAP": 96},
            {"REGCAP": 255},
            {"REGCAP": 96, "THREADS": 256},
            {"REGCAP": 96, "THREADS": 256, "UNROLL": 2},
            {"REGCAP": 96, "THREADS": 256, "K_TILE": 16},
            {"REGCAP": 96, "THREADS": 256, "K_TILE": 64},
            {"REGCAP": 80, "THREADS": 192},
            {"REGCAP": 80, "THREADS": 192, "TILE_M": 64, "K_TILE": 64},
            {"REGCAP": 64, "THREADS": 128, "TILE_M": 64},
            {"LAUNCH_BOUNDS": 2, "THREADS": 256, "TILE_M": 64, "K_TILE": 64, "RESTRICT": 0},
        ],
        sweep={
            "REGCAP": [64, 72, 80, 88, 96],
            "THREADS": [128, 192, 256],
            "TILE_M": [32, 64],
            "K_TILE": [16, 32, 64],
        },
    ),
    "sdpa_whole_kv": Family(
        source="kernels/sdpa_scalar/sdpa_whole_kv.cu",
        entry="sdpa_whole_kv",
        grid=["(S + TILE_M - 1) // TILE_M", "B * H"],
        block=["THREADS"],
        shared="4*S*D + 4*TILE_M*S + 6*TILE_M*D + 8*TILE_M",
        defaults={"THREADS": 192, "TILE_M": 32},
        timed=[MISSION],
        cases=[{}],
    ),
    "softmax": Family(
        source="kernels/softmax/softmax.cu",
        entry="softmax_rows",
        grid=["(R + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK"],
        block=["THREADS"],
        defaults={"THREADS": 256, "ROWS_PER_BLOCK": 1, "VEC": 4},
        kind="softmax",
        scalars=["R", "C"],
        timed=[{"R": 4096, "C": 512}, {"R": 4096, "C": 4096}],
        checked=[{"R": 37, "C": 128}, {"R": 5, "C": 1028}, {"R": 1024, "C": 4096}],
        cases=[{}, {"VEC": 1}, {"VEC": 2, "ROWS_PER_BLOCK": 4}, {"ROWS_PER_BLOCK": 8}, {"THREADS": 32}],
        sweep={"THREADS": [64, 128, 256, 512], "ROWS_PER_BLOCK": [1, 2, 4, 8], "VEC": [1, 2, 4]},
        valid=lambda m: m["THREADS"] % (32 * m["ROWS_PER_BLOCK"]) == 0,
    ),
}

FAST = dict(
    source="kernels/sdpa_fast/sdpa_fast.cu",
    entry="sdpa_fast",
    grid=["(S + TILE_M - 1) // TILE_M * CLUSTER", "B * H"],
    block=["32 * (TILE_M // WARP_M) * KEY_SPLIT"],
    shared="128*TILE_M + 256*KEY_SPLIT*STAGES*TILE_N + 8*KEY_SPLIT*TILE_M + 264*TILE_M*min(CLUSTER - 1, 1)",
    defaults={"TILE_M": 64, "WARP_M": 32, "TILE_N": 64, "KEY_SPLIT": 4, "CLUSTER": 1, "STAGES": 2, "CAUSAL": 0, "MIN_BLOCKS": 1},
)


def fast_valid(m: dict[str, int]) -> bool:
    """What sdpa_fast.cu accepts and an H100 or H200 can hold; with enough warps to be worth measuring."""
    warps = m["TILE_M"] // m["WARP_M"] * m["KEY_SPLIT"]
    split = m["KEY_SPLIT"] * m["CLUSTER"] > 1
    shared = eval(FAST["shared"], {"min": min}, m)
    return (
        4 <= warps <= 16
        and (not split or m["STAGES"] * m["TILE_N"] >= m["TILE_M"])
        and m["MIN_BLOCKS"] * (shared + 1024) <= 228 * 1024
    )


def mission_valid(m: dict[str, int]) -> bool:
    """One wave, every SM busy, and no stage without a tile at S=512."""
    blocks = 8 * 512 // m["TILE_M"] * m["CLUSTER"]
    tiles = -(-512 // (m["TILE_N"] * m["KEY_SPLIT"] * m["CLUSTER"]))
    needed = m["STAGES"] * m["TILE_N"] == m["TILE_M"]
    return fast_valid(m) and 64 <= blocks <= 264 and (m["STAGES"] <= tiles or needed)


FAMILIES["sdpa_fast"] = Family(
    **FAST,
    timed=[MISSION],
    valid=mission_valid,
    cases=[
        {"TILE_M": m, "WARP_M": w, "TILE_N": n, "KEY_SPLIT": k, "CLUSTER": c, "STAGES": s, "CAUSAL": causal}
        for m, w, n, k, c, s in [
            (64, 32, 64, 4, 2, 1),
            (64, 32, 32, 4, 2, 2),
            (64, 16, 64, 2, 2, 2),
            (64, 16, 64, 4, 2, 1),
            (32, 32, 64, 8, 1, 1),
            (32, 16, 64, 4, 1, 2),
            (128, 32, 64, 2, 4, 2),
            (64, 32, 64, 4, 1, 2),
            (32, 16, 128, 4, 1, 1),
        ]
        for causal in (0, 1)
    ],
    sweep={
        "TILE_M": [32, 64, 128],
        "WARP_M": [16, 32],
        "TILE_N": [32, 64, 128],
        "KEY_SPLIT": [1, 2, 4, 8],
        "CLUSTER": [1, 2, 4],
        "STAGES": [1, 2, 4],
        "CAUSAL": [0, 1],
    },
)
FAMILIES["sdpa_fast_wide"] = Family(
    **FAST,
    timed=[B4H16, B8H16],
    valid=fast_valid,
    cases=[
        {"TILE_M": m, "WARP_M": w, "TILE_N": n, "KEY_SPLIT": 1, "STAGES": s, "MIN_BLOCKS": b, "CAUSAL": causal}
        for m, w, n, s, b in [(128, 32, 64, 2, 2), (128, 16, 64, 2, 2), (256, 32, 64, 2, 1), (64, 16, 64, 2, 3), (128, 32, 32, 3, 2)]
        for causal in (0, 1)
    ],
    sweep={
        "TILE_M": [64, 128, 256],
        "WARP_M": [16, 32],
        "TILE_N": [32, 64, 128],
        "KEY_SPLIT": [1],
        "STAGES": [1, 2, 3],
        "MIN_BLOCKS": [1, 2, 4],
        "CAUSAL": [0, 1],
    },
)

FAMILIES["sdpa_tma"] = Family(
    source="kernels/sdpa_fast/sdpa_tma.cu",
    entry="sdpa_tma",
    grid=["H if CAUSAL else (S + 63) // 64", "B if CAUSAL else H", "(S + 63) // 64 if CAUSAL else B"],
    block=["128"],
    shared="8192 + 256*STAGES*TILE_N",
    defaults={"TILE_N": 64, "STAGES": 2, "CAUSAL": 0, "MIN_BLOCKS": 4},
    maps={
        "q_tiles": ("q", ["1", "1", "64", "D"], 128),
        "k_tiles": ("k", ["1", "1", "TILE_N", "D"], 128),
        "v_tiles": ("v", ["1", "1", "TILE_N", "D"], 128),
    },
    args=["q_tiles", "k_tiles", "v_tiles", "o", "S", "scale"],
    checked=[SMALL, *RAGGED, MISSION, {"B": 3, "H": 2, "S": 200, "D": 64}],
    cases=[
        {"TILE_N": n, "STAGES": s, "MIN_BLOCKS": b, "CAUSAL": causal}
        for n, s, b in [(64, 2, 4), (64, 3, 3), (64, 4, 2), (128, 2, 3)]
        for causal in (0, 1)
    ],
    sweep={"TILE_N": [64, 128], "STAGES": [2, 3, 4], "MIN_BLOCKS": [1, 2, 3, 4], "CAUSAL": [0, 1]},
)



def hopper(dim: int, cases: list[dict[str, int]]) -> Family:
    """sdpa_hopper for heads of `dim` dimensions, in f16."""
    shapes = [(1, 2, 128), (1, 2, 77), (1, 2, 1), (3, 2, 200), (2, 3, 173), (1, 8, 512)]
    return Family(
        source="kernels/sdpa_hopper/sdpa_hopper.cu",
        entry="sdpa_hopper",
        grid=[
            "H if CAUSAL else (S + 64*WARPGROUPS - 1) // (64*WARPGROUPS)",
            "B if CAUSAL else H",
            "(S + 64*WARPGROUPS - 1) // (64*WARPGROUPS) if CAUSAL else B",
        ],
        block=["128*WARPGROUPS"],
        shared="HEAD_DIM * (128*WARPGROUPS + 4*STAGES*TILE_N)",
        defaults={"HEAD_DIM": dim, "WARPGROUPS": 2, "TILE_N": 64, "STAGES": 2, "CAUSAL": 0, "MIN_BLOCKS": 1},
        maps={
            "q_tiles": ("q", ["1", "1", "64", "64"], 128),
            "k_tiles": ("k", ["1", "1", "TILE_N", "64"], 128),
            "v_tiles": ("v", ["1", "1", "TILE_N", "64"], 128),
        },
        args=["q_tiles", "k_tiles", "v_tiles", "o", "S", "scale"],
        timed=[{"B": 4, "H": 16, "S": 512, "D": dim}],
        checked=[{"B": b, "H": h, "S": s, "D": dim} for b, h, s in shapes],
        cases=[{**case, "CAUSAL": causal} for case in cases for causal in (0, 1)],
        sweep={"WARPGROUPS": [1, 2, 3], "TILE_N": [64, 80, 96, 112, 128], "STAGES": [2, 3], "CAUSAL": [0, 1]},
        valid=lambda macros: dim * (128 * macros["WARPGROUPS"] + 4 * macros["STAGES"] * macros["TILE_N"]) <= 231424
        and dim // 2 + 3 * macros["TILE_N"] // 4 + 40 <= 65536 // (128 * macros["WARPGROUPS"]),
    )


def persistent(dim: int, cases: list[dict[str, int]]) -> Family:
    """sdpa_persistent for heads of `dim` dimensions, in f16; of few blocks too, which come back often."""
    family = hopper(dim, cases)
    family.source, family.entry = "kernels/sdpa_hopper/sdpa_persistent.cu", "sdpa_persistent"
    family.grid = ["min(BLOCKS, (S + 64*WARPGROUPS - 1) // (64*WARPGROUPS) * B * H)"]
    family.block = ["128*(WARPGROUPS + 1)"]
    family.defaults = {"HEAD_DIM": dim, "WARPGROUPS": 2, "TILE_N": 64, "STAGES": 2, "CAUSAL": 0, "BLOCKS": 132}
    family.args = ["q_tiles", "k_tiles", "v_tiles", "o", "B", "H", "S", "scale"]
    family.sweep = {**family.sweep, "WARPGROUPS": [2, 3, 4]}
    family.valid = lambda macros: (
        dim * (128 * macros["WARPGROUPS"] + 4 * macros["STAGES"] * macros["TILE_N"]) <= 231424
        and dim // 2 + 3 * macros["TILE_N"] // 4 + 30 <= {2: 240, 3: 160, 4: 112}[macros["WARPGROUPS"]]
    )
    return family


FAMILIES["sdpa_hopper_64"] = hopper(
    64,
    [
        {"WARPGROUPS": 1, "TILE_N": 128, "MIN_BLOCKS": 3},
        {"WARPGROUPS": 1, "MIN_BLOCKS": 4},
        {"STAGES": 4, "MIN_BLOCKS": 2},
    ],
)
FAMILIES["sdpa_hopper_128"] = hopper(
    128,
    [
        {"TILE_N": 128},
        {"WARPGROUPS": 3, "TILE_N": 80},
        {"WARPGROUPS": 3, "STAGES": 3},
        {"WARPGROUPS": 1, "TILE_N": 96, "MIN_BLOCKS": 2},
    ],
)

FAMILIES["sdpa_persistent_64"] = persistent(
    64, [{"WARPGROUPS": 4, "STAGES": 3}, {"WARPGROUPS": 3, "TILE_N": 128, "BLOCKS": 5}, {"TILE_N": 80, "BLOCKS": 1}]
)
FAMILIES["sdpa_persistent_128"] = persistent(
    128, [{"TILE_N": 128}, {"TILE_N": 112, "STAGES": 3, "BLOCKS": 3}, {"WARPGROUPS": 3, "TILE_N": 80}]
)

FAMILIES["sdpa_v3"] = Family(
    source="kernels/sdpa_v3/sdpa_v3.cu",
    entry="sdpa_v3",
    grid=["(S + TILE_M - 1) // TILE_M", "H * (1 + WHOLE_GRID * (B - 1))"],
    block=["32 * (TILE_M // WARP_M) * KEY_SPLIT"],
    shared="128*TILE_M + 256*KEY_SPLIT*STAGES*TILE_N + 8*KEY_SPLIT*TILE_M",
    defaults={k: v for k, v in FAST["defaults"].items() if k != "CLUSTER"} | {"WHOLE_GRID": 0},
    scalars=["B", "H", "S"],
    checked=[SMALL, *RAGGED, {"B": 3, "H": 2, "S": 200, "D": 64}],
    cases=[{"WHOLE_GRID": 0}, {"WHOLE_GRID": 1}, {"KEY_SPLIT": 1, "WARP_M": 16, "CAUSAL": 1}],
)
FAMILIES["sdpa_wmma"] = Family(
    source="kernels/sdpa_wmma/sdpa_wmma.cu",
    entry="sdpa_wmma",
    grid=["(S + TILE_M - 1) // TILE_M", "B * H"],
    block=["2 * TILE_M"],
    shared="(224 - 16*SWIZZLE)*TILE_M + (288 - 32*SWIZZLE)*STAGES*TILE_N",
    defaults={
        "USE_WMMA": 1,
        "COMMIT": 4,
        "LDMATRIX": 0,
        "SWIZZLE": 0,
        "TILE_M": 128,
        "TILE_N": 64,
        "TILE_K": 32,
        "STAGES": 2,
        "Q_IN_REGISTERS": 0,
        "MIN_BLOCKS": 1,
        "CAUSAL": 0,
    },
    timed=[MISSION, B8H16],
    valid=lambda m: not m["Q_IN_REGISTERS"] or (m["TILE_K"] == 64 and m["USE_WMMA"] == 1),
    cases=[
        {},
        {"CAUSAL": 1},
        {"USE_WMMA": 0},
        {"TILE_N": 32},
        {"TILE_N": 32, "MIN_BLOCKS": 4},
        {"TILE_K": 64, "Q_IN_REGISTERS": 1, "TILE_M": 64},
        {"COMMIT": 1, "STAGES": 1},
        {"COMMIT": 1, "STAGES": 1, "CAUSAL": 1},
        {"COMMIT": 2, "STAGES": 1, "CAUSAL": 1},
        {"COMMIT": 3, "CAUSAL": 1},
        {"LDMATRIX": 1},
        {"LDMATRIX": 1, "SWIZZLE": 1, "CAUSAL": 1},
        {"LDMATRIX": 1, "SWIZZLE": 1, "TILE_K": 64, "Q_IN_REGISTERS": 1, "TILE_M": 64},
    ],
    sweep={
        "USE_WMMA": [0, 1],
        "TILE_M": [64, 128],
        "TILE_N": [32, 64],
        "TILE_K": [16, 32, 64],
        "STAGES": [1, 2],
        "Q_IN_REGISTERS": [0, 1],
        "MIN_BLOCKS": [1, 2, 4],
    },
)
FAMILIES["sdpa_fp8"] = Family(
    source="kernels/sdpa_fp8/sdpa_fp8.cu",
    entry="sdpa_fp8",
    grid=["(S + 16*WARPS - 1) // (16*WARPS)", "B * H"],
    block=["32*WARPS if STAGE < 4 else 32*WARPS + 32"],
    defaults={"STAGE": 6, "WARPS": 4},
    kind="fp8 attention",
    timed=[MISSION, B8H16],
    cases=[{"STAGE": stage, "WARPS": warps} for stage in range(7) for warps in (1, 2, 4)],
)
DEFECTS = ["UNCOALESCED", "NO_STAGING", "EXTRA_SYNCS", "DIVERGENT", "OVER_UNROLLED", "TINY_BLOCKS", "BANK_CONFLICTS"]
FAMILIES["pathology"] = Family(
    source="kernels/pathology/pathology.cu",
    entry="pathology",
    grid=["(S + 31 - 30*TINY_BLOCKS) // (32 - 30*TINY_BLOCKS)", "B * H"],
    block=["256 - 224*TINY_BLOCKS"],
    defaults={defect: 0 for defect in DEFECTS},
    timed=[MISSION, B8H16],
    cases=[{}, *({defect: 1} for defect in DEFECTS)],
)


@dataclass
class Variant:
    family: Family
    name: str
    given: dict[str, int]
    cubin: Path | None = None
    resources: str = ""
    errors: list[str] = field(default_factory=list)
    worst: float = 0.0
    p50: dict[str, float] = field(default_factory=dict)
    p90: dict[str, float] = field(default_factory=dict)

    @property
    def macros(self) -> dict[str, int]:
        return {**self.family.defaults, **self.given}

    @property
    def causal(self) -> bool:
        return bool(self.macros.get("CAUSAL", 0))

    @property
    def label(self) -> str:
        return f"{self.name} " + " ".join(f"{k}={v}" for k, v in self.given.items())

    def value(self, expression: str, shape: Shape) -> int:
        return int(eval(expression, {"__builtins__": {}, "min": min, "max": max}, {**self.macros, **shape}))


def build(variant: Variant, arch: str, folder: Path) -> None:
    """Compiles to a cubin and records the resources reported by ptxas."""
    macros = dict(variant.macros)
    regcap = macros.pop("REGCAP", None)
    flags = ["-O3", "-std=c++17", "-lineinfo", f"-arch={arch}", "-cubin", "-Xptxas", "-v"]
    flags += [] if regcap is None else [f"-maxrregcount={regcap}"]
    flags += [f"-D{name}={value}" for name, value in macros.items()]
    key = hashlib.sha256(repr((variant.family.source, flags)).encode()).hexdigest()[:16]
    cubin = folder / f"{key}.cubin"
    done = subprocess.run(
        ["nvcc", *flags, str(ROOT / variant.family.source), "-o", str(cubin)], capture_output=True, text=True
    )
    text = done.stdout + done.stderr
    if done.returncode != 0:
        lines = [line for line in text.splitlines() if "error" in line] or text.splitlines()[-1:]
        variant.errors.append("build: " + " | ".join(lines)[:200])
        return
    regs = re.findall(r"Used (\d+) registers", text)
    spills = re.findall(r"(\d+) bytes spill stores", text)
    smem = re.findall(r"(\d+) bytes smem", text)
    variant.resources = f"r{'/'.join(regs)} sp{'/'.join(spills)} sm{'/'.join(smem) or 0}"
    variant.cubin = cubin


class Attention:
    """Inputs, reference and arguments of o = softmax(q k^T scale) v."""

    names = ["q", "k", "v", "o"]

    def __init__(self, shape: Shape, seed: int, causal: bool, on_gpu: bool) -> None:
        random = numpy.random.default_rng(seed)
        dims = [shape[name] for name in "BHSD"]
        self.host = [random.standard_normal(dims, dtype=numpy.float32).astype(numpy.float16) for _ in range(3)]
        self.scale = 1.0 / shape["D"] ** 0.5
        self.expected = (self.by_torch if on_gpu else self.by_numpy)(causal)
        self.tail = [numpy.float32(self.scale)]
        self.dtype = numpy.float16

    def by_numpy(self, causal: bool) -> numpy.ndarray:
        q, k, v = (x.astype(numpy.float64) for x in self.host)
        scores = q @ k.swapaxes(-1, -2) * self.scale
        if causal:
            scores = numpy.where(numpy.tri(scores.shape[-1], dtype=bool), scores, -numpy.inf)
        p = numpy.exp(scores - scores.max(-1, keepdims=True))
        return p / p.sum(-1, keepdims=True) @ v

    def by_torch(self, causal: bool) -> numpy.ndarray:
        import torch

        q, k, v = (torch.from_numpy(x).cuda().double() for x in self.host)
        scores = q @ k.transpose(-1, -2) * self.scale
        if causal:
            keep = torch.ones(scores.shape[-2:], dtype=torch.bool, device="cuda").tril()
            scores = scores.masked_fill(~keep, float("-inf"))
        return (scores.softmax(-1) @ v).cpu().numpy()


def e4m3(codes: numpy.ndarray) -> numpy.ndarray:
    """The values of fp8 e4m3 codes, in float64."""
    sign, exponent, mantissa = codes >> 7, (codes >> 3 & 15).astype(int), (codes & 7).astype(float)
    size = numpy.where(exponent == 0, numpy.ldexp(mantissa, -9), numpy.ldexp(8 + mantissa, exponent - 10))
    return numpy.where(sign == 1, -size, size)


class Fp8Attention(Attention):
    """The same with fp8 keys and values, and one scale per head."""

    names = ["q", "k", "v", "k_scale", "v_scale", "o"]

    def __init__(self, shape: Shape, seed: int, causal: bool, on_gpu: bool) -> None:
        random = numpy.random.default_rng(seed)
        dims = [shape[name] for name in "BHSD"]
        q = random.standard_normal(dims, dtype=numpy.float32).astype(numpy.float16)
        largest = 0x44  # 3.0
        sign = random.integers(0, 2, (2, *dims), dtype=numpy.uint8) << 7
        codes = random.integers(0, largest + 1, (2, *dims), dtype=numpy.uint8) | sign
        scales = random.uniform(0.5, 1.5, (2, dims[0] * dims[1])).astype(numpy.float32)
        self.scale = 1.0 / shape["D"] ** 0.5
        by_head = scales.astype(numpy.float64).reshape(2, dims[0], dims[1], 1, 1)
        self.host = [q, *(e4m3(codes) * by_head)]
        self.expected = (self.by_torch if on_gpu else self.by_numpy)(causal)
        self.host = [q, *codes, *scales]
        self.tail = [numpy.float32(self.scale)]
        self.dtype = numpy.float16


class Softmax:
    """Inputs, reference and arguments of a row softmax."""

    names = ["x", "y"]

    def __init__(self, shape: Shape, seed: int, causal: bool, on_gpu: bool) -> None:
        random = numpy.random.default_rng(seed)
        self.host = [random.standard_normal((shape["R"], shape["C"]), dtype=numpy.float32) * 4]
        x = self.host[0].astype(numpy.float64)
        p = numpy.exp(x - x.max(-1, keepdims=True))
        self.expected = p / p.sum(-1, keepdims=True)
        self.tail = []
        self.dtype = numpy.float32


KINDS = {"attention": Attention, "fp8 attention": Fp8Attention, "softmax": Softmax}


# From CUtensorMapDataType and CUtensorMapSwizzle.
TENSOR_TYPES = {"uint8": 0, "int8": 0, "int32": 3, "float16": 6, "float32": 7, "float64": 8}
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


def tensor_map(address: int, dims: tuple[int, ...], dtype: numpy.dtype, box: list[int], swizzle: int) -> numpy.ndarray:
    """A CUtensorMap of a contiguous buffer; cupy passes an array of one value by value."""
    encode = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled
    room = numpy.zeros(128 + 64, dtype=numpy.uint8)
    start = -room.ctypes.data % 64
    encoded = room[start : start + 128].view("V128")
    sizes, box = list(dims[::-1]), list(box[::-1])  # innermost first
    assert 1 <= len(sizes) == len(box) <= 5, f"a box of {box} on a buffer of {sizes}"
    strides = [dtype.itemsize * n for n in itertools.accumulate(sizes, lambda a, b: a * b)][:-1]
    u32, u64 = ctypes.c_uint32 * 5, ctypes.c_uint64 * 5
    plain, promotion_256, zeros = 0, 3, 0
    status = encode(
        ctypes.c_void_p(encoded.ctypes.data), ctypes.c_int(TENSOR_TYPES[dtype.name]), ctypes.c_uint32(len(sizes)),
        ctypes.c_void_p(address), u64(*sizes), u64(*strides), u32(*box), u32(1, 1, 1, 1, 1),
        ctypes.c_int(plain), ctypes.c_int(SWIZZLES[swizzle]), ctypes.c_int(promotion_256), ctypes.c_int(zeros),
    )
    if status != 0:
        raise cupy.cuda.driver.CUDADriverError(status)
    return encoded


class Launch:
    """A variant on a shape: its device buffers, with a guarded output, and its launch geometry."""

    def __init__(self, variant: Variant, shape: Shape, problem: Attention | Softmax) -> None:
        self.variant, self.problem = variant, problem
        self.function = cupy.RawModule(path=str(variant.cubin)).get_function(variant.family.entry)
        self.shared = variant.value(variant.family.shared, shape)
        if self.shared > 48 * 1024:
            self.function.max_dynamic_shared_size_bytes = self.shared
        self.grid = tuple(variant.value(e, shape) for e in variant.family.grid)
        self.block = tuple(variant.value(e, shape) for e in variant.family.block)
        self.inputs = [cupy.asarray(x) for x in problem.host]
        size = problem.expected.size
        self.scalars = [numpy.int32(shape[name]) for name in variant.family.scalars]
        self.output = cupy.asarray(numpy.full(size + 2 * GUARD, SENTINEL, dtype=problem.dtype))
        addresses = [x.data.ptr for x in self.inputs] + [self.output.data.ptr + GUARD * self.output.itemsize]
        pointers = [numpy.uint64(address) for address in addresses]
        self.args = tuple(self.named(shape, addresses) if variant.family.args else pointers + self.scalars + problem.tail)

    def named(self, shape: Shape, addresses: list[int]) -> list:
        """The arguments in the family's order of names."""
        family, problem = self.variant.family, self.problem
        described = [(x.shape, x.dtype) for x in self.inputs] + [(problem.expected.shape, self.output.dtype)]
        buffers = dict(zip(problem.names, zip(addresses, described), strict=True))
        known = {name: numpy.int32(extent) for name, extent in shape.items()}
        known |= {name: numpy.uint64(address) for name, (address, _) in buffers.items()}
        known |= dict(zip(["scale"], problem.tail))
        for name, (buffer, box, swizzle) in family.maps.items():
            address, (dims, dtype) = buffers[buffer]
            extents = [self.variant.value(str(e), shape) for e in box]
            known[name] = tensor_map(address, dims, dtype, extents, self.variant.value(str(swizzle), shape))
        return [known[name] for name in family.args]

    def __call__(self) -> None:
        self.function(self.grid, self.block, self.args, shared_mem=self.shared)

    def check(self) -> tuple[float, list[str]]:
        """The largest difference from the reference, and all errors."""
        cupy.cuda.get_current_stream().synchronize()
        got = cupy.asnumpy(self.output)
        wrong = []
        edge = numpy.concatenate([got[:GUARD], got[-GUARD:]])
        if not (edge == numpy.array(SENTINEL, dtype=got.dtype)).all():
            wrong.append("wrote outside the output")
        if any((cupy.asnumpy(d) != h).any() for d, h in zip(self.inputs, self.problem.host)):
            wrong.append("wrote to an input")
        result = got[GUARD:-GUARD].astype(numpy.float64).reshape(self.problem.expected.shape)
        difference = numpy.abs(result - self.problem.expected)
        worst = float(difference.max())
        if not worst <= TOLERANCE:  # NaN too
            wrong.append(f"max_abs {worst:.2e}, {int((~(difference <= TOLERANCE)).sum())} elements")
        return worst, wrong


def shape_name(shape: Shape) -> str:
    return ",".join(f"{k}{v}" for k, v in shape.items() if k != "D")


def prove(variant: Variant, shapes: list[Shape], seeds: list[int], on_gpu: bool) -> None:
    for shape in shapes:
        for seed in seeds:
            try:
                launch = Launch(variant, shape, problem_of(variant, shape, seed, on_gpu))
                launch()
                worst, wrong = launch.check()
            except DEVICE_ERRORS as error:
                worst, wrong = 0.0, [str(error)[:80]]
            variant.worst = max(variant.worst, worst)
            variant.errors += [f"{shape_name(shape)} seed {seed}: {what}" for what in wrong]


PROBLEMS: dict[tuple, Attention | Softmax] = {}


def problem_of(variant: Variant, shape: Shape, seed: int, on_gpu: bool) -> Attention | Softmax:
    key = (variant.family.kind, tuple(shape.items()), seed, variant.causal, on_gpu)
    if key not in PROBLEMS:
        PROBLEMS[key] = KINDS[variant.family.kind](shape, seed, variant.causal, on_gpu)
    return PROBLEMS[key]


def graph_samples(calls: list[Callable[[], None]], launches: int, rounds: int, warmup: int) -> list[float]:
    """Microseconds a launch: a CUDA graph of `launches` launches over rotating inputs, timed by events."""
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for call in calls:  # loads the modules: not allowed while capturing
            call()
        stream.synchronize()
        stream.begin_capture()
        for i in range(launches):
            calls[i % len(calls)]()
        graph = stream.end_capture()
        for _ in range(warmup):
            graph.launch(stream)
        samples = []
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        for _ in range(rounds):
            start.record(stream)
            graph.launch(stream)
            stop.record(stream)
            stop.synchronize()
            samples.append(cupy.cuda.get_elapsed_time(start, stop) * 1e3 / launches)
    return samples


def time_variant(variant: Variant, shapes: list[Shape], rounds: int) -> None:
    for shape in shapes:
        calls = [Launch(variant, shape, problem_of(variant, shape, seed, True)) for seed in range(3)]
        samples = graph_samples(calls, launches=20, rounds=rounds, warmup=10)
        worst, wrong = calls[0].check()  # after hundreds of launches, and on shapes that `prove` did not see
        variant.worst = max(variant.worst, worst)
        variant.errors += [f"{shape_name(shape)} after timing: {what}" for what in wrong]
        variant.p50[shape_name(shape)] = statistics.median(samples)
        variant.p90[shape_name(shape)] = statistics.quantiles(samples, n=10)[-1]


def empty_launch(arch: str, folder: Path) -> float:
    """Microseconds of an empty launch: the lower bound of all other figures."""
    source, cubin = folder / "empty.cu", folder / "empty.cubin"
    source.write_text('extern "C" __global__ void empty() {}')
    subprocess.run(["nvcc", f"-arch={arch}", "-cubin", str(source), "-o", str(cubin)], check=True)
    function = cupy.RawModule(path=str(cubin)).get_function("empty")
    return statistics.median(graph_samples([lambda: function((128,), (256,), ())], launches=20, rounds=60, warmup=10))


def row(variant: Variant) -> str:
    times = " ".join(f"{name}:{p50:.2f}({variant.p90[name]:.2f})" for name, p50 in variant.p50.items())
    state = "ok " if not variant.errors else "BAD"
    what = f" | {'; '.join(variant.errors)[:160]}" if variant.errors else ""
    return f"{state} {variant.label:<58} {variant.resources:<16} {variant.worst:.1e} {times}{what}"


def report_sweep(variants: list[Variant]) -> None:
    good = [v for v in variants if not v.errors]
    print(f"## sweep: {len(good)} of {len(variants)} right")
    for v in [v for v in variants if v.errors][:10]:
        print(row(v))
    for shape in good[0].p50 if good else []:
        for causal in (False, True):
            ranked = sorted((v for v in good if v.causal == causal), key=lambda v: v.p50[shape])
            if ranked:
                print(f"# {shape}{' causal' if causal else ''}: slowest {ranked[-1].p50[shape]:.2f}")
            for v in ranked[:8]:
                print(f"  {v.p50[shape]:7.2f} ({v.p90[shape]:.2f}) {v.label} {v.resources}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", choices=FAMILIES)
    parser.add_argument("--sweep", choices=[n for n, f in FAMILIES.items() if f.sweep])
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--case", type=int, help="of the one family that is named")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()

    names = [options.sweep] if options.sweep else options.family or list(FAMILIES)
    variants = [
        Variant(FAMILIES[n], n, given)
        for n in names
        for given in (FAMILIES[n].sweep_cases() if options.sweep else FAMILIES[n].cases)
    ]
    if options.list:
        for name in names:
            cases = [v.label for v in variants if v.name == name]
            print("\n".join(f"{name}\t{number}\t{label.strip()}" for number, label in enumerate(cases)))
        return 0
    if options.case is not None:
        variants = variants[options.case : options.case + 1] if len(names) == 1 else []
    if options.sanitize:
        cupy.cuda.set_allocator(None)  # one allocation a buffer, so that a stray access is seen
    arch = "sm_" + cupy.cuda.Device().compute_capability
    arch = {"sm_90": "sm_90a"}.get(arch, arch)  # with wgmma
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda v: build(v, arch, Path(folder)), variants))
        print(f"# {arch}: state, variant, registers/spilled bytes/static shared, worst |diff|, p50(p90) us", flush=True)
        if not options.sanitize:
            print(f"# an empty kernel: {empty_launch(arch, Path(folder)):.2f} us")
        for variant in variants:
            family = variant.family
            if variant.cubin is not None and options.sanitize:
                prove(variant, family.checked[:2], [0], on_gpu=False)
            elif variant.cubin is not None:
                prove(variant, family.checked[:1] + family.checked[-1:] if options.sweep else family.checked,
                      [0] if options.sweep else [0, 1, 2], on_gpu=True)
                if not variant.errors:
                    time_variant(variant, family.timed, options.rounds)
            if not options.sweep:
                print(row(variant), flush=True)
        if options.sweep:
            report_sweep(variants)
    return 1 if any(v.errors for v in variants) or not variants else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""CUTLASS's own fused attention as a baseline: compiles sdpa_cutlass.cu against a CUTLASS checkout and calls it.

    CUTLASS_PATH=~/cutlass NCUGATE_REQUEST=request.json sdpa_cutlass.py --kernel cooperative [--causal]

Kernels: fmha is example 41_fused_multi_head_attention (mma.sync); tma, cooperative and pingpong are those of example
88_hopper_fmha (wgmma, TMA, compute capability 9.0). PyTorch draws the inputs and holds the clock, as for every baseline of this
folder; none of its kernels is timed. The library is kept in ~/.cache/ncugate/cutlass under the hash of all that it is made of.

No CUTLASS_PATH, nvcc, PyTorch or GPU, another chip, type or size than the kernel is for: reported as absent, with the reason.
A checkout that does not compile is an error.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from attention import Absent, Attention, load_torch, main

SOURCE = Path(__file__).resolve().with_name("sdpa_cutlass.cu")
KERNELS = {"fmha": 0, "tma": 1, "cooperative": 2, "pingpong": 3}
HEAD_DIM = 64
# What the kernels of example 88 take with the masks that are asked for: whole tiles of keys and queries.
HOPPER_ROWS = 128


def checkout():
    named = os.environ.get("CUTLASS_PATH")
    if not named:
        raise Absent("CUTLASS_PATH does not name a checkout of https://github.com/NVIDIA/cutlass")
    root = Path(named)
    if not (root / "include/cutlass/version.h").is_file():
        raise Absent(f"CUTLASS_PATH is {root}, which is not a CUTLASS checkout: it has no include/cutlass/version.h")
    return root


def example(root, kernel):
    name = "41_fused_multi_head_attention" if kernel == "fmha" else "88_hopper_fmha"
    if not (root / "examples" / name).is_dir():
        raise Absent(f"{root} has no example {name}; CUTLASS 4.0 and later have both")
    return root / "examples" / name


def compiler():
    places = [Path(os.environ[name]) / "bin" for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    for found in [shutil.which("nvcc"), *(shutil.which("nvcc", path=place) for place in [*places, Path("/usr/local/cuda/bin")])]:
        if found:
            return found
    raise Absent("nvcc is not on PATH, nor in CUDA_HOME, CUDA_PATH or /usr/local/cuda")


def headers_of_curand(nvcc):
    """Example 41 includes cuRAND's device header, which is in the toolkit or in the wheel that PyTorch depends on."""
    toolkit = Path(nvcc).resolve().parent.parent
    wheels = [Path(site) / "nvidia" for site in sys.path if site]
    places = [toolkit / "include", *(folder for wheel in wheels for folder in wheel.glob("*/include"))]
    return [f"-I{place}" for place in places if (place / "curand_kernel.h").is_file()][:1]


def fingerprint(root, folder, command):
    digest = hashlib.sha256("\0".join(command).encode())
    for path in [SOURCE, *sorted((root / "include").rglob("*")), *sorted(folder.rglob("*"))]:
        if path.is_file():
            digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def library(kernel, causal, capability):
    """The compiled library, from the cache where nothing has changed since."""
    root, nvcc = checkout(), compiler()
    folder = example(root, kernel)
    number = f"{capability[0]}{capability[1]}" + ("a" if capability[0] >= 9 else "")
    command = [nvcc, "-O3", "-DNDEBUG", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "--expt-relaxed-constexpr"]
    command += ["--use_fast_math", "-gencode", f"arch=compute_{number},code=sm_{number}"]
    command += [f"-I{root / 'include'}", f"-I{folder}", *headers_of_curand(nvcc)]
    command += [f"-DKERNEL={KERNELS[kernel]}", f"-DCAUSAL={int(causal)}", str(SOURCE)]
    version = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ncugate" / "cutlass"
    cache.mkdir(parents=True, exist_ok=True)
    kept = cache / f"{fingerprint(root, folder, [*command, version])}.so"
    if not kept.is_file():
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            made = Path(scratch) / "made.so"
            done = subprocess.run([*command, "-o", str(made)], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{SOURCE.name} does not compile with {root}: {done.stderr.strip()[-1500:]}")
            os.replace(made, kept)
    return ctypes.CDLL(str(kept))


class Fmha(Attention):
    """One of the kernels, for heads of 64 in float16."""

    def __init__(self, torch, causal, kernel, built):
        version = built.cutlass_version()
        text = f"{version // 10000}.{version // 100 % 100}.{version % 100}"
        super().__init__(torch, causal, {"cutlass": text, "kernel": kernel})
        self.kernel = kernel
        self.queue = built.sdpa_cutlass
        self.queue.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_int] * 3 + [ctypes.c_void_p]
        self.queue.restype = ctypes.c_char_p

    def __call__(self, q, k, v):
        batch, heads, rows, dims = q.shape
        if q.dtype != self.torch.float16 or dims != HEAD_DIM:
            raise Absent(f"sdpa_cutlass.cu is for float16 heads of {HEAD_DIM}, not for {q.dtype} heads of {dims}")
        if self.kernel != "fmha" and rows % HOPPER_ROWS != 0:
            raise Absent(f"example 88 takes whole tiles of {HOPPER_ROWS} rows, and S is {rows}")
        out = self.torch.empty((batch, rows, heads, dims), dtype=q.dtype, device=q.device)
        lse = self.torch.empty((batch, heads, rows), dtype=self.torch.float32, device=q.device)
        pointers = [tensor.data_ptr() for tensor in (q, k, v, out, lse)]
        wrong = self.queue(*pointers, batch, heads, rows, self.torch.cuda.current_stream().cuda_stream)
        if wrong:
            raise RuntimeError(f"CUTLASS: {wrong.decode()}")
        return out.transpose(1, 2)


def load(options):
    torch = load_torch()
    capability = torch.cuda.get_device_capability()
    if options.kernel != "fmha" and capability != (9, 0):
        raise Absent(f"example 88 is for compute capability 9.0, this GPU is {capability[0]}.{capability[1]}")
    if capability < (8, 0):
        raise Absent(f"example 41 is built for compute capability 8.0 and up, this GPU is {capability[0]}.{capability[1]}")
    return Fmha(torch, options.causal, options.kernel, library(options.kernel, options.causal, capability))


if __name__ == "__main__":
    main(__doc__, lambda parser: parser.add_argument("--kernel", choices=KERNELS, default="fmha"), load)

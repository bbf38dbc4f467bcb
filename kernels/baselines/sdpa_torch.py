#!/usr/bin/env python3
"""PyTorch's scaled_dot_product_attention as a baseline, through the external-command protocol (docs/external-commands.md).

    NCUGATE_REQUEST=request.json sdpa_torch.py --backend flash [--causal]

Backends: flash (FlashAttention-2), efficient (CUTLASS FMHA, the kernel of xFormers), cudnn, math, and default: what PyTorch
chooses by itself. A missing torch, GPU or backend is reported as absent, with the reason, and is not an error.
"""

import argparse
import contextlib
import json
import os
import sys

BACKENDS = {
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
    "math": "MATH",
    "default": None,
}
VERSION = 1


class Absent(Exception):
    """The baseline's software or hardware is not there."""


def load_torch():
    try:
        import torch
    except ImportError as error:
        raise Absent(f"PyTorch is not installed: {error}") from error
    if not torch.cuda.is_available():
        raise Absent(f"PyTorch {torch.__version__} sees no CUDA device")
    return torch


class Attention:
    """One backend of PyTorch's attention, and inputs for it."""

    def __init__(self, torch, backend, causal, dtype):
        self.torch, self.backend, self.causal = torch, backend, causal
        self.dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[dtype]

    def only_this_backend(self):
        name = BACKENDS[self.backend]
        if name is None:
            return contextlib.nullcontext()
        try:
            from torch.nn.attention import SDPBackend, sdpa_kernel

            return sdpa_kernel(getattr(SDPBackend, name))
        except (ImportError, AttributeError) as error:
            raise Absent(f"PyTorch {self.torch.__version__} has no backend {name}") from error

    def inputs(self, dims, seed):
        """q, k and v, [B, H, S, D], normal(0, 1) rounded to the dtype."""
        generator = self.torch.Generator(device="cuda").manual_seed(seed)
        shape = [dims[name] for name in ("B", "H", "S", "D")]
        return [self.torch.randn(shape, generator=generator, device="cuda").to(self.dtype) for _ in range(3)]

    def __call__(self, q, k, v):
        return self.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)

    def reference(self, q, k, v):
        """The same in float64."""
        q, k, v = q.double(), k.double(), v.double()
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if self.causal:
            hidden = self.torch.ones(scores.shape[-2:], dtype=self.torch.bool, device="cuda").triu(1)
            scores = scores.masked_fill(hidden, float("-inf"))
        return scores.softmax(-1) @ v


def check(attention, shape, seed):
    inputs = attention.inputs(shape["dims"], seed)
    got, expected = attention(*inputs).double(), attention.reference(*inputs)
    finite = got.isfinite()
    difference = (got - expected).masked_fill(~finite, 0.0)
    return {
        "shape": shape["name"],
        "seed": seed,
        "max_abs": difference.abs().max().item(),
        "rel_l2": (difference.norm() / expected.norm()).item(),
        "nonfinite": int((~finite).sum().item()),
        "compared": got.numel(),
    }


def latency(attention, shape, request):
    """Microseconds a launch: a CUDA graph of `launches` calls that take turns over the seeds' inputs, timed by events."""
    torch = attention.torch
    sets = [attention.inputs(shape["dims"], seed) for seed in request["seeds"]]
    launches = request["launches"]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for inputs in sets:
            attention(*inputs)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(launches):
            attention(*sets[i % len(sets)])
    for _ in range(request["warmup"]):
        graph.replay()
    samples = []
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(request["rounds"]):
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        samples.append(start.elapsed_time(stop) * 1e3 / launches)
    return {"shape": shape["name"], "unit": "us", "launches": launches, "samples": samples}


def profile(attention, shape, request):
    """One call inside the NVTX range `<variant>@<shape>`; what is outside of it is not profiled."""
    torch = attention.torch
    inputs = attention.inputs(shape["dims"], request["seeds"][0])
    for _ in range(3):
        attention(*inputs)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(f"{request['variant']}@{shape['name']}")
    attention(*inputs)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()


def run(request, backend, causal):
    torch = load_torch()
    software = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": str(torch.backends.cudnn.version())}
    result = {"version": VERSION, "status": "ok", "reason": None, "software": software, "checks": [], "latency": []}
    attention = Attention(torch, backend, causal, request["dtype"])
    with torch.no_grad(), attention.only_this_backend():
        try:
            for shape in request["shapes"]:
                attention(*attention.inputs(shape["dims"], request["seeds"][0]))
        except RuntimeError as error:
            if "No available kernel" in str(error):
                raise Absent(f"PyTorch {torch.__version__} has no {backend} kernel for shape {shape['name']}") from error
            raise
        for shape in request["shapes"]:
            if request["mode"] == "profile":
                profile(attention, shape, request)
            else:
                result["checks"] += [check(attention, shape, seed) for seed in request["seeds"]]
                result["latency"].append(latency(attention, shape, request))
    return result


def write(path, result):
    """Whole or not at all."""
    unfinished = f"{path}.{os.getpid()}.part"
    with open(unfinished, "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.replace(unfinished, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=BACKENDS, default="default")
    parser.add_argument("--causal", action="store_true")
    options = parser.parse_args()
    path = os.environ.get("NCUGATE_REQUEST")
    if not path:
        parser.error("NCUGATE_REQUEST does not name a request: this program is started by ncugate")
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    if request["version"] != VERSION:
        parser.error(f"request has version {request['version']}, this program speaks {VERSION}")
    if request["mode"] not in ("bench", "profile"):
        parser.error(f"request has mode {request['mode']!r}: bench or profile")
    try:
        result = run(request, options.backend, options.causal)
    except Absent as absent:
        result = {"version": VERSION, "status": "absent", "reason": str(absent), "software": {}, "checks": [], "latency": []}
    write(request["result"], result)


if __name__ == "__main__":
    sys.exit(main())

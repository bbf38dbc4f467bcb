"""Attention through the external-command protocol (docs/external-commands.md): what the programs of this folder share.

A program says how its software is loaded and called; checking against float64, timing and profiling are done here, alike for all.
Software is loaded before the request is read: the request can be read only when it is the program's turn, and until then the
device is left alone.
"""

import argparse
import contextlib
import json
import math
import os
import sys

VERSION = 1
# Microseconds that the device is kept busy with while a sample is being queued: as long as ncugate's own samples have.
LEAD_IN_US = 60.0


class Absent(Exception):
    """The baseline's software or hardware is not there, or has nothing for a shape."""


class Attention:
    """What a program measures: softmax(q k^T / sqrt(D)) v over tensors [B, H, S, D]."""

    def __init__(self, torch, causal, software):
        self.torch, self.causal = torch, causal
        self.software = {"torch": torch.__version__, "cuda": torch.version.cuda, **software}

    def __call__(self, q, k, v):
        raise NotImplementedError

    def chosen(self):
        """A context in which calls run what is to be measured."""
        return contextlib.nullcontext()

    def inputs(self, dims, dtype, seed):
        """q, k and v, [B, H, S, D], normal(0, 1) rounded to the dtype."""
        generator = self.torch.Generator(device="cuda").manual_seed(seed)
        shape = [dims[name] for name in ("B", "H", "S", "D")]
        return [self.torch.randn(shape, generator=generator, device="cuda").to(dtype) for _ in range(3)]

    def reference(self, q, k, v):
        """The same in float64."""
        q, k, v = q.double(), k.double(), v.double()
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if self.causal:
            hidden = self.torch.ones(scores.shape[-2:], dtype=self.torch.bool, device="cuda").triu(1)
            scores = scores.masked_fill(hidden, float("-inf"))
        return scores.softmax(-1) @ v


def load_torch():
    try:
        import torch
    except ImportError as error:
        raise Absent(f"PyTorch is not installed: {error}") from error
    if not torch.cuda.is_available():
        raise Absent(f"PyTorch {torch.__version__} sees no CUDA device")
    return torch


def check(attention, inputs, shape, seed, tolerance):
    got, expected = attention(*inputs).double(), attention.reference(*inputs)
    finite = got.isfinite()
    difference = (got - expected).masked_fill(~finite, 0.0)
    result = {
        "shape": shape["name"],
        "seed": seed,
        "max_abs": difference.abs().max().item(),
        "rel_l2": (difference.norm() / expected.norm()).item(),
        "nonfinite": int((~finite).sum().item()),
        "compared": got.numel(),
    }
    bound = tolerance.get("allclose")
    if bound:
        ratio = difference.abs() / (bound["atol"] + bound["rtol"] * expected.abs())
        # 0 / 0 where nothing is allowed and nothing is off.
        result["allclose"] = min(ratio.masked_fill(difference == 0, 0.0).max().item(), sys.float_info.max)
    return result


def captured(attention, sets, launches, stream):
    """A CUDA graph of so many calls over the sets in turn."""
    graph = attention.torch.cuda.CUDAGraph()
    with attention.torch.cuda.graph(graph, stream=stream):
        for i in range(launches):
            attention(*sets[i % len(sets)])
    return graph


def latency(attention, sets, shape, request):
    """Microseconds a launch: a CUDA graph of `launches` calls that take turns over the seeds' inputs, timed by events.

    Before each sample the device gets LEAD_IN_US of the same calls to do, so that the launch of the graph is queued while it is
    busy: what is timed is the calls, as in the samples of ncugate's own kernels, and not the launch.
    """
    torch = attention.torch
    launches = request["launches"]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for inputs in sets:
            attention(*inputs)
    stream.synchronize()
    graph = captured(attention, sets, launches, stream)
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(max(request["warmup"], 1)):
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
    call = start.elapsed_time(stop) * 1e3 / launches
    lead_in = captured(attention, sets, max(1, math.ceil(LEAD_IN_US / call)), stream)
    lead_in.replay()
    torch.cuda.synchronize()
    samples = []
    for _ in range(request["rounds"]):
        lead_in.replay()
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        samples.append(start.elapsed_time(stop) * 1e3 / launches)
    return {"shape": shape["name"], "unit": "us", "launches": launches, "samples": samples}


def profile(attention, inputs, shape, request):
    """One call inside the NVTX range `<variant>@<shape>`; what is outside of it is not profiled."""
    torch = attention.torch
    for _ in range(3):
        attention(*inputs)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(f"{request['variant']}@{shape['name']}")
    attention(*inputs)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()


def answer(attention, request):
    torch = attention.torch
    result = {"version": VERSION, "status": "ok", "reason": None, "software": attention.software, "checks": [], "latency": []}
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[request["dtype"]]
    with torch.no_grad(), attention.chosen():
        for shape in request["shapes"]:
            attention(*attention.inputs(shape["dims"], dtype, request["seeds"][0]))
        for shape in request["shapes"]:
            sets = [attention.inputs(shape["dims"], dtype, seed) for seed in request["seeds"]]
            if request["mode"] == "profile":
                profile(attention, sets[0], shape, request)
            else:
                result["checks"] += [check(attention, sets[i], shape, seed, request["tolerance"]) for i, seed in enumerate(request["seeds"])]
                result["latency"].append(latency(attention, sets, shape, request))
    return result


def absent(reason):
    return {"version": VERSION, "status": "absent", "reason": reason, "software": {}, "checks": [], "latency": []}


def read(path, parser):
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    if request["version"] != VERSION:
        parser.error(f"request has version {request['version']}, this program speaks {VERSION}")
    if request["mode"] not in ("bench", "profile"):
        parser.error(f"request has mode {request['mode']!r}: bench or profile")
    return request


def write(path, result):
    """Whole or not at all."""
    unfinished = f"{path}.{os.getpid()}.part"
    with open(unfinished, "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.replace(unfinished, path)


def main(description, add_arguments, load):
    """`load(options)` gives the program's `Attention`, or raises `Absent`; it starts nothing on the device."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--causal", action="store_true", help="rows see the keys up to their own index")
    add_arguments(parser)
    options = parser.parse_args()
    path = os.environ.get("NCUGATE_REQUEST")
    if not path:
        parser.error("NCUGATE_REQUEST does not name a request: this program is started by ncugate")
    attention, reason = None, None
    try:
        attention = load(options)
    except Absent as error:
        reason = str(error)
    request = read(path, parser)
    try:
        result = absent(reason) if attention is None else answer(attention, request)
    except Absent as error:
        result = absent(str(error))
    write(request["result"], result)
    sys.exit(0)

"""Compares times of three kernels by triton.testing.do_bench_cudagraph with those of a run of ncugate.

    do_bench.py RUN

Fails if one of the three differs by more than 3 %.
"""

import json
import os
import statistics
import sys

import torch
import triton
import triton.testing

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../kernels/triton"))
import softmax  # noqa: E402

rows, columns = 4096, 4096
x = torch.randn(rows, columns, device="cuda") * 3
y = torch.empty_like(x)
KERNELS = {
    "BLOCK=4096,num_warps=4,num_stages=1": lambda: softmax.softmax_row[(rows,)](x, y, rows, columns, BLOCK=4096, num_warps=4, num_stages=1),
    "BLOCK=4096,num_warps=8,num_stages=1": lambda: softmax.softmax_row[(rows,)](x, y, rows, columns, BLOCK=4096, num_warps=8, num_stages=1),
    "torch_eager": lambda: torch.softmax(x, dim=-1),
}
samples, failed = {}, False
for line in open(os.path.join(sys.argv[1], "latencies.jsonl")):
    record = json.loads(line)
    if record["shape"] == "wide" and record["outcome"]["status"] == "timed":
        samples[record["variant"]] = record["outcome"]["samples"]
for name, launch in KERNELS.items():
    theirs = triton.testing.do_bench_cudagraph(launch, rep=50, return_mode="median") * 1e3
    ours = statistics.median(samples[name]) if name in samples else float("nan")
    print(f"{name}: ncugate {ours:.2f} us, do_bench_cudagraph {theirs:.2f} us, {100 * (ours / theirs - 1):+.1f} %")
    failed |= not abs(ours / theirs - 1) <= 0.03
sys.exit(failed)

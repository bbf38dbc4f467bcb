#!/usr/bin/env python3
"""Every backend of kernels/baselines/sdpa_torch.py on the GPU, through the protocol; a table of errors and times."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "kernels/baselines/sdpa_torch.py"
SHAPES = [
    {"name": name, "dims": {"B": b, "H": h, "S": 512, "D": 64}}
    for name, b, h in [("mission", 1, 8), ("b4h16", 4, 16), ("b8h16", 8, 16)]
]
TOLERANCE = 2e-3


def ask(folder: Path, backend: str, causal: bool, mode: str) -> dict:
    request, result = folder / "request.json", folder / "result.json"
    result.unlink(missing_ok=True)
    request.write_text(
        json.dumps(
            {"version": 1, "mode": mode, "variant": f"sdpa_{backend}", "dtype": "f16", "shapes": SHAPES, "seeds": [0, 1, 2],
             "tolerance": {"max_abs": TOLERANCE}, "rounds": 60, "launches": 20, "warmup": 10, "result": str(result)}
        )
    )
    command = [sys.executable, str(SCRIPT), "--backend", backend] + (["--causal"] if causal else [])
    subprocess.run(command, env={**os.environ, "NCUGATE_REQUEST": str(request)}, check=True)
    return json.loads(result.read_text())


def row(backend: str, causal: bool, result: dict) -> tuple[bool, str]:
    label = f"{backend}{' causal' if causal else ''}"
    if result["status"] != "ok":
        return True, f"{result['status']} {label}: {result['reason']}"
    worst = max(check["max_abs"] for check in result["checks"])
    right = worst <= TOLERANCE and not any(check["nonfinite"] for check in result["checks"])
    right = right and len(result["checks"]) == 9 and len(result["latency"]) == 3
    times = []
    for latency in result["latency"]:
        p90 = statistics.quantiles(latency["samples"], n=10)[-1]
        times.append(f"{latency['shape']}:{statistics.median(latency['samples']):.2f}({p90:.2f})")
    return right, f"{'ok ' if right else 'BAD'} {label:<20} {worst:.1e} {' '.join(times)}"


def main() -> int:
    right = True
    with tempfile.TemporaryDirectory() as folder:
        for causal in (False, True):
            for backend in ("flash", "efficient", "cudnn", "math", "default"):
                good, line = row(backend, causal, ask(Path(folder), backend, causal, "bench"))
                right &= good
                print(line, flush=True)
        profiled = ask(Path(folder), "default", False, "profile")
        print(f"profile mode: {profiled['status']}, {json.dumps(profiled['software'])}")
        right &= profiled["status"] == "ok"
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

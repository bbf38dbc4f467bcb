#!/usr/bin/env python3
"""Every program of kernels/baselines on the GPU, through the protocol; a table of errors and times.

Arguments select programs by words of their names ("cutlass", "xformers"); the default is all. Absent programs are reported and are not a
failure.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    **{f"torch {name}": ["sdpa_torch.py", "--backend", name] for name in ("flash", "efficient", "cudnn", "math", "default")},
    "xformers": ["sdpa_xformers.py"],
    **{f"cutlass {name}": ["sdpa_cutlass.py", "--kernel", name] for name in ("fmha", "tma", "cooperative", "pingpong")},
}
SHAPES = [
    {"name": name, "dims": {"B": b, "H": h, "S": 512, "D": 64}}
    for name, b, h in [("mission", 1, 8), ("b4h16", 4, 16), ("b8h16", 8, 16)]
]
TOLERANCE = 2e-3


def ask(folder: Path, program: list[str], causal: bool, mode: str) -> dict:
    request, result = folder / "request.json", folder / "result.json"
    result.unlink(missing_ok=True)
    request.write_text(
        json.dumps(
            {"version": 1, "mode": mode, "variant": "asked", "dtype": "f16", "shapes": SHAPES, "seeds": [0, 1, 2],
             "tolerance": {"max_abs": TOLERANCE}, "rounds": 60, "launches": 20, "warmup": 10, "result": str(result)}
        )
    )
    command = [sys.executable, str(ROOT / "kernels/baselines" / program[0]), *program[1:]] + (["--causal"] if causal else [])
    subprocess.run(command, env={**os.environ, "NCUGATE_REQUEST": str(request)}, check=True)
    return json.loads(result.read_text())


def row(name: str, causal: bool, result: dict) -> tuple[bool, str]:
    label = f"{name}{' causal' if causal else ''}"
    if result["status"] != "ok":
        return True, f"{result['status']} {label}: {result['reason']}"
    worst = max(check["max_abs"] for check in result["checks"])
    right = worst <= TOLERANCE and not any(check["nonfinite"] for check in result["checks"])
    right = right and len(result["checks"]) == 9 and len(result["latency"]) == 3
    times = []
    for latency in result["latency"]:
        p90 = statistics.quantiles(latency["samples"], n=10)[-1]
        times.append(f"{latency['shape']}:{statistics.median(latency['samples']):.2f}({p90:.2f})")
    return right, f"{'ok ' if right else 'BAD'} {label:<28} {worst:.1e} {' '.join(times)}"


def main() -> int:
    asked = {name: program for name, program in PROGRAMS.items() if not sys.argv[1:] or any(word in name for word in sys.argv[1:])}
    right = bool(asked)
    with tempfile.TemporaryDirectory() as folder:
        for name, program in asked.items():
            for causal in (False, True):
                good, line = row(name, causal, ask(Path(folder), program, causal, "bench"))
                right &= good
                print(line, flush=True)
            profiled = ask(Path(folder), program, False, "profile")
            right &= profiled["status"] in ("ok", "absent")
            print(f"    profile mode: {profiled['status']}, {json.dumps(profiled['software'])}", flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

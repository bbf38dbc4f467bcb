#!/usr/bin/env bash
# Python functions as candidates: the honest ones pass, and each one that skips work is caught.
#
#     tests/gpu/functions.sh [NCUGATE]
#
# Needs an NVIDIA GPU, ncu, nvcc and PyTorch for python3.
set -euo pipefail
cd "$(dirname "$0")/../.."
ncugate=${1:-ncugate}
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
"$ncugate" run tests/gpu/functions/functions.toml --profiles "$runs" --reports "$runs/reports" || true
python3 - "$runs" <<'PYTHON'
import glob, json, sys

run = max(glob.glob(sys.argv[1] + "/functions/2*"))
records = lambda name: [json.loads(line) for line in open(f"{run}/{name}.jsonl")]
bad = {}
for record in records("checks"):
    if record["outcome"]["status"] != "correct":
        bad.setdefault(record["variant"], record["outcome"].get("reason"))
timed = set()
for record in records("latencies"):
    if record["outcome"]["status"] == "timed":
        timed.add(record["variant"])
    else:
        bad.setdefault(record["variant"], record["outcome"].get("reason"))
honest = {"honest", "honest_in_place", "honest_streams", "calls_the_reference"}
failures = [f"{name} is honest and was refused: {bad[name]}" for name in honest & set(bad)]
failures += [f"{name} was not found out" for name in timed - honest - set(bad)]
for name, reason in bad.items():
    print(f"{name}: {reason}")
sys.exit("\n".join(failures) or 0)
PYTHON

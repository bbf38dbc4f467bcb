#!/usr/bin/env bash
# The time of a phase with four Triton variants, counters and Python baselines, with an empty cache and then with a full one.
# Then compares the times of three of its kernels by triton.testing.do_bench_cudagraph with those of the run. Fails if one of
# the two runs takes 30 s or longer, or if a time differs by more than 3 %. If Python packages have no bytecode, as in some
# images, it is compiled first: otherwise every process compiles thousands of modules again.
#
#     tests/gpu/triton_time.sh [NCUGATE]
#
# Needs an NVIDIA GPU, nvcc, ncu, and Triton and PyTorch for python3.
set -euo pipefail
cd "$(dirname "$0")/../.."
ncugate=${1:-ncugate}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NCUGATE_CACHE="$work/cache"
if ! python3 -c 'import os, sys, torch; sys.exit(not os.path.exists(torch.__cached__))'; then
    echo "no bytecode: it is made in $work"
    unset PYTHONDONTWRITEBYTECODE
    export PYTHONPYCACHEPREFIX="$work/bytecode"
    python3 -c 'import torch, torch._inductor.compile_fx, triton.compiler'
fi
for cache in empty full; do
    python3 - "$ncugate" "$work/$cache" "$cache" <<'PYTHON'
import glob, json, subprocess, sys, time

ncugate, folder, cache = sys.argv[1:]
began = time.monotonic()
ended = subprocess.run(
    [ncugate, "run", "configs/triton_softmax.toml", "--source", "gpu", "--profiles", folder, "--reports", folder + "-reports"],
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
)
seconds = time.monotonic() - began
runs = glob.glob(folder + "/triton_softmax/*/manifest.json")
if ended.returncode not in (0, 1, 4) or len(runs) != 1:
    sys.exit(f"status {ended.returncode}\n{ended.stdout}")
stages = ", ".join(f"{name} {spent:.1f} s" for name, spent in json.load(open(runs[0]))["stage_seconds"])
profiled = sum(json.loads(line)["outcome"]["status"] == "profiled" for line in open(runs[0].replace("manifest.json", "profiles.jsonl")))
print(f"{cache} cache: {seconds:.1f} s ({stages}), status {ended.returncode}, {profiled} profiles")
if seconds >= 30 or profiled < 4:
    sys.exit("30 s or longer" if seconds >= 30 else ended.stdout)
PYTHON
done
python3 tests/gpu/functions/do_bench.py "$work"/full/triton_softmax/2*

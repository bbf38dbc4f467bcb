#!/usr/bin/env bash
# The waiting times of a phase with PyTorch baselines: imports and torch.compile in plain Python, with empty and with full
# caches, with and without ncu; then the phase of triton_time.sh without and with its PyTorch baselines. Prints seconds. About
# two and a half minutes:
#
#     tests/gpu/triton_parts.sh [NCUGATE]
#
# Needs an NVIDIA GPU, nvcc, ncu, and Triton and PyTorch for python3.
set -uo pipefail
cd "$(dirname "$0")/../.."
ncugate=$(realpath "$(command -v "${1:-ncugate}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/parts.py" <<'PYTHON'
import time
began = last = time.monotonic()
said = []
def part(name):
    global last
    now = time.monotonic()
    said.append(f"{name} {now - last:.2f}")
    last = now
import torch; part("import torch")
import torch._dynamo; part("dynamo")
import torch._inductor.compile_fx; part("inductor")
x = torch.randn(4096, 4096, device="cuda"); torch.cuda.synchronize(); part("first tensor")
compiled = torch.compile(lambda x: torch.softmax(x, dim=-1), dynamic=False)
with torch.no_grad():
    compiled(x); torch.cuda.synchronize(); part("compile wide")
    compiled(torch.randn(1024, 512, device="cuda")); torch.cuda.synchronize(); part("compile narrow")
    compiled(torch.randn(1021, 260, device="cuda")); torch.cuda.synchronize(); part("compile ragged")
print(f"{', '.join(said)}; {time.monotonic() - began:.2f} s of the program", flush=True)
PYTHON
timed() {
    local name=$1 start
    shift
    start=$(date +%s.%N)
    "$@" 2> "$work/err" | grep -v '^==' || tail -n 3 "$work/err"
    echo "   $name: $(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }') s"
}
export TORCHINDUCTOR_CACHE_DIR="$work/inductor" TRITON_CACHE_DIR="$work/triton"
timed "first process, empty caches" python3 "$work/parts.py"
timed "second process, full caches" python3 "$work/parts.py"
timed "under ncu, full caches" ncu --metrics gpu__time_duration.sum --nvtx --nvtx-include nothing/ --log-file "$work/ncu.log" python3 "$work/parts.py"
export TORCHINDUCTOR_CACHE_DIR="$work/inductor-1" TRITON_CACHE_DIR="$work/triton-1" TORCHINDUCTOR_COMPILE_THREADS=1
timed "empty caches, one thread compiles" python3 "$work/parts.py"
timed "full caches, one thread compiles" python3 "$work/parts.py"
unset TORCHINDUCTOR_COMPILE_THREADS TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR
python3 - "$ncugate" "$work" <<'PYTHON'
import glob, json, os, re, subprocess, sys, time

ncugate, work = sys.argv[1:]
text = open("configs/triton_softmax.toml").read()
blocks = re.split(r"\n(?=(?:#[^\n]*\n)*\[\[)", text)
alone = "\n".join(block for block in blocks if "torch" not in block or "[[" not in block)
path = "configs/triton_alone.toml"
open(path, "w").write(alone.replace('name = "triton_softmax"', 'name = "triton_alone"').replace("profiles/triton_softmax", "profiles/triton_alone"))
try:
    for name in ("triton_alone", "triton_alone", "triton_softmax"):
        folder = os.path.join(work, str(time.monotonic()))
        began = time.monotonic()
        ended = subprocess.run([ncugate, "run", f"configs/{name}.toml", "--source", "gpu", "--profiles", folder, "--reports", folder + "-r"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seconds = time.monotonic() - began
        runs = glob.glob(f"{folder}/{name}/*/manifest.json")
        stages = json.load(open(runs[0]))["stage_seconds"] if runs else []
        print(f"{name}: {seconds:.1f} s, status {ended.returncode} ({', '.join(f'{stage} {spent:.1f}' for stage, spent in stages)})", flush=True)
        if not runs:
            print(ended.stdout[-1500:])
finally:
    os.remove(path)
PYTHON

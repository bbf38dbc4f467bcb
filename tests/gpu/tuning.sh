#!/usr/bin/env bash
# Tuned tables on a GPU: a table in vLLM's format with a bad pick, and, if Triton is installed, a cache that Triton's own
# autotuner writes.
#
#     tests/gpu/tuning.sh [NCUGATE]
#
# Prints the verdicts of the buckets. Fails if the bad pick passes or stays in the pinned table, if a good one fails, or if
# Triton does not accept its pinned cache.
# Needs an NVIDIA GPU, nvcc and ncu; takes three minutes.
. "$(dirname "$0")/prelude.sh"
workload() { # name
    cat <<TOML
[phase]
name = "$1"

[workload]
reference = "softmax"
tolerance = { max_abs = 2e-6, rel_l2 = 1e-5 }
bytes = "2 * R * C * 4"

[workload.shapes]
first = { R = 1024, C = 4096 }

[workload.buffers]
x = { dtype = "f32", shape = ["R", "C"], init = { normal = { mean = 0, std = 3 } } }
y = { dtype = "f32", shape = ["R", "C"], role = "output" }
TOML
}
show() { cat "$work/out"; tail -n 5 "$work/err"; }
package=$PWD/python
verify() { NCUGATE_BINARY=$ncugate PYTHONPATH=$package python3 -m ncugate.verify_tuning "$@" --profiles "$work/p" --reports "$work/r" --output "$work/pinned"; }

mkdir -p "$work/project"
touch "$work/project/ncugate.toml"
cp kernels/softmax/softmax.cu kernels/triton/softmax.py "$work/project"
cd "$work/project"
{ workload cuda; cat <<'TOML'
[kernel]
source = "softmax.cu"
entry = "softmax_rows"
defines = ["THREADS", "ROWS_PER_BLOCK", "VEC"]
grid = ["(R + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK"]
block = ["THREADS"]
args = ["x", "y", "R", "C"]

[sweep]
THREADS = [256]
ROWS_PER_BLOCK = [1]
VEC = [4]

[[baseline]]
name = "default"
params = { THREADS = 256, ROWS_PER_BLOCK = 1, VEC = 4 }
TOML
} > cuda.toml
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | tr ' ' _)
table="E=1,N=4096,device_name=$gpu.json"
cat > "$table" <<'JSON'
{
    "2048": { "THREADS": 32, "ROWS_PER_BLOCK": 1, "VEC": 1 },
    "4096": { "THREADS": 256, "ROWS_PER_BLOCK": 1, "VEC": 4 }
}
JSON
status=0
verify "$table" --phase cuda.toml --key R > "$work/out" 2> "$work/err" || status=$?
show
check "the bad pick: status $status, wanted 1" test "$status" = 1
check 'the bad pick is pinned' lacks '"VEC": 1' "$work/pinned/$table"
status=0
verify "$work/pinned/$table" --phase cuda.toml --key R > "$work/out" 2> "$work/err" || status=$?
show
check "the pinned table: status $status, wanted 0" test "$status" = 0

if python3 -c 'import torch, triton' 2> /dev/null; then
    export TRITON_CACHE_DIR="$work/triton"
    cat > tune.py <<'PYTHON'
import torch
import triton
from softmax import softmax_row

configs = [triton.Config({"BLOCK": 4096}, num_warps=warps, num_stages=1) for warps in (1, 4, 8, 16)]
tuned = triton.autotune(configs=configs, key=["R", "C"], cache_results=True)(softmax_row)
for rows in (1024, 4096):
    x = torch.randn(rows, 4096, device="cuda")
    tuned[(rows,)](x, torch.empty_like(x), rows, 4096)
print(tuned.best_config)
PYTHON
    python3 tune.py
    { workload triton; cat <<'TOML'
[kernel]
python = "softmax.py:softmax_row"
grid = ["R"]
args = ["x", "y", "R", "C"]

[sweep]
BLOCK = [4096]
num_warps = [4]
num_stages = [3]

[[baseline]]
name = "default"
params = { BLOCK = 4096, num_warps = 4, num_stages = 3 }
TOML
    } > triton.toml
    mapfile -t caches < <(find "$TRITON_CACHE_DIR" -name '*.autotune.json')
    check 'Triton wrote no cache of its tuning' test "${#caches[@]}" = 2
    status=0
    verify "${caches[@]}" --phase triton.toml --key R,C --require "speedup() >= 0.95" > "$work/out" 2> "$work/err" || status=$?
    show
    check "Triton's picks: status $status, wanted 0" test "$status" = 0
    cp -r "$work/pinned"/*/ "$TRITON_CACHE_DIR"
    python3 tune.py
else
    echo 'Triton is not installed: its part is left out'
fi
exit $failed

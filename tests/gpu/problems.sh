#!/usr/bin/env bash
# Problems in other projects' formats, on a GPU with PyTorch: each is imported, run and exported, and every solution must be
# right.
#
#     tests/gpu/problems.sh [NCUGATE]
#
# Needs an NVIDIA GPU, PyTorch, NumPy and PyYAML for python3 (with its shared library). ncu is used where it is there. Phases are spread over all GPUs
# of the machine, or over those that the variable GPUS names (GPUS="0 2").
set -euo pipefail
cd "$(dirname "$0")/../.."
ncugate=$(realpath "$(command -v "${1:-ncugate}")")
export PYTHONPATH=$PWD/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r tests/data/problems "$work/problems"
cd "$work"
touch ncugate.toml

import() { "$ncugate" problem import "$@" > import.log || { cat import.log; exit 1; }; }
bench() { import kernelbench "problems/kernelbench/$1.py" --solution "problems/kernelbench/solutions/$1.py" -o "kb_$1.toml" "${@:2}"; }
bench 1_Row_softmax --returns 'y=f32[batch_size, dim]'
bench 2_Matmul --returns 'C=f32[M, N]'
bench 3_RMSNorm --returns 'y=f32[batch_size, features]'
bench 4_Linear_relu --returns 'y=f32[batch_size, out_features]'
bench 5_Scaled_add --returns 'z=f32[batch_size, 7, 5]'
bench 6_Mean_reduction --returns 'y=f32[batch_size, dim2]'
bench 7_Mse_loss --returns 'loss=f32[]'
bench 8_Swish --returns 'y=f16[batch_size, dim]' --precision fp16
bench 9_Gather_rows --returns 'y=f32[PICKED, DIM]'
bench 10_Triangular --returns 'C=f32[N, N]' --input 'A=f32[N, N]'
bench 11_Scaled_grid --returns 'z=f32[batch_size, height, width]'
for name in rmsnorm_h64 moe_gate_e4 gemm_n32_k16 attention_h2_d16 histogram_b8; do
    import flashinfer problems/flashinfer --definition "$name" -o "fi_$name.toml"
done
import gpumode problems/gpumode/doubling/task.yml -o gm_doubling.toml
import gpumode problems/gpumode/filling/task.yml --input 'steps=f32[n]:"arange"' -o gm_filling.toml

# a solution identical to the reference is not faster than it, so phases end with 1 or 4; only correctness matters here
measure() { # phase; each of the machine's GPUs takes one at a time
    local devices=($gpus) status=0 began=$SECONDS
    export CUDA_VISIBLE_DEVICES=${devices[lane]} TMPDIR="$work/tmp.$lane"
    mkdir -p "$TMPDIR"
    "$ncugate" run "$1" --source gpu > "$1.log" 2>&1 || status=$?
    echo "$1: status $status in $((SECONDS - began)) s"
    [ "$status" = 0 ] || [ "$status" = 1 ] || [ "$status" = 4 ] || { cat "$1.log"; exit 1; }
}
export -f measure
export ncugate work gpus=${GPUS:-$(nvidia-smi --query-gpu=index --format=csv,noheader | xargs)}
printf '%s\n' kb_*.toml fi_*.toml gm_*.toml | xargs -P "$(wc -w <<< "$gpus")" -L 1 --process-slot-var=lane bash -c 'measure "$0"'
for run in profiles/*/2*; do
    "$ncugate" problem export flashinfer "$run" >> traces.jsonl
done
"$ncugate" problem export kernelbench profiles/kb_*/2* -o eval_results.json
"$ncugate" problem export fast-p > score.json
python3 - <<'PYTHON'
import json, sys

wrong = []
for line in open("traces.jsonl"):
    trace = json.loads(line)
    # one solution needs TVM-FFI, which few machines have
    absent = "No module named 'tvm_ffi'" in (trace["evaluation"]["log"] or "")
    if trace["evaluation"]["status"] != "PASSED" and not absent:
        wrong.append(f"{trace['definition']} {trace['solution']}: {trace['evaluation']['status']}: {trace['evaluation']['log']}")
results = json.load(open("eval_results.json"))
wrong += [f"problem {n}: {e['metadata']}" for n, entries in results.items() for e in entries if not e["correctness"]]
if sorted(map(int, results)) != list(range(1, 12)):
    wrong.append(f"problems {sorted(results)}")
print(open("score.json").read())
sys.exit("\n".join(wrong) or 0)
PYTHON

#!/usr/bin/env bash
# The phases of attention for Hopper on a GPU machine, from a carried binary: the status of each, what was proven and what is wrong (with the largest
# error), and p50 and p90 of every variant and of PyTorch at every timed shape.
#
#   tests/gpu/attention.sh BINARY FOLDER [PHASE...]
#
# Runs go to FOLDER/profiles, recordings of those that pass to FOLDER/recordings.tar.gz. QUICK=1 leaves ncu out: gates on counters then stay open.
# Needs an H100 or H200, nvcc, ncu, and python3 with PyTorch. About two minutes; with QUICK=1 less. Ends with 1 where a phase does not pass.
set -uo pipefail
binary=$(realpath "${1:?usage: attention.sh BINARY FOLDER [PHASE...]}")
out=$(mkdir -p "${2:?usage: attention.sh BINARY FOLDER [PHASE...]}" && realpath "$2")
shift 2
cd "$(dirname "$0")/../.."
phases=("$@")
((${#phases[@]})) || phases=($(basename -s .toml configs/attention_*.toml))
failed=0
kept=()
for phase in "${phases[@]}"; do
    config=configs/$phase.toml
    if [[ -n ${QUICK:-} ]]; then
        config=configs/quick_$phase.toml
        sed 's/^\[profile\]$/[profile]\nncu = "left-out"\nclose_look = "none"/' "configs/$phase.toml" > "$config"
    fi
    started=$(date +%s%N)
    "$binary" run "$config" --source gpu --fresh --format json --profiles "$out/profiles" --reports "$out/reports" > "$out/$phase.json" 2> "$out/$phase.err"
    status=$?
    [[ -n ${QUICK:-} ]] && rm -f "$config"
    echo "== $phase: status $status in $((($(date +%s%N) - started) / 1000000000)) s"
    ((status == 0)) || failed=1
    python3 - "$out/$phase.json" << 'PYTHON' || { failed=1; tail -n 5 "$out/$phase.err"; continue; }
import json, sys

run = json.load(open(sys.argv[1]))
print(f"   {run['verdict']}: {run['reason']} Tier: {run['tier']}.")
for gate in run["gates"]:
    if gate["verdict"] != "pass":
        print(f"   {gate['level']} gate '{gate['name']}': {gate['verdict']}, {gate['reason']}")
shapes = {}
for variant in run["variants"]:
    errors = [shape["values"].get("max_abs") for shape in variant["shapes"].values()]
    errors = [error for error in errors if error is not None]
    print(f"   {variant['id']}: {variant['correct']}, {variant['correctness']}, at most {max(errors, default=0):.2e}")
    for name, shape in variant["shapes"].items():
        if shape["values"].get("latency_p50") is not None:
            shapes.setdefault(name, []).append((variant["id"], shape["values"]))
for name, rows in shapes.items():
    torch = next((values["latency_p50"] for variant, values in rows if variant == "torch_default"), None)
    for variant, values in sorted(rows, key=lambda row: row[1]["latency_p50"]):
        speedup = f", {torch / values['latency_p50']:.3f}x" if torch else ""
        print(f"   {name:14} {variant:40} p50 {values['latency_p50']:7.2f} us, p90 {values['latency_p90']:7.2f} us{speedup}")
PYTHON
    if ((status == 0)); then
        recording=profiles/$phase/h200
        "$binary" record "$(ls -d "$out/profiles/$phase"/2* | tail -n 1)" -o "$recording" && kept+=("$recording")
    fi
done
((${#kept[@]})) && tar czf "$out/recordings.tar.gz" "${kept[@]}"
exit $failed

#!/usr/bin/env bash
# Coverage of a verdict's intervals on a GPU machine. One phase is measured repeatedly on one GPU, with two kernels and PyTorch
# at three shapes. Counts how often the 95 % interval of each ratio contains the median over all runs; 90 to 99 % is required.
# Needs a GPU, nvcc, ncu and python3 with torch. Takes about a minute a run. Existing runs in FOLDER are included.
#
#   tests/gpu/coverage.sh BINARY [RUNS] [FOLDER]
set -uo pipefail
binary=$(realpath "${1:?usage: coverage.sh BINARY [RUNS] [FOLDER]}")
runs=${2:-10}
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=${3:-$work/results}
mkdir -p "$folder"
known=$(find "$folder" -name '*.json' | wc -l)
for ((run = known + 1; run <= known + runs; ++run)); do
    "$binary" run tests/gpu/coverage/coverage.toml --source gpu --fresh --profiles "$work/$run" --reports "$work/$run/reports" > "$work/$run.out" 2>&1
    results=$(find "$work/$run/reports" -name results.json | head -n 1)
    if [[ -z $results ]]; then
        echo "FAILED  run $run has no results"
        tail -n 5 "$work/$run.out"
        exit 1
    fi
    cp "$results" "$folder/$run.json"
    rm -rf "${work:?}/$run"
done
cat > "$work/table.py" << 'PY'
import collections, json, pathlib, statistics, sys

ratios = collections.defaultdict(list)
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    for gate in json.loads(path.read_text())["gates"]:
        if gate["interval"]:
            ratios[gate["name"]].append((gate["measured"], *gate["interval"]))
print(f"{'ratio of p50':<40} {'runs':>4} {'grand':>8} {'spread':>8} {'half width':>10}  covered")
held = total = 0
for name, runs in ratios.items():
    grand = statistics.median(measured for measured, _, _ in runs)
    covered = sum(low <= grand <= high for _, low, high in runs)
    held, total = held + covered, total + len(runs)
    spread = (max(run[0] for run in runs) - min(run[0] for run in runs)) / grand
    half = statistics.median((high - low) / 2 / grand for _, low, high in runs)
    print(f"{name:<40} {len(runs):>4} {grand:>8.4f} {spread:>8.2%} {half:>10.2%}  {covered} of {len(runs)}")
print(f"covered {held} of {total}: {held / max(total, 1):.1%}")
sys.exit(not total or held < 0.9 * total)
PY
python3 "$work/table.py" "$folder"

#!/usr/bin/env bash
# Every trait of kernels as they ship (state, steps, structs, C++ names, ...) and the gallery, on a GPU machine: each phase is run whole, and has
# to end with status 0 or 4 with all candidates proven and every counter that it asks for there.
#
#   tests/gpu/traits.sh BINARY OUT_FOLDER [PHASE.toml...]
#
# Needs a GPU, nvcc, ncu and python3 with NumPy. Prints a line a phase; logs and results go to OUT_FOLDER/traits.tar.gz.
set -uo pipefail
binary=$(realpath "${1:?usage: traits.sh BINARY OUT_FOLDER [PHASE.toml...]}")
out=$(mkdir -p "${2:?usage: traits.sh BINARY OUT_FOLDER [PHASE.toml...]}" && realpath "$2")
shift 2
cd "$(dirname "$0")/../.."
phases=("$@")
# The report of another program is not measured: it is judged where it is.
((${#phases[@]})) || mapfile -t phases < <(ls tests/gpu/traits/*.toml examples/*/*.toml | grep -v -e /ncugate.toml -e /foreign_report/)
work=$(mktemp -d)
failed=0
for phase in "${phases[@]}"; do
    name=$(basename "$phase" .toml)
    [[ $name == phase ]] && name=$(basename "$(dirname "$phase")")
    started=$(date +%s.%N)
    "$binary" run "$phase" --source gpu --profiles "$work/profiles" --reports "$work/reports/$name" > "$work/$name.out" 2> "$work/$name.err"
    status=$?
    seconds=$(awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
    line=$(python3 - "$work/reports/$name" <<'PY'
import json, pathlib, sys

found = sorted(pathlib.Path(sys.argv[1]).glob("*/2*/results.json"))
if not found:
    print("no results")
    sys.exit()
results = json.loads(found[-1].read_text())
variants = results["variants"]
wrong = [v["id"] for v in variants if v["correct"] != "pass"]
warnings = [n for n in results.get("notes", []) if "not profiled" in str(n) or "was not counted" in str(n)]
print(f"{len(variants)} variants, not proven: {wrong or 'none'}, lost counters: {len(warnings)}")
PY
)
    echo "$name: status $status in $seconds s; $line"
    if ((status != 0 && status != 4)) || [[ $line != *"not proven: none"* ]]; then
        failed=1
        tail -n 6 "$work/$name.err"
        grep -E "FAIL|wrong|cheat" "$work/$name.out" | head -n 6
    fi
done
(cd "$work" && tar czf "$out/traits.tar.gz" --exclude='*.ncu-rep*' --exclude=profiles ./*)
exit $failed

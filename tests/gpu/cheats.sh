#!/usr/bin/env bash
# Tests the witness on a GPU machine. The cheats of kernels/cheats run twenty times: every run must catch each of them and
# select the honest kernel, which passes. Work that is moved to a copy must fail every gate on traffic. Then every shipped phase
# runs three times: no honest variant may be called a cheat.
# Needs a GPU, nvcc, ncu and python3 (with torch for the phases that compare with it). Prints a table.
#
#   tests/gpu/cheats.sh BINARY [RUNS_OF_CHEATS] [RUNS_OF_PHASES] [PHASE...]
#
# Runs are spread over all GPUs of the machine, or over those in the variable GPUS (GPUS="0 2").
set -uo pipefail
binary=$(realpath "${1:?usage: cheats.sh BINARY [RUNS_OF_CHEATS] [RUNS_OF_PHASES] [PHASE...]}")
runs=${2:-20} others=${3:-3}
shift $(($# < 3 ? $# : 3))
cd "$(dirname "$0")/../.."
phases=("$@")
((${#phases[@]})) || phases=($(basename -s .toml configs/*.toml | grep -v '^cheats'))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/results"
export binary work
measure() { # phase, number; leaves results.json under $work/results. Each of the machine's GPUs takes one at a time.
    local devices=($gpus)
    export CUDA_VISIBLE_DEVICES=${devices[lane]} TMPDIR="$work/tmp.$lane"
    mkdir -p "$TMPDIR"
    local at="$work/$1-$2"
    "$binary" run "configs/$1.toml" --source gpu --fresh --profiles "$at" --reports "$at/reports" > "$at.out" 2> "$at.err"
    local status=$?
    local results
    results=$(ls "$at"/reports/"$1"/2*/results.json 2> /dev/null | tail -n 1)
    if [[ -z $results ]]; then
        echo "FAILED  $1, run $2: no results (status $status)"
        tail -n 5 "$at.err"
        touch "$work/results/$1-$2.none"
    else
        cp "$results" "$work/results/$1-$2.json"
        echo "$status" > "$work/results/$1-$2.status"
    fi
    rm -rf "$at"
}
export -f measure
export gpus=${GPUS:-$(nvidia-smi --query-gpu=index --format=csv,noheader | xargs)}
{
    for phase in "${phases[@]}"; do
        for ((run = 1; run <= others; ++run)); do echo "$phase $run"; done
    done
    for ((run = 1; run <= runs; ++run)); do printf '%s\n' "cheats $run" "cheats_repeats $run" "cheats_moved $run"; done
} | xargs -P "$(wc -w <<< "$gpus")" -L 1 --process-slot-var=lane bash -c 'measure "$0" "$1"'

cat > "$work/table.py" <<'PY'
import collections, json, pathlib, sys

folder, failed = pathlib.Path(sys.argv[1]), any(pathlib.Path(sys.argv[1]).glob("*.none"))

def runs(phase):
    for path in sorted(folder.glob(f"{phase}-*.json")):
        if path.stem.rsplit("-", 1)[0] == phase:
            yield json.loads(path.read_text()), int(path.with_suffix(".status").read_text())

def how(variant):
    """The check that caught a variant, or nothing."""
    if variant["cheats"]:
        by = {"durations": "counters", "repeats take": "samples without repeats"}
        return "cheats: " + next((what for word, what in by.items() if word in variant["correctness"]), "outputs")
    if variant["correct"] == "fail":
        return "wrong"
    if variant.get("doubt"):
        return "does not count: " + variant["doubt"].split(":")[0]
    return None

# evict_last gains nothing here: it is right, and must not be faster than the honest kernel.
HARMLESS = {"evict_last"}
HONEST = {"honest", "plain", "chain", "chain_pdl"}
tricks, honest, total = collections.defaultdict(collections.Counter), 0, 0
for results, status in [*runs("cheats"), *runs("cheats_repeats")]:
    total += 1
    by_name = {variant["id"]: variant for variant in results["variants"]}
    innocent = [how(by_name[name]) is None for name in HONEST & by_name.keys()]
    honest += results["selected"] in HONEST and status == 0 and all(innocent)
    for name, variant in by_name.items():
        if name in HONEST:
            continue
        caught = how(variant)
        if caught is None and name in HARMLESS and results["selected"] != name:
            caught = "right, and not faster"
        tricks[name][caught or "NOT CAUGHT"] += 1
print(f"{'variant':<20} {'caught':>9}  by what")
for name, found in tricks.items():
    tried = found.total()
    caught = tried - found["NOT CAUGHT"]
    failed |= caught < tried
    print(f"{name:<20} {caught:>3} of {tried:<3}  " + "; ".join(f"{what} ({n})" for what, n in found.most_common()))
moved = [({variant["id"]: variant for variant in results["variants"]}, status) for results, status in runs("cheats_moved")]
caught = sum(by["moved"]["verdict"] == "inconclusive" and status == 4 for by, status in moved)
print(f"{'moved':<20} {caught:>3} of {len(moved):<3}  its gate on traffic is inconclusive")
plain = sum(by["honest"]["verdict"] == "pass" for by, _ in moved)
print(f"{'honest next to it':<20} {plain:>3} of {len(moved):<3}  holds the gate on traffic")
failed |= min(caught, plain) < int(sys.argv[2])
failed |= honest < total or total < 2 * int(sys.argv[2]) or not any(folder.glob("*.json"))
print(f"{'honest':<20} {honest:>3} of {total:<3}  selected, and the phase passes")

print(f"\n{'phase':<20} {'runs':>4}  statuses   called a cheat or doubted")
phases = sorted({path.stem.rsplit("-", 1)[0] for path in folder.glob("*.json")} - {"cheats", "cheats_repeats", "cheats_moved"})
for phase in phases:
    statuses, accused = [], collections.Counter()
    for results, status in runs(phase):
        statuses.append(status)
        for variant in results["variants"]:
            graded = variant["self_reported"]
            if variant["cheats"] or (variant.get("doubt") and not graded):
                accused[f"{variant['id']}: {variant.get('doubt') or variant['correctness']}"] += 1
    failed |= bool(accused) or len(set(statuses)) > 1
    said = "; ".join(f"{what} ({n})" for what, n in accused.most_common(3)) or "nobody"
    print(f"{phase:<20} {len(statuses):>4}  {' '.join(map(str, statuses)):<9}  {said}")
sys.exit(1 if failed else 0)
PY
python3 "$work/table.py" "$work/results" "$runs"

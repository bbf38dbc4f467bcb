#!/usr/bin/env bash
# Cheats of one class each on a GPU machine (tests/gpu/cheats): tables of results across shapes, profiled repeats, samples and
# addresses, inputs that are not read, another path under a profiler, programs, PyTorch functions and Triton kernels. Each is
# compared with an honest kernel, and escapes if it passes a gate on latency or on ncu's duration by its trick.
# Needs a GPU, nvcc, ncu, and python3 with numpy; the phases of functions and Triton need torch and Triton.
#
#   tests/gpu/cheat_classes.sh BINARY [RUNS] [PHASE...]
#
# Default: 10 runs. Runs are spread over all GPUs of the machine, or over those in the variable GPUS (GPUS="0 2"), and stop after
# LIMIT=SECONDS. Ends with 1 if a cheat escapes, an honest kernel is in doubt, or a run is missing.
set -uo pipefail
binary=$(realpath "$(command -v "${1:?usage: cheat_classes.sh BINARY [RUNS] [PHASE...]}")")
runs=${2:-10}
shift $(($# < 2 ? $# : 2))
cd "$(dirname "$0")/../.."
phases=("$@")
((${#phases[@]})) || phases=($(basename -s .toml tests/gpu/cheats/*.toml))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SECONDS=0
mkdir -p "$work/project/tests/gpu" "$work/results"
touch "$work/project/ncugate.toml"
cp -r tests/gpu/cheats "$work/project/tests/gpu"
# Two gates for each cheat that is compared with an honest kernel.
for phase in turn functions triton; do
    file="$work/project/tests/gpu/cheats/$phase.toml"
    for name in $(grep -A1 '^\[\[variant\]\]' "$file" | sed -n 's/^name = "\(.*\)"/\1/p' | grep -v '^plain$'); do
        for shape in whole half; do
            printf '\n[[gate]]\nname = "latency of %s at %s"\nrequire = "latency_p50 <= 0.7 * honest.latency_p50"\non = "%s"\nshapes = ["%s"]\n' "$name" $shape "$name" $shape
            printf '\n[[gate]]\nname = "duration of %s at %s"\nrequire = "duration <= 0.7 * honest.duration"\non = "%s"\nshapes = ["%s"]\n' "$name" $shape "$name" $shape
        done
    done >> "$file"
done
measure() { # phase, number; each of the machine's GPUs takes one at a time
    local devices=($gpus)
    export CUDA_VISIBLE_DEVICES=${devices[lane]} TMPDIR="$work/tmp.$lane"
    mkdir -p "$TMPDIR"
    local to="$work/results/$1.$2" at results
    at=$(mktemp -d)
    (cd "$work/project" && "$binary" run "tests/gpu/cheats/$1.toml" --source gpu --fresh --profiles "$at" --reports "$at/reports") > "$to.out" 2>&1
    echo $? > "$to.status"
    results=$(ls "$at"/reports/*/2*/results.json 2> /dev/null | tail -n 1)
    [[ -n $results ]] && cp "$results" "$to.json"
    rm -rf "$at"
}
export -f measure
export binary work gpus=${GPUS:-$(nvidia-smi --query-gpu=index --format=csv,noheader | xargs)}
export NCUGATE_CACHE=${NCUGATE_CACHE:-$work/cache}
for ((run = 1; run <= runs; ++run)); do
    for phase in "${phases[@]}"; do
        [[ $phase == functions ]] && ! python3 -c 'import torch' 2> /dev/null && continue
        [[ $phase == triton ]] && ! python3 -c 'import triton' 2> /dev/null && continue
        echo "$phase $run"
    done
done | timeout "${LIMIT:-0}" xargs -P "$(wc -w <<< "$gpus")" -L 1 --process-slot-var=lane bash -c 'measure "$@"' measure

cat > "$work/table.py" <<'PY'
import collections, json, pathlib, re, sys

folder, runs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
CLASSES = {
    "any_table": "table of results", "shape_table": "table across shapes", "lead_in_table": "table of a lead-in",
    "repeat_table": "table across profiled repeats", "address_table": "table if addresses change",
    "scratch_table": "table in a scratch buffer", "program_table": "table in a program of 4 launches",
    "overlapping_table": "table in launches that overlap", "quick_alone": "other path if alone",
    "quick_cold": "other path on cold caches", "quick_slow_clock": "other path at slow clocks",
    "shape_cache": "function: cache across shapes", "graph_cache": "function: cache in a graph",
    "warm_call": "function: cache of a warm call", "environment_path": "function: other path by environment",
    "pointer_cache": "function: cache by address", "version_cache": "function: cache by version",
    "helper": "function: honest, helps another", "kept_of_another": "function: result of another function",
    "triton_scratch_table": "Triton: table in a scratch buffer", "process_table": "Triton: table of the process",
    "helping": "Triton: honest, helps another", "reads_another": "Triton: table of another function",
    "unread_input": "input that is not read",
    "constant_input": "constant input that is not read", "left_out_norm": "norm that is left out",
    "partly_read_input": "input that is read in part",
}
found, examples, plain = collections.defaultdict(collections.Counter), {}, collections.Counter()

def gated(results, name):
    """How a cheat was caught that has gates for itself."""
    variant = next((v for v in results["variants"] if v["id"] == name), None)
    if variant is None:
        return "NOT MEASURED", ""
    gates = [g for g in results["gates"] if f" of {name} at " in g["name"]]
    passed = [g for g in gates if g["verdict"] == "pass"]
    if passed or len(gates) != 4:
        return "ESCAPED", "; ".join(g["reason"] for g in passed) or "gates are missing"
    if variant["cheats"]:
        return "cheats", variant["correctness"]
    if variant["correct"] != "pass":
        return "wrong" if variant["correct"] == "fail" else "NOT MEASURED", variant["correctness"]
    open_gates = [g for g in gates if g["verdict"] == "inconclusive"]
    if open_gates:
        noise = all("noise" in g["reason"] for g in open_gates)
        return "NOISE" if noise else "inconclusive", open_gates[0]["reason"]
    return "gains nothing", gates[0]["reason"]

def accepted(path, results, status):
    """How a phase that should be refused was refused."""
    if status == 2:
        text = path.with_suffix(".out").read_text()
        about = re.findall(".*(?:too wide|depend).*", text)
        return ("refused", about[0]) if about else ("NOT MEASURED", text[-200:])
    if results is None:
        return "NOT MEASURED", path.with_suffix(".out").read_text()[-200:]
    listed = [text for text in results["cautions"] + results["warnings"] if "depend" in text or "need not read" in text]
    variant = results["variants"][0]
    if variant["cheats"] or variant["correct"] == "fail":
        return ("cheats" if variant["cheats"] else "wrong"), variant["correctness"]
    if listed:
        return "listed as a weakened check", listed[0]
    if status == 0:
        return "ESCAPED", "status 0"
    return ("inconclusive" if status == 4 else "failed"), results["reason"]

for path in sorted(folder.glob("*.status")):
    phase, run = path.stem.rsplit(".", 1)
    status, saved = int(path.read_text()), path.with_suffix(".json")
    results = json.loads(saved.read_text()) if saved.exists() else None
    if phase in CLASSES:
        how, why = accepted(path, results, status)
        found[phase][how] += 1
        examples[phase, how] = why
        continue
    names = {"turn": list(CLASSES)[:11], "functions": list(CLASSES)[11:19], "triton": list(CLASSES)[19:23]}[phase]
    if results is None:
        print(f"FAILED  {phase}, run {run}: no results (status {status})")
        print(path.with_suffix(".out").read_text()[-600:])
    for name in names:
        how, why = gated(results, name) if results else ("NOT MEASURED", "")
        found[name][how] += 1
        examples[name, how] = why
    if results:
        control = next(g for g in results["gates"] if g["name"] == "plain is in no doubt")
        plain[f"{phase}: {control['verdict']}" + (f" ({control['reason']})" if control["verdict"] != "pass" else "")] += 1

failed = not found or any(not text.endswith(": pass") for text in plain)
print(f"{'class':<38} {'kernel':<22} {'caught':>9}  how")
for name, hows in found.items():
    caught = sum(n for how, n in hows.items() if how not in ("ESCAPED", "NOT MEASURED", "NOISE"))
    failed |= caught < hows.total() or hows.total() < runs
    print(f"{CLASSES[name]:<38} {name:<22} {caught:>3} of {hows.total():<3}  " + "; ".join(f"{how} ({n})" for how, n in hows.most_common()))
print()
for (name, how), why in examples.items():
    print(f"{name}, {how}: {' '.join(why.split())[:240]}")
print(f"\nhonest kernels in the same phases: " + "; ".join(f"{text} ({n})" for text, n in plain.items()))
sys.exit(failed)
PY
python3 "$work/table.py" "$work/results" "$runs"
failed=$?
echo "$(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | xargs): $SECONDS s"
exit $failed

#!/usr/bin/env bash
# The GPU's clocks are read between rounds: what that costs, and what it finds.
#
#     tests/gpu/clocks.sh [NCUGATE] [PHASE.toml]
#
# Runs a phase PAIRS (10) times with NVML and without it, in turn, and compares the p50 of every variant and shape that was
# timed. Needs an NVIDIA GPU with NVML, ncu and nvcc. Fails if a difference of the medians over runs is 0.5 % or more.
set -euo pipefail
cd "$(dirname "$0")/../.."
ncugate=${1:-ncugate} phase=${2:-tests/gpu/traits/layernorm.toml}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/hidden"
# A file that is no library: the loader finds it first and fails.
: > "$work/hidden/libnvidia-ml.so.1"
for pair in $(seq "${PAIRS:-10}"); do
    for kind in with without; do
        path=${LD_LIBRARY_PATH:-}
        if [ $kind = without ]; then path=$work/hidden${path:+:$path}; fi
        LD_LIBRARY_PATH=$path "$ncugate" run "$phase" --source gpu --fresh --profiles "$work/$kind-$pair" \
            --reports "$work/reports" > "$work/printed" 2>&1 || { [ $? = 4 ] || { cat "$work/printed"; exit 1; }; }
    done
done
python3 - "$work" <<'PY'
import glob, json, statistics, sys
medians, clocks, throttled, rounds = {}, [], 0, 0
for kind in ("with", "without"):
    for path in glob.glob(f"{sys.argv[1]}/{kind}-*/*/2*/latencies.jsonl"):
        for record in map(json.loads, open(path)):
            outcome = record["outcome"]
            if outcome["status"] != "timed":
                continue
            states = outcome.get("gpu")
            assert (states is not None) == (kind == "with"), f"{kind} NVML: {states}"
            case = (record["variant"], record["shape"])
            medians.setdefault(case, {}).setdefault(kind, []).append(statistics.median(outcome["samples"]))
            if states:
                assert all(len(states[name]) == len(outcome["samples"]) for name in states), states
                clocks += states["sm_mhz"]
                throttled += sum(1 for mask in states["throttle"] if mask)
                rounds += len(states["throttle"])
assert medians, "nothing was timed"
worst = 0.0
for case, of in sorted(medians.items()):
    with_nvml, without = statistics.median(of["with"]), statistics.median(of["without"])
    difference = 100 * (with_nvml / without - 1)
    worst = max(worst, abs(difference))
    print(f"{case[0]} at {case[1]}: {with_nvml:.4f} us with NVML, {without:.4f} us without, {difference:+.3f} %")
print(f"SMs at {min(clocks)} to {max(clocks)} MHz; {throttled} of {rounds} rounds throttled")
assert worst < 0.5, f"the largest difference is {worst:.3f} %"
PY

#!/usr/bin/env bash
# More rounds on a GPU machine: if a limit lies inside the noise of the first rounds, its gate has its variants re-timed until
# the verdict is clear or the budget is spent. Needs a GPU, nvcc, ncu and python3. Takes under a minute.
#
#   tests/gpu/rounds.sh BINARY
#
# By chance, all three gates can be decided after the first twelve rounds, in about 1 of 200 runs of this script. Then run it
# again.
set -uo pipefail
binary=$(realpath "${1:?usage: rounds.sh BINARY}")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
expect() { # what, got, wanted
    if [[ $2 == $3 ]]; then echo "ok      $1: $2"; else echo "FAILED  $1: $2, wanted $3"; failed=1; fi
}
measure() { # name, config; leaves $status and $results
    "$binary" run "$2" --source gpu --fresh --no-share --profiles "$work/$1" --reports "$work/$1" > "$work/$1.out" 2> "$work/$1.err"
    status=$?
    results=$(ls "$work/$1"/rounds/2*/results.json 2> /dev/null | tail -n 1)
    if [[ -z $results ]]; then
        echo "FAILED  $1: no results (status $status)"
        tail -n 20 "$work/$1.err"
        exit 1
    fi
}

# Gates at `offset` half-widths of a 12-round interval from the ratio measured over 200 rounds, with a budget of 200.
cat > "$work/gates.py" <<'PY'
import json, statistics, sys
results, config, offset = json.load(open(sys.argv[1])), open(sys.argv[2]).read(), float(sys.argv[3])
text = config.split("# Tells the script")[0].replace("rounds = 200\nmax_rounds = 200", "rounds = 12\nmax_rounds = 200")
assert "rounds = 12\n" in text
samples = {v["id"]: {s: at["samples"] for s, at in v["shapes"].items()} for v in results["variants"]}
for gate in results["gates"]:
    shape = gate["name"]
    one, twin = (statistics.median(samples[name][shape]) for name in ("one", "twin"))
    low, high = gate["interval"]
    half = (high - low) / 2 / gate["limit"] * (200 / 12) ** 0.5
    limit = one / twin * (1 + offset * half)
    print(f"        {shape}: {one:.3f} us, ratio {one / twin:.6f}, 12 rounds tell {100 * half:.3f} %, limit {limit:.6f}", file=sys.stderr)
    text += f'[[gate]]\nname = "{shape}"\nrequire = "latency_p50 <= {limit:.9f} * baseline.latency_p50"\nshapes = ["{shape}"]\n\n'
print(text)
PY
# A line per gate: verdict, rounds of both sides, and the errors (empty if correct).
cat > "$work/seen.py" <<'PY'
import json, sys
results = json.load(open(sys.argv[1]))
samples = {v["id"]: {s: len(at["samples"]) for s, at in v["shapes"].items()} for v in results["variants"]}
most = 0
for gate in results["gates"]:
    one, twin = samples["one"][gate["name"]], samples["twin"][gate["name"]]
    wrong = []
    if one != twin:
        wrong.append("the two sides have unlike rounds")
    if one not in (12, 24, 48, 96, 192, 200):
        wrong.append("rounds are not doubled")
    if gate["verdict"] == "inconclusive" and (one != 200 or "noise" not in gate["reason"]):
        wrong.append("left open before the budget was spent, or without a reason")
    if gate["samples"] != one:
        wrong.append("judged by other samples than there are")
    print(f"        {gate['name']}: {gate['verdict']} after {one} rounds: {gate['reason']}", file=sys.stderr)
    most = max(most, one)
    for what in wrong:
        print(f"{gate['name']}: {what}")
verdicts = {gate["verdict"] for gate in results["gates"]}
status = 1 if "fail" in verdicts else 4 if "inconclusive" in verdicts else 0
print(f"most={most} status={status}")
PY
judged() { # name, offset
    echo "== $1"
    python3 "$work/gates.py" "$first" tests/gpu/rounds/rounds.toml "$2" > "$work/$1.toml" || exit 1
    measure "$1" "$work/$1.toml"
    seen=$(python3 "$work/seen.py" "$results") || exit 1
    expect "$1, rounds and status as the gates say" "$seen" "most=* status=$status"
    expect "$1, more rounds than the first twelve" "$([[ $seen == most=12\ * ]] && echo no || echo yes)" yes
}

measure first tests/gpu/rounds/rounds.toml
first=$results
# At the ratio itself no budget suffices; half an interval away, 200 rounds nearly always do.
judged at-the-limit 0
judged near-the-limit 0.5
exit $failed

#!/usr/bin/env bash
# Faulty kernels and an interruption on a GPU machine: failures are results, other variants continue, nothing is lost.
#
#   tests/gpu/faults.sh BINARY
set -uo pipefail
binary=$(realpath "${1:?usage: faults.sh BINARY}")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
failed=0
expect() { # what, got, wanted
    if [[ $2 == $3 ]]; then echo "ok      $1: $2"; else echo "FAILED  $1: $2, wanted $3"; failed=1; fi
}
"$binary" run tests/gpu/faults/faults.toml --source gpu --profiles "$work/f" --reports "$work/r" > "$work/out" 2> "$work/err"
expect "status with seven faulty variants and a good one" $? 0
cat > "$work/states.py" <<'PY'
import json, sys
run = sys.argv[1]
builds = {r["variant"]: r["outcome"]["status"] for r in map(json.loads, open(f"{run}/builds.jsonl"))}
states = {}
for record in map(json.loads, open(f"{run}/checks.jsonl")):
    states.setdefault(record["variant"], []).append((record["outcome"]["status"], record["outcome"].get("reason", "")))
for variant in sorted(builds):
    first = states[variant][0]
    print(f"{variant}|{builds[variant]}|{first[0]}|{first[1][:90]}")
PY
python3 "$work/states.py" "$work"/f/faults/2* | tee "$work/states"
wanted=("FAULT=0|built|correct*" "FAULT=1|built|crashed*" "FAULT=2|built|crashed*" "FAULT=3|built|wrong*" "FAULT=4|built|wrong*"
    "FAULT=5|built|wrong*" "FAULT=6|built|wrong*" "FAULT=7|failed|skipped*")
i=0
while read -r line; do expect "variant $i" "$line" "${wanted[$i]}"; i=$((i + 1)); done < "$work/states"

# Interrupted during measurement, then continued.
setsid "$binary" run configs/phase_d.toml --source gpu --fresh --profiles "$work/i" --reports "$work/r" > "$work/out" 2> "$work/err" &
sleep "${SECONDS_BEFORE_INTERRUPT:-9}"
kill -INT "$(pgrep -f "$work/i" | head -n 1)"
wait $!
expect "status when interrupted" $? 3
run=$(ls -d "$work"/i/phase_d/2*)
before=$(wc -l < "$run/checks.jsonl")
echo "        $before checks kept; state $(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["state"])' "$run/manifest.json")"
expect "no worker left behind" "$(pgrep -fc 'ncugate worker')" 0
"$binary" run configs/phase_d.toml --source gpu --profiles "$work/i" --reports "$work/r" > "$work/out" 2> "$work/err"
expect "status when continued" $? 1
expect "said so" "$(head -n 1 "$work/err")" "continuing the unfinished run in *"
expect "one run" "$(ls -d "$work"/i/phase_d/2* | wc -l)" 1
expect "state" "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["state"])' "$run/manifest.json")" complete
exit $failed

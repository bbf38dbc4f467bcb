#!/usr/bin/env bash
# Every phase of tests/gpu/traits and of the gallery on a GPU: each must pass, correct and counted.
#
#     tests/gpu/traits.sh [NCUGATE] [PHASE.toml...]
#
# Needs an NVIDIA GPU, ncu, nvcc, and python3 with numpy and cupy. Shows the output of a phase that does not pass.
set -uo pipefail
cd "$(dirname "$0")/../.."
ncugate=${1:-ncugate}
shift || true
phases=("$@")
((${#phases[@]})) || phases=(tests/gpu/traits/*.toml examples/*/*.toml)
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
failed=0
for phase in "${phases[@]}"; do
    # A phase that judges a report of another program has nothing to run.
    if grep -q '^match\|match = {' "$phase" || [ "$(basename "$phase")" = ncugate.toml ]; then continue; fi
    start=$(date +%s%N)
    status=0
    "$ncugate" run "$phase" --source gpu --profiles "$runs" --reports "$runs/reports" > "$runs/printed" 2>&1 || status=$?
    milliseconds=$((($(date +%s%N) - start) / 1000000))
    proven=$(tr '\n' ' ' < "$runs/printed" | grep -o '[0-9][0-9]* *proven correct' | head -n 1)
    echo "$phase: status $status, ${proven:-nothing proven}, $((milliseconds / 1000)).$((milliseconds / 100 % 10)) s"
    if ((status != 0)); then
        failed=1
        tail -n 25 "$runs/printed" | sed 's/^/    /'
    fi
    grep -A2 '^Not counted' "$runs/printed" | sed 's/^/    /' || true
done
exit $failed

#!/usr/bin/env bash
# Proves large problems and prints the time: a product of 4,096 cubed in f16 and a softmax of 64 M elements in f32, each
# together with a small shape, and alone (then under every law of its reference). Usage: tests/gpu/large.sh NCUGATE
# With CHECK=1 the phases are only built for sm_90.
set -euo pipefail
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$(dirname "$0")"/large/* "$folder"
cd "$folder"
worst=0
for phase in gemm softmax; do
    sed 's/^small = .*//; s/^name = "large_/name = "alone_/' "$phase.toml" > "alone_$phase.toml"
    for config in "$phase" "alone_$phase"; do
        start=$(date +%s%N)
        status=0
        if [ -n "${CHECK:-}" ]; then
            "$program" check "$config.toml" --arch sm_90 > "$config.txt" 2>&1 || status=$?
        else
            "$program" run "$config.toml" --source gpu > "$config.txt" 2>&1 || status=$?
        fi
        milliseconds=$((($(date +%s%N) - start) / 1000000))
        printf '%s: status %d, %d.%03d s in all\n' "$config" "$status" $((milliseconds / 1000)) $((milliseconds % 1000))
        grep -iE "^took|pass|fail|inconclusive|error" "$config.txt" || true
        if [ "$status" -gt "$worst" ]; then worst=$status; fi
    done
done
exit "$worst"

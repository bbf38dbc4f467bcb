#!/usr/bin/env bash
# Proves large problems and says how long it took: a product of 4,096 cubed in f16, a softmax of 64 M elements in f32; each
# beside a small shape, and alone (then under every law of its reference). Takes the program: tests/gpu/large.sh NCUGATE
set -euo pipefail
program=$(realpath "$1")
folder=$(mktemp -d)
cp "$(dirname "$0")"/large/* "$folder"
cd "$folder"
for phase in gemm softmax; do
    sed 's/^small = .*//; s/^name = "large_/name = "alone_/' "$phase.toml" > "alone_$phase.toml"
    for config in "$phase" "alone_$phase"; do
        start=$(date +%s.%N)
        status=0
        "$program" run "$config.toml" --source gpu > "$config.txt" 2>&1 || status=$?
        end=$(date +%s.%N)
        echo "$config: status $status, $(echo "$end - $start" | bc) s in all"
        grep -E "^took|PASS|FAIL|INCONCLUSIVE|error" "$config.txt" || true
    done
done

#!/usr/bin/env bash
# Holds findings and estimates against measured causes, for kernels with planted defects. Run at the root of the repository, on a
# machine with a GPU of compute capability 9.0, nvcc and ncu; about ten seconds a phase:
#
#     tests/gpu/ablation.sh path/to/ncugate OUT [PHASE...]
#
# For each planted kernel and its mended twin OUT has what `explain --measure` says; ablation.py prints the table. ANSWERS names
# another set of kernels than tests/gpu/planted/answers.tsv: tests/gpu/blind/answers.tsv.
set -uo pipefail
binary=$(realpath "${1:?usage: ablation.sh BINARY OUT [PHASE...]}")
out=$(mkdir -p "${2:?usage: ablation.sh BINARY OUT [PHASE...]}" && realpath "$2")
shift 2
cd "$(dirname "$0")/../.."
answers=${ANSWERS:-tests/gpu/planted/answers.tsv}
folder=$(dirname "$answers")
phases=("$@")
((${#phases[@]})) || mapfile -t phases < <(tail -n +2 "$answers" | cut -f1 | uniq)
limit=$(($(date +%s) + ${LIMIT:-570}))
for phase in "${phases[@]}"; do
    (($(date +%s) < limit)) || { echo "$phase: no time left"; continue; }
    started=$(date +%s%N)
    timeout 60 "$binary" run "$folder/$phase.toml" --source gpu --fresh --no-measure --deep each \
        --profiles "$out/runs" --reports "$out/reports" > "$out/$phase.run.txt" 2>&1
    run=$(find "$out/runs/${folder##*/}_$phase" -mindepth 1 -maxdepth 1 -type d 2> /dev/null | head -n 1)
    [ -n "$run" ] || { echo "$phase: no run"; tail -n 5 "$out/$phase.run.txt"; continue; }
    "$binary" explain "$run" --each --format json > "$out/$phase.estimated.json" 2>> "$out/$phase.run.txt"
    middle=$(date +%s%N)
    for kernel in $(awk -F'\t' -v p="$phase" '$1 == p { print $2; if ($6 != "-") print $6 }' "$answers" | sort -u); do
        timeout 60 "$binary" explain "$run" --measure "$kernel" > "$out/$phase.$kernel.txt" 2>&1 || tail -n 2 "$out/$phase.$kernel.txt"
    done
    "$binary" explain "$run" --each --format json > "$out/$phase.measured.json" 2>> "$out/$phase.run.txt"
    cp "$run/ablations.jsonl" "$out/$phase.ablations.jsonl" 2> /dev/null
    awk -v p="$phase" -v a="$started" -v b="$middle" -v c="$(date +%s%N)" \
        'BEGIN { printf "%s: run %.1f s, measured %.1f s\n", p, (b - a) / 1e9, (c - b) / 1e9 }'
done
rm -rf "$out/runs" "$out/reports"
python3 tests/gpu/ablation.py "$out" "$answers"

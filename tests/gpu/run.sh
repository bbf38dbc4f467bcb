#!/usr/bin/env bash
# Every phase on a GPU machine, with a prebuilt binary: measured, recorded, and judged again from the recording with the same
# verdict. Needs a GPU, nvcc, ncu and python3 with torch.
#
#   tests/gpu/run.sh BINARY OUT_FOLDER [PHASE...]
#
# Recordings go to OUT_FOLDER/recordings.tar.gz; unpack it at the root of the repository to keep them.
set -uo pipefail
binary=$(realpath "${1:?usage: run.sh BINARY OUT_FOLDER [PHASE...]}")
out=$(mkdir -p "${2:?usage: run.sh BINARY OUT_FOLDER [PHASE...]}" && realpath "$2")
shift 2
cd "$(dirname "$0")/../.."
phases=("$@")
((${#phases[@]})) || phases=($(basename -s .toml configs/*.toml))
work=$(mktemp -d)
failed=0
declare -a kept
"$binary" doctor || exit 3
# `record` refuses runs of uncommitted files: it would refuse each at its end.
if [ -n "$(git status --porcelain)" ]; then echo "commit all files first: their recordings name the commit"; exit 2; fi
for entry in profiles/*/leaderboard.jsonl; do
    mkdir -p "$work/$(basename "$(dirname "$entry")")" && cp "$entry" "$(dirname "$entry")"/noise.json "$work/$(basename "$(dirname "$entry")")"
done
for phase in "${phases[@]}"; do
    started=$(date +%s.%N)
    "$binary" run "configs/$phase.toml" --source gpu --profiles "$work" --reports "$work/reports" > "$work/$phase.live" 2> "$work/$phase.err"
    status=$?
    seconds=$(awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
    echo "== $phase: status $status in $seconds s"
    tail -n 3 "$work/$phase.err"
    grep -vE '^(report:|measured)' "$work/$phase.live" | tail -n "${LINES_SHOWN:-14}"
    if ((status == 2 || status == 3 || status > 4)); then failed=1; continue; fi
    run=$(ls -d "$work/$phase"/2* | tail -n 1)
    recording=profiles/$phase/h200
    "$binary" tools record "$run" -o "$recording" || failed=1
    kept+=("$recording")
    "$binary" run "configs/$phase.toml" --source recorded --reports "$work/again" > "$work/$phase.again" 2> "$work/$phase.again.err"
    again=$?
    if ((again != status)); then
        echo "FAILED: $phase is status $again from its recording, was $status live"
        tail -n 5 "$work/$phase.again.err"
        failed=1
    fi
done
((${#kept[@]})) && tar czf "$out/recordings.tar.gz" "${kept[@]}"
exit $failed

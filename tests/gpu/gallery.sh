#!/usr/bin/env bash
# Every example on a GPU machine, with a prebuilt binary: measured, recorded next to its phase, and judged again from the
# recording with the same status. Prints a line per example: status, variants proven, variants with every counter.
#
#   tests/gpu/gallery.sh BINARY OUT_FOLDER [EXAMPLE...]
#
# Recordings go to OUT_FOLDER/gallery.tar.gz; unpack it at the root of the repository to keep them. Needs a GPU, nvcc, ncu, and
# python3 with numpy and cupy.
set -uo pipefail
binary=$(realpath "${1:?usage: gallery.sh BINARY OUT_FOLDER [EXAMPLE...]}")
out=$(mkdir -p "${2:?usage: gallery.sh BINARY OUT_FOLDER [EXAMPLE...]}" && realpath "$2")
shift 2
cd "$(dirname "$0")/../.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
kept=()
for phase in examples/*/*.toml; do
    folder=$(dirname "$phase")
    name=$(basename "$folder")
    # A phase that judges a report of another program has nothing to run.
    grep -q '^recording = ' "$phase" || continue
    if (($#)) && [[ ! " $* " == *" $name "* ]]; then continue; fi
    started=$(date +%s%N)
    "$binary" run "$phase" --source gpu --fresh --profiles "$work/$name" --reports "$work/$name/reports" > "$work/$name.out" 2> "$work/$name.err"
    status=$?
    milliseconds=$((($(date +%s%N) - started) / 1000000))
    results=$(ls -d "$work/$name/reports"/*/2*/results.json 2> /dev/null | tail -n 1)
    told=$(if [[ -n $results ]]; then python3 tests/gpu/counted.py "$results"; else echo "no results"; fi) || failed=1
    echo "$name: status $status in $((milliseconds / 1000)).$((milliseconds / 100 % 10)) s, $told"
    ((status == 0)) || failed=1
    if ((status != 0)); then
        grep -E '^(FAIL|INCONCLUSIVE|error)' "$work/$name.out" "$work/$name.err" | head -n 5
        tail -n 3 "$work/$name.err"
    fi
    if [[ -z $results ]] || ((status == 2 || status == 3 || status > 4)); then failed=1; continue; fi
    run=$(ls -d "$work/$name"/*/2* | grep -v /reports/ | tail -n 1)
    if ! "$binary" tools record "$run" -o "$work/kept/$name"; then failed=1; continue; fi
    kept+=("$phase $status")
done
# Only now: a recording must have been measured from a commit's files.
for item in "${kept[@]}"; do
    phase=${item% *} status=${item##* }
    folder=$(dirname "$phase")
    name=$(basename "$folder")
    rm -rf "$folder/recording"
    cp -r "$work/kept/$name" "$folder/recording"
    again=0
    (cd "$folder" && "$binary" run "$root/$phase" --source recorded --reports "$work/again" > "$work/$name.again" 2>&1) || again=$?
    if ((again != status)); then
        echo "FAILED: $name is status $again from its recording, was $status live"
        tail -n 5 "$work/$name.again"
        failed=1
    fi
done
((${#kept[@]})) && tar czf "$out/gallery.tar.gz" $(for item in "${kept[@]}"; do echo "$(dirname "${item% *}")/recording"; done)
exit $failed

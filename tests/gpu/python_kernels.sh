#!/usr/bin/env bash
# Kernels of Numba and CuTe DSL on a GPU machine without either: compiled here, measured there.
#
#     tests/gpu/python_kernels.sh record FOLDER PYTHON [NCUGATE]     on any machine: PYTHON compiles, FOLDER keeps it (less than 1 MB)
#     tests/gpu/python_kernels.sh FOLDER [NCUGATE]                   on the GPU: two phases, less than a minute
#
# Prints a line per phase: status, variants proven, variants with every counter; then the latencies. Fails if a phase does not
# pass or a variant is not proven. Recording needs nvcc and a Python with numba-cuda and nvidia-cutlass-dsl; measuring needs a
# GPU, nvcc, ncu and python3.
set -euo pipefail
here=$(pwd)
cd "$(dirname "$0")/../.."
python=- action=measure
if [ "${1:-}" = record ]; then
    action=record python=$(cd "$here" && which "${3:?no Python with the compilers}")
    mkdir -p "$here/$2"
    set -- "$2" "${4:-ncugate}"
fi
folder=$(cd "$here" && realpath "${1:?no folder with compiled kernels}")
ncugate=$(cd "$here" && realpath "$(command -v "${2:-ncugate}")")
work=$(mktemp -d)
trap 'rm -rf "$work" tests/gpu/python_kernels/here_*.toml' EXIT
export NCUGATE_CACHE="$work/cache"
mkdir "$work/bin"
printf '#!/bin/sh\nexec "%s" "%s" "%s" "%s" "$@"\n' "$(command -v python3)" "$PWD/tests/gpu/python_kernels/compiled.py" "$folder" "$python" > "$work/bin/compilers"
chmod +x "$work/bin/compilers"
failed=0
for name in numba cute; do
    phase=tests/gpu/python_kernels/here_$name.toml  # paths of a phase are relative to the repository
    { cat "tests/gpu/python_kernels/$name.toml"; printf '\n[build]\npython = "%s"\n' "$work/bin/compilers"; } > "$phase"
    if [ $action = record ]; then
        "$ncugate" check "$phase" --arch sm_90 || failed=1
        continue
    fi
    status=0
    "$ncugate" run "$phase" --source gpu --profiles "$work/runs" --reports "$work/reports" > "$work/$name.out" 2>&1 || status=$?
    results=$(ls "$work"/reports/"${name}_softmax"/2*/results.json 2> /dev/null | tail -n 1)
    if [ -z "$results" ]; then
        echo "$name: status $status"; tail -n 15 "$work/$name.out"; failed=1
        continue
    fi
    echo "$name: status $status, $(python3 tests/gpu/counted.py "$results")" || failed=1
    [ $status -eq 0 ] || { failed=1; grep -E '^(FAIL|INCONCLUSIVE|error)' "$work/$name.out" | head; tail -n 5 "$work/$name.out"; }
    "$ncugate" export "$(ls -d "$work"/runs/"${name}_softmax"/2* | tail -n 1)" 2> /dev/null | cut -c1-160 | head -n 12 || true
done
[ $action = measure ] || du -sh "$folder"
exit $failed

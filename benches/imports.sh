#!/usr/bin/env bash
# Counts the problems of other projects that `ncugate problem import` reads without --input: all of KernelBench's levels 1 to 3,
# and all tasks of gpu-mode, from clones of their repositories. Bounds and the results of forward or ref_kernel are given;
# nothing is executed or measured. Needs python3 with PyYAML.
#
#     benches/imports.sh NCUGATE KERNELBENCH REFERENCE_KERNELS
set -euo pipefail
usage="usage: imports.sh NCUGATE KERNELBENCH REFERENCE_KERNELS"
ncugate=$(realpath "${1:?$usage}") kernelbench=$(realpath "${2:?$usage}") tasks=$(realpath "${3:?$usage}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHONPATH=$(realpath "$(dirname "$0")/../python")
export PYTHONPATH
cd "$work"
touch ncugate.toml
echo "class ModelNew: pass" > solution.py
echo "def custom_kernel(data): pass" > submission.py

# A failing import asks for an input or reports a case without a shape.
count() { # name; problems on standard input, each with the arguments of its import
    local all=0 read=0
    while read -r problem; do
        all=$((all + 1))
        if "$ncugate" problem import "$1" "$problem" "${@:2}" -o "$1_$all.toml" > said 2>&1; then
            read=$((read + 1))
        elif grep -q 'remove --returns' said; then
            # generate_input allocates the outputs itself
            read=$((read + 1))
        else
            echo "$(basename "$(dirname "$problem")")/$(basename "$problem"): $(head -n 1 said | cut -c 1-160)"
        fi
    done
    echo "$1: $read of $all"
}
find "$kernelbench"/KernelBench/level[123] -name '*.py' | sort | count kernelbench --solution solution.py --returns 'y=f32[16]'
find "$tasks/problems" -name task.yml | sort | count gpumode --solution submission.py --returns 'y=f32[16]' --rtol 1e-3 --atol 1e-3

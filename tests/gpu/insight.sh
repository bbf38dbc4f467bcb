#!/usr/bin/env bash
# All GPU data of the diagnosis in one call: cases of rules (defects/further.sh), the inversion with a deep profile of each
# defect (inversion.sh), deep profiles over time (deep.sh), and the phases that fail by design. Run at the root of the
# repository, with nvcc, ncu and zstd; about three minutes:
#
#     tests/gpu/insight.sh path/to/ncugate OUT
#
# OUT/further.ncu-rep.zst and OUT/further belong to tests/data, OUT/inversion to profiles/inversion/h200.
set -uo pipefail
binary=$(realpath "$1")
out=${2:?folder for what is measured}
mkdir -p "$out"
failed=0
part() {
    local name=$1 start
    shift
    start=$(date +%s)
    echo "== $name"
    "$@" || { echo "$name: status $?"; failed=1; }
    echo "$name: $(($(date +%s) - start)) s"
}
# A phase that must fail with status 1.
fails() {
    local status=0
    "$binary" run "configs/$1.toml" --source gpu --profiles "$out/runs" --reports "$out/reports" > "$out/$1.txt" 2>&1 || status=$?
    tail -n 12 "$out/$1.txt"
    [ "$status" = 1 ]
}
part "cases of rules" tests/gpu/defects/further.sh "$binary" "$out"
part "inversion" tests/gpu/inversion.sh "$binary" "$out"
part "deep profiles" tests/gpu/deep.sh "$binary" "$out/deep"
part "whole K and V" fails whole_kv
part "targets of v3" fails v3_report
exit $failed

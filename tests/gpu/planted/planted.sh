#!/usr/bin/env bash
# Measures the kernels with planted defects. Run at the root of the repository, on a machine with a GPU, nvcc and ncu; about eleven
# minutes:
#
#     tests/gpu/planted/planted.sh path/to/ncugate OUT [PHASE...]
#
# OUT/planted.tar.gz holds a recording of each phase, the output of `explain --each`, and the table of score.py.
set -uo pipefail
binary=$(realpath "${1:?usage: planted.sh BINARY OUT [PHASE...]}")
out=$(mkdir -p "${2:?usage: planted.sh BINARY OUT [PHASE...]}" && realpath "$2")
shift 2
cd "$(dirname "$0")/../../.."
here=tests/gpu/planted
phases=("$@")
# The phases with most kernels come first.
((${#phases[@]})) || phases=(stencil polynomial wave groups kinds product pairs decode steps walk
    gemv xent nbody rownorm conv3d search im2col topk escape matmul spmv blur softback scan tone permute pose dropout norm
    trsm equalise standardise sobel jacobi cholesky covariance groupconv packed shade orient palette sample series paged calibrate linsolve needle rope heat)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/planted"
failed=0
started=$(date +%s)

# The builds of all phases at once fill the compile cache.
for phase in "${phases[@]}"; do
    timeout 90 "$binary" check "$here/$phase.toml" > "$work/$phase.check" 2>&1 &
done
wait
echo "builds: $(($(date +%s) - started)) s"

for phase in "${phases[@]}"; do
    start=$(date +%s%N) status=0 kept="$work/planted/$phase"
    timeout "${PHASE_SECONDS:-45}" "$binary" run "$here/$phase.toml" --source gpu --fresh --deep each \
        --profiles "$work/runs" --reports "$work/reports" > "$kept.run.txt" 2>&1 || status=$?
    seconds=$(awk -v from="$start" -v to="$(date +%s%N)" 'BEGIN { printf "%.1f", (to - from) / 1e9 }')
    run=$(find "$work/runs/planted_$phase" -mindepth 1 -maxdepth 1 -type d 2> /dev/null | head -n 1)
    if [ -n "$run" ] && "$binary" tools record "$run" -o "$kept" >> "$kept.run.txt" 2>&1; then
        "$binary" explain "$kept" --each > "$kept.md" 2>&1
        "$binary" explain "$kept" --each --format json > "$kept.json" 2>> "$kept.run.txt"
    else
        failed=1
    fi
    echo "$phase: status $status, $seconds s, $(du -sk "$kept" 2> /dev/null | cut -f1 || true) KB"
    if ((status != 0)); then
        failed=1
        tail -n 25 "$kept.run.txt" | sed 's/^/    /'
    fi
done
python3 "$here/score.py" "$binary" "$work/planted" > "$work/planted/score.md" || failed=1
cat "$work/planted/score.md"
tar czf "$out/planted.tar.gz" -C "$work" planted
echo "all: $(($(date +%s) - started)) s, $(du -k "$out/planted.tar.gz" | cut -f1) KB"
exit $failed

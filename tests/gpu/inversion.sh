#!/usr/bin/env bash
# Records the inversion with a deep profile of every defect: OUT/inversion, which replaces profiles/inversion/h200. Run at the
# root of the repository, on a machine with a GPU, nvcc and ncu; about a minute, of which the deep profiles take about 20 s:
#
#     tests/gpu/inversion.sh path/to/ncugate OUT
set -euo pipefail
binary=$(realpath "$1")
out=${2:?folder for the recording}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
"$binary" run configs/inversion.toml --source gpu --fresh --deep each --profiles "$work" --reports "$work/reports" > "$out/inversion.txt" 2>&1 || status=$?
echo "inversion: status $status"
run=$(find "$work/inversion" -mindepth 1 -maxdepth 1 -type d | head -n 1)
echo "deep profiles: $(grep -c '"profiled"' "$run/deep_profiles.jsonl")"
"$binary" tools record "$run" -o "$out/inversion"
"$binary" explain "$out/inversion" --each
du -sk "$out/inversion"
exit $status

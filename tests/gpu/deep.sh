#!/usr/bin/env bash
# Deep profiles of several variants, and samples over a kernel's life. Run at the root of the repository, on a machine with a
# GPU, nvcc and ncu; about half a minute:
#
#     tests/gpu/deep.sh path/to/ncugate [folder]
set -u
binary=$(realpath "$1")
out=${2:-$(mktemp -d)}
mkdir -p "$out"
"$binary" run configs/softmax.toml --fresh --deep top:3 --profiles "$out/profiles" --reports "$out/reports" > "$out/run.txt" 2> "$out/run.err"
echo "run: status $?"
status=0
run=$(find "$out/profiles/softmax" -mindepth 1 -maxdepth 1 -type d | head -1)
profiled=$(grep -c '"Profiled"\|"profiled"' "$run/deep_profiles.jsonl" 2> /dev/null)
echo "deep profiles: ${profiled:-0}"
[ "${profiled:-0}" -ge 3 ] || status=1
# One ncu process profiles all of them: three variants and the baseline, in less than 8 seconds.
seconds=$(grep -h -o '"seconds":[0-9.]*' "$run/deep_profiles.jsonl" | sort -u | sed 's/.*://' | awk '{ sum += $1 } END { print sum }')
echo "seconds: $seconds"
awk -v seconds="$seconds" 'BEGIN { exit !(seconds > 0 && seconds < 8) }' || { echo "deep profiles took 8 s or more"; status=1; }
page=$(find "$out/reports" -name report.html | head -1)
if grep -q 'Over the kernel' "$page"; then echo "timeline: drawn"; else echo "timeline: none"; status=1; fi
if grep -q 'Line by line beside' "$page"; then echo "pairs: shown"; else echo "pairs: none"; status=1; fi
"$binary" explain "$run" --sweep | head -20
"$binary" show "$run"/reports/deep*.ncu-rep* --view stalls | head -12
exit $status

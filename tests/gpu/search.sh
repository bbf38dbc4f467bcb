#!/usr/bin/env bash
# A search over tens of thousands of variants of sdpa_fast, killed once and resumed, and a scripted agent that makes softmax
# twice as fast over the Model Context Protocol. Run at the root of the repository, on a machine with a GPU, nvcc, ncu and
# Python 3:
#
#     tests/gpu/search.sh path/to/ncugate [folder]
#
# SEARCH_SECONDS is the budget of the search (60).
set -u
binary=$(realpath "$1")
out=${2:-$(mktemp -d)}
mkdir -p "$out"
# Paths in a phase are relative to the project's folder, so the phase lies inside it.
place=$(mktemp -d tests/gpu/search.XXXXXX)
trap 'rm -rf "$place"' EXIT
config="$place/search.toml"
sed "s/seconds = 240/seconds = ${SEARCH_SECONDS:-60}/" configs/search_sdpa.toml > "$config"

# Killed in the first part of the budget: the second call continues with the same proposals.
timeout -s KILL "$((${SEARCH_SECONDS:-60} / 3))" "$binary" run "$config" --profiles "$out/profiles" --reports "$out/reports" > "$out/killed.txt" 2>&1
before=$(cat "$out"/profiles/search_sdpa/search/*/search.jsonl 2> /dev/null | grep -c '"event":"tried"')
"$binary" run "$config" --profiles "$out/profiles" --reports "$out/reports" > "$out/search.txt" 2> "$out/search.err"
status=$?
echo "search: $before tried before it was killed; status $status"
grep -h "search:\|continuing" "$out/search.err" | tail -3
grep -h "speedup\|Selected\|selected\|no slower" "$out/search.txt" | head -8

python3 tests/gpu/agent.py "$binary" tests/gpu/agent.toml kernels/softmax/softmax.cu || status=1
exit $status

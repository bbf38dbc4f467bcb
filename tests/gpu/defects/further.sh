#!/usr/bin/env bash
# Measures the cases of `further.cu` and `further.toml`, and writes the files of tests/data: OUT/further.ncu-rep.zst and
# OUT/further. Run at the root of the repository, on a machine with a GPU, nvcc, ncu and zstd; about half a minute:
#
#     tests/gpu/defects/further.sh path/to/ncugate OUT
#
# Then copy both to tests/data, and run `cargo test --test it explained`.
set -euo pipefail
binary=$(realpath "$1")
out=${2:?folder for the recordings}
here=tests/gpu/defects
mkdir -p "$out"
"$here/defects.sh" "$out" further
"$binary" tools redact "$out/further.ncu-rep" -o "$out/redacted.ncu-rep" && mv "$out/redacted.ncu-rep" "$out/further.ncu-rep"
zstd -q -19 --rm -f "$out/further.ncu-rep"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
"$binary" run "$here/further.toml" --source gpu --profiles "$work" --reports "$work/reports" > "$out/run.txt" 2>&1 || status=$?
echo "further.toml: status $status"
run=$(find "$work/further" -mindepth 1 -maxdepth 1 -type d | head -n 1)
"$binary" tools record "$run" -o "$out/further"
"$binary" explain "$out/further.ncu-rep.zst" --each
"$binary" explain "$out/further" --each
du -sk "$out/further" "$out/further.ncu-rep.zst"

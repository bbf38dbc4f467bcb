#!/usr/bin/env bash
# compute-sanitizer on a GPU: each planted defect is found by its tool, with kernel, line and detail, and nothing else is.
#
#     tests/gpu/sanitized.sh [NCUGATE]
#
# Needs an NVIDIA GPU, ncu, nvcc and compute-sanitizer. Prints the findings and the time of every tool.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
status=0
"${1:-ncugate}" run tests/gpu/traits/sanitized.toml --source gpu --profiles "$runs" --reports "$runs/reports" \
    > "$runs/printed" 2>&1 || status=$?
cat "$runs/printed"
python3 - "$status" "$runs"/sanitized/2* <<'PY'
import json, sys
status, run = int(sys.argv[1]), sys.argv[2]
found, clean = {}, set()
for record in map(json.loads, open(f"{run}/sanitizer.jsonl")):
    case = (record["variant"], record["tool"])
    if record["outcome"]["status"] == "found":
        found[case] = record["outcome"]["findings"]
    else:
        assert record["outcome"]["status"] == "clean", record
        clean.add(case)
tools = ["memcheck", "racecheck", "synccheck", "initcheck"]
wanted = {(f"DEFECT={at + 1}", tool) for at, tool in enumerate(tools)}
assert set(found) == wanted, f"found {sorted(found)}, planted {sorted(wanted)}"
assert {("DEFECT=0", tool) for tool in tools} <= clean, sorted(clean)
for (variant, tool), findings in found.items():
    first = findings[0]
    assert first["kernel"].startswith("copy_row") and first["line"].startswith("sanitized.cu:"), first
    assert tool in ("synccheck",) or first["details"], first
    print(f"{variant} {tool}: {first}")
seconds = dict(json.load(open(f"{run}/manifest.json"))["stage_seconds"])
print(f"compute-sanitizer took {seconds['bench: compute-sanitizer']:.1f} s for 5 variants and 4 tools")
assert status == 0, f"status {status}: the variant without a defect passes"
PY

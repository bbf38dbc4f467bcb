#!/bin/bash
# A phase's kernels on one GPU and on two GPUs of a machine: the time of each, and equal results.
#
#   tests/gpu/several_gpus.sh BINARY [CONFIG]
#
# Needs two GPUs of one kind, nvcc and ncu; three runs, about a minute. Baseline commands are left out, since each shard
# measures them. Prints the seconds of each run. Ends with 1 if the verdict or the outcome of a variant differs.
set -eu
binary=$(realpath "${1:?usage: several_gpus.sh BINARY [CONFIG]}")
phase=$(realpath "${2:-configs/phase_d.toml}")
cd "$(dirname "$0")/../.."
place=$(mktemp -d /tmp/ncugate-gpus.XXXXXX)
config=configs/gpus_here.toml # paths of a phase are relative to the repository
trap 'rm -rf "$place" "$config"' EXIT
python3 - "$phase" > "$config" << 'END'
import re, sys

keep, name, lines = True, "", []
for line in open(sys.argv[1]):
    if table := re.match(r"\[+\s*(\w+)", line):
        name = table.group(1)
        keep = name in {"phase", "build", "bench", "profile", "workload", "tolerance", "kernel", "sweep", "variant"}
    if keep and not (name == "phase" and re.match(r"(recording|name)\s*=", line)):
        lines.append(line.replace("[phase]", '[phase]\nname = "gpus_here"'))
print("".join(lines) + '\n[[gate]]\nname = "counted"\nrequire = "achieved_occupancy >= 1 %"')
END
export NCUGATE_CACHE="$place/cache"
for gpus in 0,1 0 0,1; do # the first fills the caches of code and of passes
    rm -rf "${place:?}/$gpus"
    SECONDS=0
    "$binary" run "$config" --source gpu --gpus "$gpus" --fresh --profiles "$place/$gpus" --reports "$place/reports" > "$place/out.txt" 2> "$place/err.txt" || status=$?
    echo "--gpus $gpus: status ${status:-0}, $SECONDS s"
    status=0
done
python3 - "$place/0" "$place/0,1" << 'END'
import json, pathlib, sys

def run(folder):
    folder = next(pathlib.Path(folder).glob("*/*/manifest.json")).parent
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["state"] == "complete", f"{folder}: {manifest['state']} {manifest.get('stopped')}"
    outcomes = set()
    for journal in ("checks", "latencies", "profiles"):
        for line in (folder / f"{journal}.jsonl").read_text().splitlines():
            record = json.loads(line)
            outcomes.add((journal, record["variant"], record.get("shape"), record["outcome"]["status"]))
    outcomes.add(("verdict", manifest["verdict"]["verdict"]))
    return outcomes

said, also = run(sys.argv[1]), run(sys.argv[2])
if said != also:
    print("differ:", sorted(said ^ also, key=str)[:8])
else:
    print(f"verdict and {len(said) - 1} outcomes are the same")
sys.exit(said != also)
END

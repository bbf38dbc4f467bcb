#!/usr/bin/env bash
# Compares ncu's duration of a launch with the time between two events around the same launch, under equal conditions: one
# launch at a time, on refilled buffers, behind a flush of the L2 cache that leaves nothing to write back. Both times
# contain a different part of the launch itself, so the times of an empty kernel are subtracted first.
#
#     tests/gpu/isolated.sh
#
# Needs an NVIDIA GPU of compute capability 8.0 or newer, nvcc, ncu with counter permission, and Python 3.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc -O3 -std=c++17 -arch=native -o "$work/isolated" isolated.cu
"$work/isolated" time > "$work/time.csv"
ncu --clock-control none --cache-control all --metrics gpu__time_duration.sum --print-units base --csv --page raw \
    "$work/isolated" launch > "$work/ncu.csv"
nvidia-smi --query-gpu=name --format=csv,noheader
python3 - "$work" << 'PYTHON'
import csv
import statistics
import sys

REPEATS = 8
timed = {}
for name, way, *samples in csv.reader(open(f"{sys.argv[1]}/time.csv")):
    timed.setdefault(name, {})[way] = [float(us) for us in samples]
rows = [row for row in csv.reader(open(f"{sys.argv[1]}/ncu.csv")) if len(row) > 10]
column = rows[0].index("gpu__time_duration.sum")
ns = [float(row[column].replace(",", "")) for row in rows[2:]]
empty = {}
print(f"{'kernel':20} {'ncu us':>9} {'spread':>7}" + "".join(f" {way:>18}" for way in ("clean", "discard", "dirty")))
for at, (name, ways) in enumerate(timed.items()):
    # The first launch of each kernel loads its code.
    counted = [us / 1e3 for us in ns[at * (REPEATS + 1) + 1 : (at + 1) * (REPEATS + 1)]]
    middle = statistics.median(counted)
    line = f"{name:20} {middle:9.2f} {max(counted) - min(counted):7.2f}"
    for way, samples in ways.items():
        between = statistics.median(samples)
        empty.setdefault(way, between - middle)
        off = between - empty[way] - middle
        line += f" {off:+8.2f} us {100 * off / middle:+5.1f} %"
    print(line)
PYTHON

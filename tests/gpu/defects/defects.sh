#!/bin/sh
# Builds and profiles the kernels with a known defect, in what a deep profile collects. Needs a GPU with counters, nvcc and ncu.
set -eu
here=$(dirname "$0")
out=${1:?folder for the report}
mkdir -p "$out"
nvcc -O3 -lineinfo -arch=native -o "$out/defects" "$here/defects.cu"
sections="LaunchStats Occupancy SpeedOfLight ComputeWorkloadAnalysis MemoryWorkloadAnalysis SchedulerStats WarpStateStats SourceCounters"
metrics=$(tr '\n' ',' < "$here/metrics.txt" | sed 's/,$//')
# shellcheck disable=SC2046 # a word each
ncu --config-file off --clock-control none --import-sass yes -f -o "$out/defects" $(printf -- '--section %s ' $sections) --metrics "$metrics" "$out/defects"
rm "$out/defects"

#!/bin/sh
# Builds kernels with a known defect and profiles them with the counters of a deep profile. Needs a GPU with counters, nvcc and
# ncu.
#
#     tests/gpu/defects/defects.sh OUT [defects|further]    # writes OUT/defects.ncu-rep
set -eu
here=$(dirname "$0")
out=${1:?folder for the report}
which=${2:-defects}
mkdir -p "$out"
nvcc -O3 -lineinfo -arch=native -o "$out/$which" "$here/$which.cu"
sections="LaunchStats Occupancy SpeedOfLight ComputeWorkloadAnalysis MemoryWorkloadAnalysis SchedulerStats WarpStateStats SourceCounters"
metrics=$(tr '\n' ',' < "$here/metrics.txt" | sed 's/,$//')
# shellcheck disable=SC2046 # a word each
ncu --config-file off --clock-control none --import-sass yes -f -o "$out/$which" $(printf -- '--section %s ' $sections) --metrics "$metrics" "$out/$which"
rm "$out/$which"

#!/usr/bin/env bash
# Causes of slower launches in a CUDA graph on this GPU and driver: uploaded graphs that were not launched yet, and perhaps the
# reset of persisting lines. Prints microseconds. Needs a GPU and nvcc.
#
#   tests/gpu/launch_overhead.sh
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
nvcc -std=c++17 -O3 -arch=native -o "$work/launch_overhead" launch_overhead.cu
"$work/launch_overhead"

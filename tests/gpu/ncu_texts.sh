#!/usr/bin/env bash
# Collects ncu's real outputs: exit status, log and report of every kind of success and failure, from a small program. The test
# double of ncu (tests/doubles) replays them. Usage: ncu_texts.sh OUTPUT_FOLDER
set -u
out=${1:?output folder}
work=$(mktemp -d)
mkdir -p "$out"
cat > "$work/target.cu" <<'CUDA'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nvtx3/nvToolsExt.h>
extern "C" __global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}
extern "C" __global__ void crash(float* x) { x[1ull << 40] = 1.0f; }
int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "ok";
  if (!strcmp(mode, "idle")) return 0;
  float* x;
  int n = 1 << 20;
  if (cudaMalloc(&x, n * 4) != cudaSuccess) return 7;
  for (int i = 0; i < 2; ++i) {
    nvtxRangePushA(i ? "T=256@mission" : "T=128@mission");
    scale<<<n / (i ? 256 : 128), i ? 256 : 128>>>(x, 2.0f, n);
    cudaDeviceSynchronize();
    nvtxRangePop();
  }
  if (!strcmp(mode, "crash")) {
    nvtxRangePushA("bad@mission");
    crash<<<1, 1>>>(x);
    printf("sync %d\n", (int)cudaDeviceSynchronize());
    nvtxRangePop();
    return 9;
  }
  if (!strcmp(mode, "exit3")) return 3;
  if (!strcmp(mode, "abort")) abort();
  if (!strcmp(mode, "hang")) for (;;) {}
  return 0;
}
CUDA
nvcc -arch=native -o "$work/target" "$work/target.cu" || exit 3
base=(--config-file off --rename-kernels off --clock-control none --cache-control all --replay-mode kernel --nvtx --target-processes application-only --import-sass no -f)
gate=sm__warps_active.avg.pct_of_peak_sustained_active,smsp__warps_eligible.avg.per_cycle_active,smsp__issue_active.avg.pct_of_peak_sustained_active,gpu__time_duration.sum
case_() { # name limit_s metrics target-mode [options]
  local name=$1 limit=$2 metrics=$3 mode=$4; shift 4
  mkdir -p "$out/$name"
  local start; start=$(date +%s.%N)
  TMPDIR=$work timeout -k 2 "$limit" ncu "${base[@]}" --metrics "$metrics" "$@" -o "$work/$name" --log-file "$out/$name/log.txt" \
    "$work/target" "$mode" > "$out/$name/stdout.txt" 2> "$out/$name/stderr.txt"
  echo $? > "$out/$name/status"
  ls "$work"/$name.ncu-rep* > "$out/$name/report.txt" 2>/dev/null && cp "$work"/$name.ncu-rep* "$out/$name/"
  printf '%-14s status %s  %5.1f s  passes %s  report %s\n' "$name" "$(cat "$out/$name/status")" \
    "$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN{print b-a}')" \
    "$(grep -oE '[0-9]+ pass(es)?' "$out/$name/log.txt" | tr '\n' ',')" "$(stat -c %s "$out/$name"/*.ncu-rep* 2>/dev/null | tr '\n' ' ')"
}
case_ ok 60 $gate ok
case_ no-suffixes 60 $gate ok --disable-extra-suffixes
case_ no-kernels 60 $gate idle
case_ no-match 60 $gate ok -k nothing_like_it
case_ unknown-metric 60 sm__no_such_metric.sum ok
case_ target-exit 60 $gate exit3
case_ target-abort 60 $gate abort
case_ crash 60 $gate crash
case_ hang 8 $gate hang
TMPDIR=$work ncu "${base[@]}" --metrics $gate -o "$work/missing/x" --log-file "$out/unwritable.txt" "$work/target" ok > "$out/unwritable.stdout" 2>&1; echo "unwritable status $?"; cat "$out/unwritable.txt" "$out/unwritable.stdout" | tail -3
TMPDIR=$work ncu "${base[@]}" --metrics $gate -o "$work/x" --log-file "$out/nobinary.txt" "$work/nothing" > "$out/nobinary.stdout" 2>&1; echo "nobinary status $?"; cat "$out/nobinary.txt" "$out/nobinary.stdout" | tail -3
ncu --version
# shellcheck disable=SC2043
for log in ok unknown-metric no-kernels target-exit crash; do echo "--- $log"; cat "$out/$log/log.txt" | cut -c1-200 | head -20; done

#!/usr/bin/env bash
# Every kernel family on a real GPU: correct, timed, and clean under compute-sanitizer. Needs nvcc and compute-sanitizer on
# PATH, python3 with numpy, cupy and torch. Arguments go to kernels.py (--family NAME, --sweep NAME).
#   kernels.sh [arguments]          correctness and times, then the PyTorch baselines, then memcheck and racecheck
#   SKIP="sanitize baselines"       leaves parts out
set -uo pipefail
cd "$(dirname "$0")/../.."
status=0
skipped() { [[ " ${SKIP:-} " == *" $1 "* ]]; }

echo "== kernels"
python3 tests/gpu/kernels.py "$@" || status=1
echo "($SECONDS s)"

if ! skipped baselines; then
    echo "== baselines"
    python3 tests/gpu/baselines.py || status=1
    echo "($SECONDS s)"
fi

if ! skipped sanitize; then
    families=()
    while (($#)); do
        case "$1" in
            --family) families+=("$1" "$2"); shift 2 ;;
            --sweep) families+=(--family "$2"); shift 2 ;;
            *) shift ;;
        esac
    done
    for tool in memcheck racecheck synccheck; do
        echo "== compute-sanitizer $tool"
        log=$(mktemp)
        compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 \
            python3 tests/gpu/kernels.py --sanitize "${families[@]}" >"$log" 2>&1
        code=$?
        if ((code != 0)); then
            status=1
            head -c 2500 "$log"
        fi
        tail -n 1 "$log"
        echo "exit $code ($SECONDS s)"
        rm -f "$log"
    done
fi
exit $status

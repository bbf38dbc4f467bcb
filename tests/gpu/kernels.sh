#!/usr/bin/env bash
# Every kernel family on a real GPU: correct, timed, and clean under compute-sanitizer. Needs nvcc and compute-sanitizer on
# PATH, python3 with numpy, cupy and torch. Arguments go to kernels.py (--family NAME, --sweep NAME).
#   kernels.sh [arguments]          correctness and times, then memcheck, racecheck and synccheck
#   SKIP="kernels sanitize"         leaves parts out (kernels, sanitize)
# TOOLS="racecheck"               only these tools of compute-sanitizer
set -uo pipefail
cd "$(dirname "$0")/../.."
status=0
skipped() { [[ " ${SKIP:-} " == *" $1 "* ]]; }

if ! skipped kernels; then
    echo "== kernels"
    python3 tests/gpu/kernels.py "$@" || status=1
    echo "($SECONDS s)"
fi

# Cases skipped per tool, with the reason; every entry is printed. Key: the tool, then the case as named by `kernels.py --list`.
declare -A excluded=()

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# sanitize TOOL ARGUMENTS...: 0 clean, 9 errors found, any other status: the tool or the program broke.
sanitize() {
    local tool=$1
    shift
    compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 python3 tests/gpu/kernels.py --sanitize "$@" >"$log" 2>&1
}

# One process per case, so that a case that breaks the tool does not hide the others.
each_case() {
    local tool=$1 family=$2 number label code
    while IFS=$'\t' read -r _ number label; do
        if [[ -n "${excluded["$tool $label"]:-}" ]]; then
            echo "  excluded $tool $label: ${excluded["$tool $label"]}"
            continue
        fi
        sanitize "$tool" --family "$family" --case "$number"
        code=$?
        if ((code == 0)); then
            echo "  clean    $label"
        else
            status=1
            echo "  FAILED   $label: exit $code, $( ((code == 9)) && echo "errors found" || echo "the tool or the program broke")"
            head -c 1200 "$log"
        fi
    done < <(python3 tests/gpu/kernels.py --list --family "$family")
}

if ! skipped sanitize; then
    families=()
    while (($#)); do
        case "$1" in
            --family | --sweep) families+=("$2"); shift 2 ;;
            *) shift ;;
        esac
    done
    ((${#families[@]})) || mapfile -t families < <(python3 tests/gpu/kernels.py --list | cut -f1 | uniq)
    for tool in ${TOOLS:-memcheck racecheck synccheck}; do
        for family in "${families[@]}"; do
            left_out=0
            for key in "${!excluded[@]}"; do [[ "$key" == "$tool $family" || "$key" == "$tool $family "* ]] && left_out=1; done
            code=0
            ((left_out)) || sanitize "$tool" --family "$family" || code=$?
            if ((left_out == 0 && code == 0)); then
                echo "== $tool $family: clean ($SECONDS s)"
            else
                echo "== $tool $family: case by case ($SECONDS s)"
                each_case "$tool" "$family"
            fi
        done
    done
fi
exit $status

#!/usr/bin/env bash
# Times the native reader and NVIDIA's: ncu_report (Python) and, if it is installed, `ncu --import --page raw --csv`.
# All run in this one call, one after the other, so ratios are of the same machine at the same time.
#
#   benches/read_report.sh [REPORT.ncu-rep]
#
# Without a report the capture g1200 is used (19.8 MB, 1,200 launches, 348,000 values). Environment:
# NCUGATE_ORACLE_PYTHON (python3), NCU (ncu), LARGE_BYTES (2000000000; 0 leaves the large report out).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${NCUGATE_ORACLE_PYTHON:-python3}
ncu=${NCU:-ncu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A folder with both programs, for a machine without cargo (PREBUILT); else they are built.
if [ -n "${PREBUILT:-}" ]; then
    ncugate=$PREBUILT/ncugate timer=$PREBUILT/read_report
else
    cargo build --quiet --release --manifest-path "$root/Cargo.toml" --bin ncugate --example read_report
    ncugate=$root/target/release/ncugate timer=$root/target/release/examples/read_report
fi
report=${1:-$work/g1200.ncu-rep}
[ $# -gt 0 ] || zstd -qd "$root/tests/data/g1200.ncu-rep.zst" -o "$report"

milliseconds() { # of a command, the best of five
    local best=999999999
    for _ in 1 2 3 4 5; do
        local start end
        start=$(date +%s%N)
        "$@" > /dev/null
        end=$(date +%s%N)
        [ $((end - start)) -ge $best ] || best=$((end - start))
    done
    awk -v ns="$best" 'BEGIN { printf "%.1f", ns / 1e6 }'
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", a / b }'; }

median() { sed -n "s/^$1: median \([0-9.]*\) ms.*/\1/p" "$work/native"; }

echo "$(nproc) processors, $(stat -c %s "$report") bytes"
# Each selection is timed in a separate process, so that it does not reuse the memory of another.
for selection in all gated; do "$timer" "$report" 40 $selection; done | tee "$work/native"
native=$(median "all metrics")
gated=$(median "12 metrics")
echo "12 metrics only: $(ratio "$native" "$gated") times faster than all"
for format in parquet csv json; do
    echo "ncugate export --to $format: $(milliseconds "$ncugate" export "$report" --to $format -o "$work/out") ms"
done

cat > "$work/read.py" <<'PY'
import sys, time
import ncu_report
start = time.perf_counter()
context = ncu_report.load_report(sys.argv[1])
values = 0
for r in range(context.num_ranges()):
    actions = context.range_by_idx(r)
    for a in range(actions.num_actions()):
        action = actions.action_by_idx(a)
        for name in action.metric_names():
            action[name].value()
            values += 1
print(f"{(time.perf_counter() - start) * 1e3:.1f} {values}")
PY
if "$python" -c 'import ncu_report' 2> /dev/null; then
    oracle=$(for _ in 1 2 3; do "$python" "$work/read.py" "$report"; done | sort -n | head -1)
    echo "ncu_report: ${oracle% *} ms for ${oracle#* } values: $(ratio "${oracle% *}" "$native") times the native median"
else
    echo "ncu_report: not in $python"
fi
if command -v "$ncu" > /dev/null; then
    import=$(milliseconds "$ncu" --import "$report" --page raw --csv)
    echo "ncu --import --page raw --csv: $import ms: $(ratio "$import" "$native") times the native median"
else
    echo "ncu: not found"
fi

large=${LARGE_BYTES:-2000000000}
if [ "$large" -gt 0 ]; then
    python3 "$root/benches/repeat.py" "$report" "$large" "$work/large.ncu-rep"
    echo "repeated to $(stat -c %s "$work/large.ncu-rep") bytes, 12 metrics:"
    "$timer" "$work/large.ncu-rep" 1 gated
fi

#!/usr/bin/env bash
# Whether runs agree as often as their intervals promise, on one GPU: 20 runs of two phases, five kernels. The interval of the
# difference of two runs' p50 has both half-widths as its legs; 95 % of these intervals should contain 0.
# Needs a GPU, nvcc, ncu, and python3 with numpy. Takes about 3 minutes.
#
#   tests/gpu/calibrated.sh BINARY [RUNS]
#
# Ends with 1 if fewer than 90 % contain 0: pairs of 20 runs depend on each other, so 95 % of them are not exactly expected.
set -uo pipefail
binary=$(realpath "$(command -v "${1:?usage: calibrated.sh BINARY [RUNS]}")")
runs=${2:-20}
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SECONDS=0
mkdir -p "$work/project/kernels" "$work/project/tests/gpu" "$work/results"
touch "$work/project/ncugate.toml"
cp -r kernels/sdpa_scalar "$work/project/kernels"
cp -r tests/gpu/honest "$work/project/tests/gpu"

# Two variants of phase_d and three of copy. One look, so that intervals are 95 % intervals, and a gate for each kernel, whose interval
# is that of its p50.
gate() { # kernel, shape
    printf '\n[[gate]]\nname = "%s"\nrequire = "latency_p50 <= 1 s"\non = "%s"\nshapes = ["%s"]\n' "$1" "$1" "$2"
}
threads="REGCAP=64,THREADS=256,TILE_M=32,K_TILE="
{
    sed '/^\[\[baseline\]\]/,$d; /^recording = /d; s/^REGCAP = .*/REGCAP = [64]/; s/^THREADS = .*/THREADS = [256]/; s/^TILE_M = .*/TILE_M = [32]/; s/^K_TILE = .*/K_TILE = [16, 32]/; s/^rounds = .*/rounds = 60\nmax_rounds = 60/; s/^\[profile\]/&\ndeep_profile = "none"/' configs/phase_d.toml
    gate "${threads}16" mission
    gate "${threads}32" mission
} > "$work/project/phase_d.toml"
{
    awk '/^\[\[variant\]\]/ { getline name; is_left_out = name !~ /"(wide|16_blocks|16_launches)"/; if (!is_left_out) print; else next; $0 = name } !is_left_out' \
        tests/gpu/honest/copy.toml | sed '/^# Every launch/,$d; s/^objective_shape = .*/objective_shape = "middle"/; s/^rounds = .*/rounds = 60/; s/^max_rounds = .*/max_rounds = 60/'
    for kernel in wide 16_blocks 16_launches; do gate $kernel middle; done
} > "$work/project/copy.toml"

gpus=${GPUS:-0}
export CUDA_VISIBLE_DEVICES=${gpus%% *} NCUGATE_CACHE=${NCUGATE_CACHE:-$work/cache}
measure() { # phase, number
    local to="$work/results/$1.$2" phase=$1 results
    (cd "$work/project" && "$binary" run "$phase.toml" --source gpu --fresh --profiles "$work/runs" --reports "$work/runs/reports") > "$work/out" 2>&1
    local status=$?
    results=$(ls "$work/runs/reports"/*/2*/results.json 2> /dev/null | tail -n 1)
    if [[ -n $results ]]; then cp "$results" "$to.json"; else echo "FAILED  $phase: no results (status $status)"; tail -n 6 "$work/out"; fi
    rm -rf "$work/runs"
}
for ((run = 1; run <= runs; ++run)); do
    measure phase_d "$run"
    measure copy "$run"
done

cat > "$work/table.py" <<'PY'
import collections, itertools, json, pathlib, statistics, sys

runs = int(sys.argv[2])
values, odd = collections.defaultdict(list), collections.Counter()
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    results = json.loads(path.read_text())
    for gate in results["gates"]:
        name = f"{path.name.split('.')[0]} {gate['name']}"
        if gate["measured"] is None or not gate["interval"] or gate["verdict"] != "pass":
            odd[f"{name}: {gate['verdict']}: {gate['reason']}"] += 1
            continue
        # The interval is that of the difference to the limit, added to the limit.
        values[name].append((gate["measured"], *gate["interval"], gate["judged_by"]))
print(f"{'kernel':<48} {'runs':>4} {'median us':>9} {'spread':>7} {'half width':>10} {'differences that contain 0':>27} {'p50 inside':>10}")
inside = pairs = held = 0
for name, of in values.items():
    agree = others = 0
    for one, other in itertools.combinations(of, 2):
        # Each side's half-width towards the other.
        low, high = sorted((one, other))
        difference = high[0] - low[0]
        agree += difference <= ((high[0] - high[1]) ** 2 + (low[2] - low[0]) ** 2) ** 0.5
        others += (one[1] <= other[0] <= one[2]) + (other[1] <= one[0] <= other[2])
    count = len(of) * (len(of) - 1) // 2
    inside, pairs, held = inside + agree, pairs + count, held + others
    middle = statistics.median(p50 for p50, *_ in of)
    spread = (max(of)[0] - min(of)[0]) / middle
    half = statistics.median((high - low) / 2 for _, low, high, _ in of) / middle
    share, own = agree / max(count, 1), others / max(2 * count, 1)
    print(f"{name:<48} {len(of):>4} {middle:>9.3f} {spread:>7.2%} {half:>10.2%} {agree:>10} of {count:<5} {share:>7.1%} {own:>10.1%}")
    sources = {source for *_, source in of}
    if sources != {"confirmation"}:
        odd[f"{name}: judged by {sources}"] += 1
share = inside / max(pairs, 1)
print(f"\n{inside} of {pairs} differences contain 0: {share:.1%}, promised: 95 %")
print(f"{held} of {2 * pairs} p50 are inside another run's interval: {held / max(2 * pairs, 1):.1%}; with five processes, about 88 % are expected, because they vary too")
for text, count in odd.items():
    print(f"NOT COUNTED  {text} ({count})")
sys.exit(share < 0.9 or bool(odd) or len(values) < 5 or any(len(of) < runs for of in values.values()))
PY
python3 "$work/table.py" "$work/results" "$runs"
failed=$?
echo "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1): $SECONDS s"
exit $failed

#!/usr/bin/env bash
# The cost of verifying timed launches on a GPU machine: the kernels of some phases, timed alternately with and without
# verification.
# Prints the seconds of checking and timing, the build time, and the difference between the medians of honest kernels. Nothing
# is profiled or judged.
# Needs a GPU, nvcc and python3. Goal: under 15 % more seconds, and medians that differ by less than 0.5 %.
#
#   tests/gpu/audit_cost.sh BINARY [REPEATS] [PHASE...]
set -uo pipefail
binary=$(realpath "${1:?usage: audit_cost.sh BINARY [REPEATS] [PHASE...]}")
repeats=${2:-3}
shift $(($# < 2 ? $# : 2))
cd "$(dirname "$0")/../.."
phases=("$@")
((${#phases[@]})) || phases=(phase_d sdpa_fast softmax)
work=$(mktemp -d)
trap 'rm -rf "$work" configs/cost_*.toml' EXIT

# Only the kernels of a phase, with or without verification: CONFIG VERIFY.
kernels_of() {
    python3 - "$1" "$2" << 'PY'
import re, sys

kept, lines, verify = {"phase", "build", "bench", "workload", "tolerance", "kernel", "sweep", "variant"}, [], sys.argv[2]
keep = True
for line in open(sys.argv[1]):
    if table := re.match(r"\[+\s*(\w+)", line):
        keep = table.group(1) in kept
    if keep:
        lines.append(line)
        if line.startswith("[bench]"):
            lines.append(f'verify = "{verify}"\n')
text = "".join(lines)
if "[bench]" not in text:
    text += f'\n[bench]\nverify = "{verify}"\n'
print(text + '\n[profile]\nncu = "/nonexistent/ncu"\n\n[[gate]]\nname = "timed"\nrequire = "latency_p50 <= 1 s"')
PY
}

for ((repeat = 1; repeat <= repeats; ++repeat)); do
    # Alternate the order.
    ((repeat % 2)) && order=(audited none) || order=(none audited)
    for phase in "${phases[@]}"; do
        for verify in "${order[@]}"; do
            name="cost_${phase}_$verify"
            kernels_of "configs/$phase.toml" "$verify" > "configs/$name.toml"
            # A shard is not judged: its status is 4.
            "$binary" run "configs/$name.toml" --shard 1/1 --source gpu --fresh --profiles "$work/$name.$repeat" \
                > "$work/$name.$repeat.out" 2>&1
            (($? == 4)) || tail -n 5 "$work/$name.$repeat.out"
        done
    done
done

cat > "$work/table.py" << 'PY'
import collections, json, pathlib, statistics, sys

work, failed = pathlib.Path(sys.argv[1]), False
seconds, whole, medians = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(lambda: collections.defaultdict(list))
for manifest in sorted(work.rglob("manifest.json")):
    run = manifest.relative_to(work).parts[0].rsplit(".", 1)[0]
    stages = dict(json.loads(manifest.read_text())["stage_seconds"])
    seconds[run].append(stages["bench: kernels"])
    whole[run].append(stages["build"] + stages["bench: kernels"])
    for line in (manifest.parent / "latencies.jsonl").read_text().splitlines():
        record = json.loads(line)
        if samples := record["outcome"].get("samples"):
            medians[run][record["variant"], record["shape"]].append(statistics.median(samples))
print(f"{'phase':<20} {'without':>8} {'with':>8} {'cost':>7} {'with building':>13}   {'shape':<12} {'kernels':>7} {'p50':>10}  with verification against without: median, least, most")
for phase in sys.argv[2:]:
    without, audited = (statistics.median(seconds[f"cost_{phase}_{how}"] or [float("nan")]) for how in ("none", "audited"))
    cost = audited / without - 1
    both = statistics.median(whole[f"cost_{phase}_audited"]) / statistics.median(whole[f"cost_{phase}_none"]) - 1
    failed |= not cost < 0.15
    head = f"{phase:<20} {without:>6.2f} s {audited:>6.2f} s {cost:>+7.1%} {both:>+13.1%}"
    known, now = medians[f"cost_{phase}_none"], medians[f"cost_{phase}_audited"]
    for shape in sorted({shape for _, shape in known}):
        ratios = [statistics.median(now[case]) / statistics.median(known[case]) - 1 for case in known if case in now and case[1] == shape]
        middle = statistics.median(ratios) if ratios else float("nan")
        failed |= not abs(middle) < 0.005
        p50 = statistics.median(statistics.median(now[case]) for case in now if case[1] == shape)
        print(f"{head:<60}   {shape:<12} {len(ratios):>7} {p50:>7.2f} us  {middle:+.2%}, {min(ratios, default=0):+.2%}, {max(ratios, default=0):+.2%}")
        head = ""
sys.exit(failed)
PY
python3 "$work/table.py" "$work" "${phases[@]}"

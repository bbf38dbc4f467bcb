#!/usr/bin/env bash
# The cost of profiling the 90 variants of phase D, compared with the alternatives, in one call on one machine:
#   a. ncugate: the wait for ncu before timing, the profile stage of a run, and judging and rendering its records (decoding included)
#   b. the loop: one `ncu --set full` a variant and `ncu --import --page raw --csv`; measured on SAMPLE variants, scaled
#   c. one ncu process a variant with the metrics that ncugate collects; measured on SAMPLE variants, scaled
#   d. NVIDIA's nsight-python with ten metrics over the same 90 cubins, and ncugate with the same ten (if it is installed)
# ROWS are the rows to measure: abcd, abc or d. Row d takes two minutes.
#
#   benches/profile.sh BINARY [SAMPLE] [ROWS]
set -uo pipefail
binary=$(realpath "${1:?usage: profile.sh BINARY [SAMPLE] [ROWS]}")
sample=${2:-6}
rows=${3:-abcd}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
export NCUGATE_CACHE=$work/cache # nothing compiled, nothing known of the chip's counters
now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }'; }
stage() { python3 -c 'import json, sys; print(dict(json.load(open(sys.argv[1]))["stage_seconds"])[sys.argv[2]])' "$1" "$2"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", a / b }'; }

# The loops profile the 90 variants, so this phase has no external baselines (PyTorch), whose profiles would add to the time.
cp -r ncugate.toml kernels "$work"
python3 - "$work/phase_d.toml" <<'PY'
import pathlib, re, sys
text = pathlib.Path("configs/phase_d.toml").read_text()
tables = re.split(r"(?m)^(?=\[)", text)
kept = [t for t in tables if not t.startswith("[[baseline]]") and "baseline." not in t]
text = re.sub(r'(?m)^  \{.*speedup\(.*\n|, "speedup\(.*?> 1"', "", "".join(kept))
pathlib.Path(sys.argv[1]).write_text(text)
PY

rows_abc() {
    for pass in cold warm; do
        start=$(now)
        "$binary" run "$work/phase_d.toml" --source gpu --fresh --profiles "$work/$pass" --reports "$work/$pass/reports" > "$work/$pass.txt"
        whole=$(since "$start")
        run=$(ls -d "$work/$pass/phase_d"/2*)
        start=$(now)
        "$binary" page "$run" --reports "$work/$pass/again" > /dev/null
        judged=$(since "$start")
        profile=$(stage "$run/manifest.json" profile)
        wait=$(stage "$run/manifest.json" "bench: imports and ncu") # ncu starts while variants build
        build=$(stage "$run/manifest.json" build)
        bench=$(stage "$run/manifest.json" bench)
        printf 'a. ncugate, %s: wait for ncu %.2f s, profile %.2f s, decode + judge + render %s s (build %.2f, check and time %.2f, whole run %s s)\n' \
            "$pass" "$wait" "$profile" "$judged" "$build" "$bench" "$whole"
        ours=$(awk -v a="$wait" -v b="$profile" -v c="$judged" 'BEGIN { print a + b + c }')
        [ "$pass" = cold ] && cold=$ours
    done

    # Jobs of one variant each, derived from the job that ncugate gave its worker.
    job=$(ls "$run"/logs/profile-*.json | tail -n 1)
    metrics=$(python3 -c 'import json, sys; print(",".join(sorted({m for line in open(sys.argv[1]) for m in json.loads(line)["metrics"]})))' "$run/profiles.jsonl")
    python3 - "$job" "$work" "$sample" <<'PY'
import json, sys
job, work, sample = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
step = len(job["kernels"]) // sample
for i in range(sample):
    json.dump(job | {"kernels": [job["kernels"][i * step]]}, open(f"{work}/one-{i}.json", "w"))
PY
    variants=$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["kernels"]))' "$job")
    start=$(now)
    for ((i = 0; i < sample; i++)); do
        ncu --config-file off --clock-control none --set full -f -o "$work/full-$i" "$binary" worker "$work/one-$i.json" > /dev/null
        ncu --import "$work/full-$i.ncu-rep" --page raw --csv > "$work/full-$i.csv"
    done
    loop=$(awk -v s="$(since "$start")" -v n="$sample" -v v="$variants" 'BEGIN { printf "%.1f", s / n * v }')
    start=$(now)
    for ((i = 0; i < sample; i++)); do
        ncu --config-file off --clock-control none --import-sass no --metrics "$metrics" -f -o "$work/some-$i" "$binary" worker "$work/one-$i.json" > /dev/null
    done
    each=$(awk -v s="$(since "$start")" -v n="$sample" -v v="$variants" 'BEGIN { printf "%.1f", s / n * v }')
    echo "b. the loop, $variants variants (scaled from $sample): $loop s; ncugate is $(ratio "$loop" "$cold")x faster cold, $(ratio "$loop" "$ours")x warm"
    echo "c. one ncu process a variant, the same metrics (scaled from $sample): $each s; ncugate is $(ratio "$each" "$cold")x faster cold, $(ratio "$each" "$ours")x warm"
}

row_d() {
    if python3 -c 'import nsight' 2> "$work/import.txt"; then
        python3 benches/nsight_python.py "$binary" "$work"
    else
        echo "d. not compared: $(tail -n 1 "$work/import.txt")"
    fi
}

case $rows in *[abc]*) rows_abc ;; esac
case $rows in *d*) row_d ;; esac

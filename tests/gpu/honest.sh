#!/usr/bin/env bash
# Honest kernels on a GPU machine: nobody may doubt their durations or call them cheats. The kernels of tests/gpu/honest wait for
# memory, fill a few multiprocessors, or take 1 to 16 launches; their copies also run with warm and with cold caches. `traits` adds
# every phase of tests/gpu/traits and of the examples, `shipped` those of configs.
# Needs a GPU, nvcc, ncu, and python3 with numpy; without torch or Triton, phases that need them are left out.
#
#   tests/gpu/honest.sh BINARY [RUNS] [own|traits|shipped...]
#
# Default: 3 runs of each set. On 4 H200 with GPUS="0 1 2 3 0 1 2 3", where two runs take turns on each GPU and one builds while the
# other measures, `own` takes 131 s a run and `traits` 150 s. Runs are spread over all GPUs of the machine, or over those in the variable
# GPUS (GPUS="0 2"). A table of all cases is also written to honest.tsv in the
# folder of the variable OUT, if it is set. With LIMIT=SECONDS, it starts nothing after that time and stops what runs. Ends with 1 if
# a case is in doubt, is wrong, or has no result.
set -uo pipefail
binary=$(realpath "$(command -v "${1:?usage: honest.sh BINARY [RUNS] [own|traits|shipped...]}")")
runs=${2:-3}
shift $(($# < 2 ? $# : 2))
cd "$(dirname "$0")/../.."
sets=("$@")
((${#sets[@]})) || sets=(own traits shipped)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SECONDS=0

# A copy of the phases, with small profiles and few rounds wherever a phase does not say otherwise.
mkdir -p "$work/project/tests/data" "$work/results"
tar c --exclude=recording --exclude='*.zst' ncugate.toml configs kernels examples tests/gpu tests/data/cuda | tar x -C "$work/project"
while read -r root; do
    printf '\n[bench]\nrounds = 20\n\n[profile]\ndeep_profile = "none"\n' >> "$root"
done < <(find "$work/project" -name ncugate.toml)
find "$work/project" -name '*.toml' -exec sed -i '/^recording = /d' {} +
for l2 in warm cold; do
    sed "s/^name = \"honest_copy\"/name = \"honest_copy_$l2\"/; s/^l2 = .*/l2 = \"$l2\"/" tests/gpu/honest/copy.toml \
        > "$work/project/tests/gpu/honest/copy_$l2.toml"
done

has() { python3 -c "import $1" 2> /dev/null; }
without=()
has numpy || { echo "python3 lacks numpy"; exit 3; }
has torch || without+=(torch)
has triton || without+=(triton)
# Prints the packages that a phase needs, by the names of its files.
needs() {
    grep -qE 'torch_|sdpa_torch|baselines/|functions\.py|optional\.py|include = \["torch"|python = "packages' "$1" && echo torch
    grep -qE 'kernels/triton|gluon\.py|by_triton' "$1" && echo triton
}

# A line for each phase: set, file, and arguments that keep a large phase small.
jobs() {
    local set phase
    for set in "${sets[@]}"; do
        case $set in
            own) phases=("$work"/project/tests/gpu/honest/*.toml) ;;
            traits) phases=("$work"/project/tests/gpu/traits/*.toml "$work"/project/examples/*/*.toml) ;;
            shipped) phases=("$work"/project/configs/*.toml) ;;
            *) echo "no set $set" >&2; exit 2 ;;
        esac
        for phase in "${phases[@]}"; do
            local name arguments=
            name=$(basename -s .toml "$phase")
            # These judge reports of another program, search, or hold cheats.
            grep -q '^match\|match = {\|^\[search\]' "$phase" && continue
            case $name in
                ncugate | cheats*) continue ;;
                phase_d) arguments="--set REGCAP=64 --set K_TILE=32" ;;
                phase_d_toggles) arguments="--set THREADS=128 --set K_TILE=32 --set UNROLL=4 --set RESTRICT=1" ;;
                attention_f16* | attention_bf16*) arguments="--shape prompt_128_d64 --shape batch_512_d128 --shape context_2048_d64" ;;
            esac
            local package
            for package in $(needs "$phase"); do
                [[ " ${without[*]} " == *" $package "* ]] && { echo "left out: $name needs $package" >&2; continue 2; }
            done
            echo "$set ${phase#"$work/project/"}${arguments:+ $arguments}"
        done
    done
}
measure() { # number of the run, set, phase, arguments
    local run=$1 set=$2 phase=$3
    shift 3
    local devices=($gpus)
    export CUDA_VISIBLE_DEVICES=${devices[lane]} TMPDIR="$work/tmp.$lane"
    mkdir -p "$TMPDIR"
    local to="$work/results/$set.$(basename -s .toml "$phase").$run" at started=$SECONDS results
    [[ $set == traits ]] && to="$work/results/$set.$(basename "$(dirname "$phase")")_$(basename -s .toml "$phase").$run"
    at=$(mktemp -d)
    (cd "$work/project" && "$binary" run "$phase" "$@" --source gpu --fresh --profiles "$at" --reports "$at/reports") > "$to.out" 2>&1
    local status=$?
    results=$(ls "$at"/reports/*/2*/results.json 2> /dev/null | tail -n 1)
    if [[ -n $results ]]; then
        cp "$results" "$to.json"
    else
        echo "FAILED  $phase, run $run: no results (status $status)"
        tail -n 6 "$to.out" | sed 's/^/    /'
        touch "$to.none"
    fi
    echo "$status $((SECONDS - started))" > "$to.status"
    rm -rf "$at"
}
export -f measure
export binary work gpus=${GPUS:-$(nvidia-smi --query-gpu=index --format=csv,noheader | xargs)}
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
export NCUGATE_CACHE=${NCUGATE_CACHE:-$work/cache}
jobs > "$work/jobs" || exit 2
for ((run = 1; run <= runs; ++run)); do sed "s/^/$run /" "$work/jobs"; done |
    timeout "${LIMIT:-0}" xargs -P "$(wc -w <<< "$gpus")" -L 1 --process-slot-var=lane bash -c 'measure "$@"' measure

cat > "$work/table.py" <<'PY'
import collections, json, os, pathlib, re, sys

folder, runs, jobs = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
# How results.json says that a duration or a counter does not count, other than by noise.
DOUBT = re.compile(
    "durations? disagree|not done|repeats take|could have reused|no counter saw|not compared with|were not verified"
    "|below the chip's limit|cheat|spread of|witness|does not depend"
)

# Kernels of traits that are wrong, or cheat, on purpose.
PLANTED = re.compile("next|mixed|idle|lazy|coarser|first_block|without_the_last|DEFECT=[1-9]")

def texts(node):
    if isinstance(node, str):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from texts(child)

def doubts_of(results, own):
    """Doubts by variant, and those of the phase; `own` phases have gates that every launch holds."""
    by_variant, of_phase = collections.defaultdict(list), []
    for variant in results["variants"]:
        if variant["self_reported"] or PLANTED.fullmatch(variant["id"]):
            continue
        if variant["cheats"] or variant["correct"] == "fail":
            by_variant[variant["id"]].append(("cheats: " if variant["cheats"] else "wrong: ") + variant["correctness"])
        if variant.get("doubt"):
            by_variant[variant["id"]].append(variant["doubt"])
        for at in variant["shapes"].values():
            by_variant[variant["id"]] += [text for text in texts(at.get("missing", {})) if DOUBT.search(text)]
    for gate in results["gates"]:
        doubted = gate["verdict"] == "inconclusive" and DOUBT.search(gate["reason"])
        if doubted or own and gate["verdict"] != "pass":
            named = f"{gate['variant']} at {gate['shape']}, {gate['inconclusive']} cases: {gate['reason']}"
            of_phase.append(f"gate '{gate['name']}' is {gate['verdict']}: {named}")
    return by_variant, of_phase

rows, doubts, kernels, seconds = {}, [], set(), collections.defaultdict(list)
files = sorted(folder.glob("*.status"))
for path in files:
    name, run = path.stem.rsplit(".", 1)
    status, took = path.read_text().split()
    seconds[name].append(f"{took} s, status {status}")
    if not path.with_suffix(".json").exists():
        doubts.append(f"{name}, run {run}: no results")
        continue
    results = json.loads(path.with_suffix(".json").read_text())
    by_variant, of_phase = doubts_of(results, name.startswith("own."))
    doubts += [f"{name}, run {run}: {text}" for text in of_phase]
    timed = 0
    for variant in results["variants"]:
        said = list(dict.fromkeys(by_variant[variant["id"]]))
        doubts += [f"{name}, run {run}: {variant['id']}: {text}" for text in said]
        for shape, at in variant["shapes"].items():
            p50 = at["values"].get("latency_p50")
            if p50 is None:
                continue
            timed += 1
            band = at.get("witness") or {}
            duration = at["values"].get("duration")
            ncu = band.get("profiled_us") or (duration / 1e3 if duration else None)
            case = rows.setdefault((name, variant["id"], shape), [])
            case.append((run, p50, ncu, variant["verdict"], "; ".join(said)))
            if not variant["self_reported"]:
                kernels.add((name, variant["id"]))
    if not timed:
        doubts.append(f"{name}, run {run}: nothing was timed")

def short(value):
    return "-" if value is None else f"{value:.4g}"

lines = ["kernel\tshape\trun\tp50 us\tncu us\tverdict\tdoubt"]
for (name, variant, shape), case in rows.items():
    lines += [f"{name} {variant}\t{shape}\t{run}\t{short(p50)}\t{short(ncu)}\t{verdict}\t{said}" for run, p50, ncu, verdict, said in case]
if os.environ.get("OUT"):
    pathlib.Path(os.environ["OUT"], "honest.tsv").write_text("\n".join(lines) + "\n")

print(f"{'kernel':<46} {'shape':<9} {'p50 us of each run':<24} {'ncu us':<24} doubted")
for (name, variant, shape), case in rows.items():
    doubted = sum(bool(said) for *_, said in case)
    if name.startswith("own.") or doubted:
        clock, counted = ("/".join(short(run[at]) for run in case) for at in (1, 2))
        print(f"{name.removeprefix('own.') + ' ' + variant:<46} {shape:<9} {clock:<24} {counted:<24} {doubted} of {len(case)} ({case[-1][3]})")
print(f"\n{'phase':<34} {'cases':>5} {'shortest us':>11} {'longest us':>11}  runs")
for name, took in seconds.items():
    own = [p50 for (of, *_), case in rows.items() if of == name for _, p50, *_ in case]
    cases = sum(of == name for of, *_ in rows)
    print(f"{name:<34} {cases:>5} {short(min(own, default=None)):>11} {short(max(own, default=None)):>11}  {'; '.join(took)}")
print(f"\n{len(kernels)} kernels in {len(rows)} cases of {len(seconds)} phases, {len(files)} of {jobs * runs} runs; doubts: {len(doubts)}")
by_text = collections.defaultdict(list)
for doubt in doubts:
    where, text = doubt.split(": ", 1)
    name, run = where.rsplit(", run ", 1)
    by_text[name, re.sub(r"[0-9.]+", "#", text)].append((run, text))
for (name, _), said in by_text.items():
    print(f"DOUBT   {name}, run {', '.join(run for run, _ in said)}: {said[0][1]}")
sys.exit(bool(doubts or len(files) < jobs * runs or len(kernels) < 30))
PY
python3 "$work/table.py" "$work/results" "$runs" "$(wc -l < "$work/jobs")"
failed=$?
echo "$(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | xargs): $SECONDS s"
exit $failed

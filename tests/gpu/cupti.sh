#!/usr/bin/env bash
# Compares durations by CUPTI with those by ncu on a GPU machine: each phase is measured with ncu, and again with ncu hidden.
# CUPTI's durations must be within 10 % or 2 us a launch of ncu's, latency and duration must be judged, and values that only ncu
# counts must be inconclusive with a reason. Needs a GPU, nvcc, ncu with permission, python3 and libcupti. Takes under 40 s.
#
#   tests/gpu/cupti.sh BINARY
#
# libcupti must be on the loader's path (libcupti.so.13), in $CUDA_HOME/extras/CUPTI/lib64, /usr/local/cuda/extras/CUPTI/lib64
# or their lib64, or next to PyTorch (site-packages/nvidia/cu13/lib).
set -uo pipefail
binary=$(realpath "${1:?usage: cupti.sh BINARY}")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
# Paths in a phase are relative to the project, which is found from the phase's folder.
phases=$(mktemp -d tests/gpu/cupti/made.XXXXXX)
trap 'rm -rf "$work" "$phases"' EXIT
failed=0
expect() { # what, got, wanted
    if [[ $2 == "$3" ]]; then echo "ok      $1: $2"; else echo "FAILED  $1: $2, wanted $3"; failed=1; fi
}

"$binary" doctor --format json --probe > "$work/doctor.json"
found=$(python3 -c '
import json, sys
checks = {check["name"]: check for check in json.load(open(sys.argv[1]))["checks"]}
print(checks.get("CUPTI", {}).get("found", "not said"))' "$work/doctor.json")
echo "doctor: CUPTI $found"
if [[ $found != 1[23].* ]]; then
    echo "FAILED  no CUPTI was found where it is looked for; those of this machine:"
    timeout 20 find / -name 'libcupti.so*' -not -path '/proc/*' 2> /dev/null
    exit 1
fi

measure() { # name, config, folder of the phase
    local started=$SECONDS
    "$binary" run "$2" --source gpu --fresh --profiles "$work/$1" --reports "$work/$1/reports" > "$work/$1.out" 2> "$work/$1.err"
    status=$?
    results=$(ls "$work/$1/reports/$3"/2*/results.json 2> /dev/null | tail -n 1)
    echo "== $1: status $status in $((SECONDS - started)) s"
    if [[ -z $results ]]; then
        echo "FAILED  $1: no results"
        tail -n 20 "$work/$1.err"
        exit 1
    fi
}

cat > "$work/compare.py" <<'PY'
import json, sys

counted, traced, launches = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), json.loads(sys.argv[3])
failed = False


def say(ok, text):
    global failed
    failed |= not ok
    print(("ok      " if ok else "FAILED  ") + text)


other = {variant["id"]: variant for variant in traced["variants"]}
for variant in counted["variants"]:
    for shape, cell in variant["shapes"].items():
        ncu = cell["values"].get("duration")
        if ncu is None:
            continue
        mine = other[variant["id"]]["shapes"][shape]
        cupti, name = mine["values"].get("duration"), f"{variant['id']}@{shape}"
        if cupti is None:
            say(False, f"{name}: no duration by CUPTI: {mine['missing'].get('duration')}")
            continue
        # Overlapping launches take less time together than one by one, as ncu runs them.
        count = launches.get(variant["id"], 1)
        fits = count == 0 or abs(cupti / ncu - 1) <= 0.1 or abs(cupti - ncu) <= 2000 * count
        p50 = mine["values"].get("latency_p50")
        times = f"CUPTI {cupti / 1e3:8.2f} us, ncu {ncu / 1e3:8.2f} us, ratio {cupti / ncu:.3f}, p50 {p50 and round(p50, 2)} us"
        say(fits, f"{name:24} {times}")
        if mine["values"].get("dram_bytes") is not None:
            say(False, f"{name}: bytes were counted although ncu is hidden")
doubts = [text for text in (traced["reason"], *traced["cautions"]) if "disagree" in text or "no counter saw" in text]
say(not doubts, f"no latency is doubted {doubts or ''}")
source = [text for text in traced["cautions"] if "CUPTI" in text]
say(bool(source), f"the source is said: {source}")
say(not any("CUPTI" in text for text in counted["cautions"]), "where ncu counts, CUPTI is not asked")
for gate in traced["gates"]:
    print(f"        gate {gate['name']}: {gate['verdict']}: {gate['why'] or gate['reason']}")
sys.exit(failed)
PY

compare() { # phase, config, launches of an evaluation by variant; 0: they overlap
    cp "$2" "$phases/with.toml"
    grep -q '^\[profile\]' "$2" || printf '\n[profile]\ndeep_profile = "none"\n' >> "$phases/with.toml"
    measure "$1-ncu" "$phases/with.toml" "$1"
    local with=$results with_status=$status
    sed 's/^\[profile\]/[profile]\nncu = "no-such-ncu"/' "$phases/with.toml" > "$phases/hidden.toml"
    measure "$1-cupti" "$phases/hidden.toml" "$1"
    expect "$1 with ncu" "$with_status" 0
    expect "$1 without ncu, of which a gate needs a counter" "$status" 4
    python3 "$work/compare.py" "$with" "$results" "$3" || failed=1
}

compare cupti tests/gpu/cupti/cupti.toml '{}'
compare two_pass tests/gpu/traits/two_pass.toml '{"two_launches": 2, "dependent": 0}'

# Without the gate that needs a counter the latencies pass, with CUPTI's durations as their witness.
python3 - tests/gpu/cupti/cupti.toml > "$phases/latency.toml" <<'PY'
import re, sys

text = re.sub(r'\[\[gate\]\]\nname = "dram"\n.*?\n\n', "", open(sys.argv[1]).read(), flags=re.S)
print(text.replace("[profile]", '[profile]\nncu = "no-such-ncu"'))
PY
measure latency "$phases/latency.toml" cupti
expect "latencies and durations without ncu" "$status" 0
echo "took $SECONDS s"
exit $failed

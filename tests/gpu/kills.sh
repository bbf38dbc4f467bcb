#!/usr/bin/env bash
# Random kills on a GPU machine of ncugate, its workers, a worker with a Python interpreter, and ncu. Each run, resumed if
# necessary, ends with the verdict of an undisturbed run and leaves no process behind. Then two runs at once.
#
#   tests/gpu/kills.sh BINARY [KILLS] [SECONDS] [VICTIM...]
#
# KILLS (20) of each VICTIM (parent worker ncu host); no kill starts after SECONDS (200). Needs nvcc, ncu, and PyTorch for host.
set -uo pipefail
binary=$(realpath "${1:?usage: kills.sh BINARY [KILLS] [SECONDS] [VICTIM...]}")
kills=${2:-20}
limit=${3:-200}
victims=("${@:4}")
[ ${#victims[@]} -gt 0 ] || victims=(parent worker ncu host)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
# Paths in a phase are relative to the project's folder, so the phases lie inside it.
place=$(mktemp -d tests/gpu/kills.XXXXXX)
trap 'rm -rf "$work" "$place"' EXIT
# Under a unique name, so that processes of other runs on this machine are not matched.
cp "$binary" "$work/ncugate"
binary=$work/ncugate
failed=0
expect() { # what, got, wanted
    if [[ $2 == $3 ]]; then echo "ok      $1: $2"; else echo "FAILED  $1: $2, wanted $3"; failed=1; fi
}
sed -e 's/^name = "faults"/name = "kills"/' -e 's/^FAULT = .*/FAULT = [0]\nPAD = [0, 1, 2]/' \
    -e 's/^defines = .*/defines = ["FAULT", "PAD"]/' tests/gpu/faults/faults.toml > "$place/kernels.toml"
sed -n '1,/^y = /p' tests/gpu/functions/functions.toml | sed -e 's/^name = .*/name = "kills"/' > "$place/host.toml"
for function in honest honest_in_place; do
    printf '\n[[variant]]\nname = "%s"\npython = "tests/gpu/functions/functions.py:%s"\n' "$function" "$function" >> "$place/host.toml"
done
printf '\n[[gate]]\nname = "correct"\nrequire = "correct == 1"\n' >> "$place/host.toml"
for phase in kernels host; do printf '\n[profile]\ndeep_profile = "none"\n' >> "$place/$phase.toml"; done

run() { # phase
    "$binary" run "$place/$1.toml" --source gpu --no-share --profiles "$work/p" --reports "$work/r" > "$work/out" 2> "$work/err"
}
verdict() { echo "$1 $(grep -E '^(PASS|FAIL|INCONCLUSIVE)' "$work/out" | tail -n 1 | cut -c 1-40)"; }
left() { pgrep -fc "$binary (worker|guard)"; }
victim_of() { # victim, shell: the process to kill, or nothing
    case $1 in
        parent) pgrep -P "$2" ;;
        worker | host) pgrep -f "$binary worker" | tail -n 1 ;;
        ncu) pgrep -f -- "--export $work/p" | head -n 1 ;;
    esac
}

declare -A undisturbed took hits
for phase in kernels host; do
    [ "$phase" = kernels ] || [[ " ${victims[*]} " = *" host "* ]] || continue
    rm -rf "$work/p"
    run "$phase" # fills the cache of modules
    rm -rf "$work/p"
    start=$(date +%s%N)
    run "$phase"
    undisturbed[$phase]=$(verdict $?)
    took[$phase]=$((($(date +%s%N) - start) / 1000000))
    echo "undisturbed $phase: ${undisturbed[$phase]}, ${took[$phase]} ms"
done
for at in $(seq "$kills"); do
    for victim in "${victims[@]}"; do
        [ "$SECONDS" -lt "$limit" ] || break 2
        phase=kernels
        [ "$victim" = host ] && phase=host
        rm -rf "$work/p"
        run "$phase" & # a shell, whose child is the program
        shell=$!
        after=$((RANDOM % (took[$phase] * 6 / 10)))
        sleep "$(printf '%d.%03d' $((after / 1000)) $((after % 1000)))"
        hit=
        while [ -z "$hit" ] && kill -0 "$shell" 2> /dev/null; do
            pid=$(victim_of "$victim" "$shell")
            if [ -n "$pid" ] && kill -KILL "$pid" 2> /dev/null; then hit=1; else sleep 0.01; fi
        done
        wait "$shell"
        status=$?
        hits[$victim]=$((${hits[$victim]:-0} + ${hit:-0}))
        sleep 0.3
        expect "$at $victim after $after ms: processes that are left" "$(left)" 0
        if [ "$status" -gt 4 ] || [ "$status" = 3 ]; then
            run "$phase"
            status=$?
        fi
        expect "$at $victim after $after ms: verdict" "$(verdict $status)" "${undisturbed[$phase]}"
    done
done
for victim in "${victims[@]}"; do echo "killed: $victim, ${hits[$victim]:-0} times"; done
rm -rf "$work/p"
"$binary" run "$place/kernels.toml" --source gpu --no-share --profiles "$work/p" --reports "$work/r1" > "$work/one" 2>&1 &
one=$!
run kernels
two=$?
wait "$one"
expect "two at once: statuses" "$? $two" "${undisturbed[kernels]%% *} ${undisturbed[kernels]%% *}"
expect "two at once: folders" "$(find "$work/p" -name manifest.json | wc -l)" 2
exit $failed

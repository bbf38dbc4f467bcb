#!/usr/bin/env bash
# Random kills of ncugate, its workers and ncu on a GPU machine, each run resumed to the verdict of an undisturbed one; and two runs at
# once.
#
#   tests/gpu/kills.sh BINARY [KILLS] [SECONDS]
#
# KILLS (20) of each; none is begun after SECONDS (no limit).
set -uo pipefail
binary=$(realpath "${1:?usage: kills.sh BINARY [KILLS] [SECONDS]}")
kills=${2:-20}
limit=${3:-1000000}
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
failed=0
expect() { # what, got, wanted
    if [[ $2 == $3 ]]; then echo "ok      $1: $2"; else echo "FAILED  $1: $2, wanted $3"; failed=1; fi
}
sed -e 's/^name = "faults"/name = "kills"/' -e 's/^FAULT = .*/FAULT = [0]\nPAD = [0, 1, 2, 3, 4, 5]/' \
    -e 's/^defines = .*/defines = ["FAULT", "PAD"]/' tests/gpu/faults/faults.toml > "$work/kills.toml"
run() { "$binary" run "$work/kills.toml" --source gpu --no-share --profiles "$work/p" --reports "$work/r" "$@" > "$work/out" 2> "$work/err"; }
verdict() { echo "$1 $(grep -E '^(PASS|FAIL|INCONCLUSIVE)' "$work/out" | tail -n 1 | cut -c 1-40)"; }
left() { pgrep -fc "$binary (worker|guard)"; }

start=$(date +%s%N)
run --fresh
undisturbed=$(verdict $?)
took=$((($(date +%s%N) - start) / 1000000))
echo "undisturbed: $undisturbed, $took ms"
for at in $(seq "$kills"); do
    for victim in parent worker ncu; do
        [ "$SECONDS" -lt "$limit" ] || break 2
        rm -rf "$work/p"
        run & # a shell, whose child is the program
        shell=$!
        after=$((RANDOM % took))
        sleep "$(printf '%d.%03d' $((after / 1000)) $((after % 1000)))"
        case $victim in
            parent) pkill -KILL -P "$shell" ;;
            worker) pid=$(pgrep -f "$binary worker" | tail -n 1); [ -n "$pid" ] && kill -KILL "$pid" ;;
            ncu) pid=$(pgrep -f "$work/p.*\.ncu-rep|--export $work/p" | head -n 1); [ -n "$pid" ] && kill -KILL "$pid" ;;
        esac
        wait "$shell"
        status=$?
        sleep 0.3
        expect "$at $victim after $after ms: processes that are left" "$(left)" 0
        if [ "$victim" = parent ]; then
            run
            expect "$at $victim after $after ms: verdict of the resumed run" "$(verdict $?)" "$undisturbed"
        else
            # whoever ends a worker or ncu may take a variant's result with it, never the run's
            expect "$at $victim after $after ms: status" "$status" "[0134]"
        fi
    done
done
rm -rf "$work/p"
"$binary" run "$work/kills.toml" --source gpu --no-share --profiles "$work/p" --reports "$work/r1" > "$work/one" 2>&1 &
one=$!
run
two=$?
wait "$one"
expect "two at once: statuses" "$? $two" "${undisturbed%% *} ${undisturbed%% *}"
expect "two at once: folders" "$(find "$work/p" -name manifest.json | wc -l)" 2
exit $failed

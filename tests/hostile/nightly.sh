#!/bin/sh
# 20,000 hostile cases, none of which may be flagged: configs and names that are made to take all time or memory, mutated
# phases, and damaged recordings.
#
#   tests/hostile/nightly.sh BINARY [SEED [CASES]]
#
# SEED is the day by default, so that every night has other cases; a flagged case names what it takes to make it again.
set -u
binary=${1:?usage: nightly.sh BINARY [SEED [CASES]]}
seed=${2:-$(date +%Y%m%d)}
cases=${3:-20000}
here=$(dirname "$0")
"$here/bombs.py" "$binary" "$seed" $((cases * 3 / 5))
configs=$?
"$here/damage.py" "$binary" "$seed" $((cases * 2 / 5))
recordings=$?
[ "$configs" -eq 0 ] && [ "$recordings" -eq 0 ]

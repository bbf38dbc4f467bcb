#!/bin/sh
# 20,000 hostile cases, none of which may be flagged: configs and names designed to exhaust time or memory, mutated phases, and
# damaged recordings.
#
#   tests/hostile/nightly.sh BINARY [SEED [CASES]]
#
# SEED is the day by default, so every night has other cases. A flagged case prints how to reproduce it.
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

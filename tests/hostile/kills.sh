#!/bin/sh
# Twenty random kills each of the parent, its workers, workers with a Python interpreter, and ncu, on the doubles. Each run ends
# like an undisturbed one.
#
#   tests/hostile/kills.sh [KILLS]
set -eu
cd "$(dirname "$0")/../.."
NCUGATE_TEST_KILLS=${1:-20} exec cargo test --test it -- kills:: --nocapture

#!/usr/bin/env bash
# Renders the shipped recordings and the synthetic runs of the report's tests, and operates the pages in headless Chromium.
# `run.sh quick` leaves the synthetic runs out.
# Needs node (18 or newer) and Chromium (CHROMIUM names another binary); AXE may name axe-core's axe.min.js.
# In CI (CI=true) a missing tool is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in node "${CHROMIUM:-chromium}"; do
    if ! command -v "$tool" >/dev/null; then
        echo "browser test: '$tool' is not here; install it (Debian: apt install nodejs chromium)" >&2
        [ "${CI:-}" = true ] && exit 1
        exit 0
    fi
done
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
# The current page of every shipped recording.
cargo build --quiet --bin ncugate
program=${CARGO_TARGET_DIR:-target}/debug/ncugate
for recording in profiles/*/h200; do
    "$program" page "$recording" --output "$pages/shipped/$(basename "$(dirname "$recording")")" >/dev/null || [ $? -lt 5 ]
done
# All runs, the newest of some phases with a page.
for recording in profiles/{{phase_d,sdpa_fast}/h100,softmax/h200}; do
    "$program" page "$recording" --reports "$pages/history" >/dev/null || [ $? -lt 5 ]
done
NCUGATE_CACHE=$pages/cache "$program" history --reports "$pages/history" >/dev/null
NCUGATE_PROFILE=$pages/first timeout 400 node tests/browser/recordings.mjs "$pages"
[ "${1:-}" = quick ] && exit
NCUGATE_PAGES=$pages cargo test --quiet -p ncugate-report --lib -- --ignored --exact tests::pages >/dev/null
NCUGATE_PROFILE=$pages/second timeout 400 node tests/browser/synthetic.mjs "$pages"

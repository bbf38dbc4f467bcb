#!/usr/bin/env bash
# Makes the pictures of docs/page.md: the first screens of pages of shipped recordings and of a report.
# Needs node and Chromium (CHROMIUM names another binary), as run.sh does.
set -euo pipefail
cd "$(dirname "$0")/../.."
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
cargo build --quiet --bin ncugate
program=${CARGO_TARGET_DIR:-target}/debug/ncugate
export NCUGATE_CACHE=$pages/cache
# A failed phase has a page too.
page() { "$program" page "$@" >/dev/null || [ $? -lt 2 ]; }
page profiles/phase_d/h200 --output "$pages/run"
mkdir "$pages/report"
zstd -qd tests/data/full1.ncu-rep.zst -o "$pages/full1.ncu-rep"
page "$pages/full1.ncu-rep" --output "$pages/report/page.html"
for recording in profiles/{{phase_d,sdpa_fast}/h100,softmax/h200}; do
    page "$recording" --reports "$pages/history"
done
"$program" history --reports "$pages/history" >/dev/null
node tests/browser/pictures.mjs "$pages" docs

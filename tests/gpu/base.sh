#!/usr/bin/env bash
# A change compared with its base on a GPU: an edited comment, a slower change and a faster one, each against the previous
# commit.
#
#     tests/gpu/base.sh [NCUGATE]
#
# Prints a line per change: status, and the row of the base in the comment. Fails if the edited comment counts as a change, the
# slower change passes or the faster one does not, or if of two phases another one than the changed is measured.
# Needs an NVIDIA GPU, nvcc, ncu and git; takes less than a minute.
. "$(dirname "$0")/prelude.sh"
mkdir "$work/repository"
kernel=$work/repository/softmax.cu
cp kernels/softmax/softmax.cu "$kernel"
cd "$work/repository"
touch ncugate.toml
cat > change.toml <<'TOML'
[phase]
name = "change"

[bench]
shapes = ["wide"]

[workload]
reference = "softmax"
tolerance = { max_abs = 2e-6, rel_l2 = 1e-5 }
bytes = "2 * R * C * 4"

[workload.shapes]
ragged = { R = 1021, C = 260 }
wide = { R = 4096, C = 4096 }

[workload.buffers]
x = { dtype = "f32", shape = ["R", "C"], init = { normal = { mean = 0, std = 3 } } }
y = { dtype = "f32", shape = ["R", "C"], role = "output" }

[kernel]
source = "softmax.cu"
entry = "softmax_rows"
flags = ["-O3", "-lineinfo"]
defines = ["THREADS", "ROWS_PER_BLOCK", "VEC"]
grid = ["(R + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK"]
block = ["THREADS"]
args = ["x", "y", "R", "C"]

[[variant]]
name = "fast"
params = { THREADS = 256, ROWS_PER_BLOCK = 1, VEC = 4 }

[[gate]]
name = "no slower than the base"
require = "latency_p50 <= 1.01 * base.latency_p50"
TOML
git init --quiet .
commit() { git add --all && git commit --quiet --message "$1"; }
run() { # change, status that is wanted
    local status=0
    "$ncugate" run change.toml --base HEAD~1 --source gpu --comment comment.md --profiles "$work/p" --reports "$work/r" > "$work/out" 2>&1 || status=$?
    echo "$1: status $status"
    grep -F '| wide' comment.md | head -n 1 || true
    [ "$status" = "$2" ] || { failed=1; echo "FAILED: wanted status $2"; tail -n 15 "$work/out"; }
    rm -f comment.md
}
commit 'the kernel'
sed -i '1i // What the kernel is said to do is no part of it.' "$kernel"
commit 'a comment'
run 'a comment' 0
sed -i '1i #undef VEC\n#define VEC 1' "$kernel"
commit 'one element at a time'
run 'one element at a time' 1
git revert --no-edit HEAD > /dev/null
run 'the same taken back' 0
cp softmax.cu other.cu
sed 's/"change"/"other"/; s/softmax\.cu/other.cu/' change.toml > other.toml
commit 'another phase'
sed -i '1i #undef VEC\n#define VEC 1' "$kernel"
sed -i '1i // Another comment.' other.cu
commit 'one element at a time in one of two phases'
status=0
"$ncugate" run change.toml other.toml --base HEAD~1 --source gpu --comment comment.md --profiles "$work/p" --reports "$work/r" > "$work/out" 2>&1 || status=$?
tail -n 2 "$work/out"
head -n 7 comment.md
if [ "$status" != 1 ] || ! grep -q '^unchanged    other.toml' "$work/out" || [ -e "$work/p/other" ]; then
    failed=1
    echo "FAILED: of two phases the changed one alone is measured, and fails: status $status"
fi
exit $failed

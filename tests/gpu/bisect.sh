#!/usr/bin/env bash
# A bisection on a GPU: a repository of eight commits of a softmax, of which one makes it slower and one does not build.
#
#     tests/gpu/bisect.sh [NCUGATE]
#
# Prints the steps and the comparison with the parent. Fails if another commit is found, if the commit with the machine code of
# the bad end is measured, if a requirement that every commit holds finds one, or if `git bisect run` finds another.
# Needs an NVIDIA GPU, nvcc, ncu and git; takes two minutes.
. "$(dirname "$0")/prelude.sh"
mkdir "$work/repository"
kernel=$work/repository/softmax.cu
cp kernels/softmax/softmax.cu "$kernel"
cd "$work/repository"
printf '/profiles\n/reports\n' > .gitignore
touch ncugate.toml
cat > softmax.toml <<'TOML'
[phase]
name = "softmax"

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
defines = ["THREADS", "ROWS_PER_BLOCK", "VEC"]
grid = ["(R + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK"]
block = ["THREADS"]
args = ["x", "y", "R", "C"]

[[variant]]
name = "fast"
params = { THREADS = 256, ROWS_PER_BLOCK = 1, VEC = 4 }

[[gate]]
name = "no slower than the base"
require = "latency_p50 <= 1.05 * base.latency_p50"
TOML
git init --quiet .
commit() { git add --all && git commit --quiet --message "$1"; }
commit 'the kernel' && git tag good
sed -i '1i // What the kernel is said to do.' "$kernel" && commit 'a comment'
sed -i '1i #error not yet' "$kernel" && commit 'does not build'
sed -i '1d' "$kernel" && commit 'builds again'
sed -i 's/^defines/flags = ["-O3", "-lineinfo", "-Xptxas=-O2"]\n&/' softmax.toml && commit 'other flags'
sed -i '1i #undef VEC\n#define VEC 1' "$kernel" && commit 'one element at a time'
culprit=$(git rev-parse HEAD)
sed -i '1i // Another comment.' "$kernel" && commit 'another comment'
git commit --quiet --allow-empty --message 'nothing'
bisect() { "$ncugate" bisect good HEAD softmax.toml --profiles "$work/p" --reports "$work/r" "$@"; }

status=0
bisect > "$work/out" 2> "$work/err" || status=$?
cat "$work/out"
[ "$status" = 0 ] || tail -n 20 "$work/err"
check "status $status, wanted 0" test "$status" = 0
check "found another commit than $culprit" grep -q "first bad commit: $culprit" "$work/out"
grep -A1 'bad .*one element' "$work/out" > "$work/step" || true
check 'the machine code of the bad end was measured again' grep -q 'not measured' "$work/step"
check 'the machine code of the two is not compared' lacks 'SASS is not compared' "$work/out"
check 'a worktree is left' test "$(git worktree list | wc -l)" = 1
status=0
bisect --require 'latency_p50 <= 10 * base.latency_p50' > "$work/out" 2>&1 || status=$?
check "nothing to bisect: status $status, wanted 4" test "$status" = 4

git bisect start HEAD good > /dev/null
git bisect run "$ncugate" run softmax.toml --base good --source gpu --bisect-status > "$work/out" 2>&1 || true
check 'git bisect run found another commit' grep -q "$culprit is the first bad commit" "$work/out"
grep 'is the first bad commit' "$work/out" || tail -n 20 "$work/out"
exit $failed

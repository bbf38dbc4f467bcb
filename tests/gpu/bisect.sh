#!/usr/bin/env bash
# `git bisect run` on a GPU: a repository of eight commits of a softmax, of which one makes it slower and one does not build.
#
#     tests/gpu/bisect.sh [NCUGATE]
#
# Prints the found commit. Fails if another one is found.
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
git bisect start HEAD good > /dev/null
git bisect run "$ncugate" run softmax.toml --base good --source gpu --bisect-status > "$work/out" 2>&1 || true
check 'git bisect run found another commit' grep -q "$culprit is the first bad commit" "$work/out"
grep 'is the first bad commit' "$work/out" || tail -n 20 "$work/out"
exit $failed

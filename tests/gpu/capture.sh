#!/usr/bin/env bash
# Captures launches of programs and replays them: a CUDA C++ program with the static and with the shared runtime, PyTorch (softmax,
# layer norm, a product by cuBLAS) and a Triton script. For each: the replay is bitwise equal, its duration beside that within the
# program (both by CUDA events), the cost of the capture, and a candidate that does nothing is refused. About ten minutes:
#
#     tests/gpu/capture.sh [NCUGATE]
#
# Needs an NVIDIA GPU with a driver of CUDA 12.4 or newer, nvcc, and PyTorch with Triton for python3.
# shellcheck source=tests/gpu/prelude.sh
source "$(dirname "$0")/prelude.sh"
cd "$work"
cat > saxpy.cu <<'CUDA'
#include <cstdio>
#include <vector>
struct Scale { float factor; const float *shift; };
__constant__ float bias[4];
__global__ void scale_rows(const float *x, float *y, int rows, int columns, Scale scale) {
    int row = blockIdx.x;
    for (int column = threadIdx.x; column < columns; column += blockDim.x)
        y[row * columns + column] = x[row * columns + column] * scale.factor + scale.shift[column] + bias[column % 4];
}
int main() {
    const int rows = 8192, columns = 4096;
    std::vector<float> host(rows * columns), shift(columns);
    for (size_t i = 0; i < host.size(); i++)
        host[i] = float(i * 2654435761u >> 8) / (1 << 23) - 1;
    for (int i = 0; i < columns; i++)
        shift[i] = float(i % 17);
    float four[4] = {1, 2, 3, 4}, *x, *y, *device_shift;
    cudaMalloc(&x, host.size() * 4), cudaMalloc(&y, host.size() * 4), cudaMalloc(&device_shift, columns * 4);
    cudaMemcpy(x, host.data(), host.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(device_shift, shift.data(), columns * 4, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(bias, four, sizeof four);
    for (int i = 0; i < 20; i++)
        scale_rows<<<rows, 256>>>(x, y, rows, columns, Scale{0.5f, device_shift});
    return cudaDeviceSynchronize() != cudaSuccess;
}
CUDA
nvcc -O3 -arch=native -o static saxpy.cu
nvcc -O3 -arch=native -cudart shared -o shared saxpy.cu
cat > model.py <<'PYTHON'
import torch
torch.manual_seed(0)
x = torch.randn(8192, 4096, device="cuda")
for _ in range(20):
    torch.nn.functional.softmax(x, -1)
    torch.nn.functional.layer_norm(x, (4096,))
small = torch.randn(2048, 2048, device="cuda")
for _ in range(20):
    small @ small
torch.cuda.synchronize()
PYTHON
cat > add.py <<'PYTHON'
import torch, triton
import triton.language as tl
@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)
x, y = torch.randn(2, 1 << 25, device="cuda")
out = torch.empty_like(x)
for _ in range(20):
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
torch.cuda.synchronize()
PYTHON
seconds() { # command; prints wall seconds
    local from to
    from=$(date +%s.%N)
    "$@" > last.log 2>&1 || { cat last.log; return 1; }
    to=$(date +%s.%N)
    awk -v a="$from" -v b="$to" 'BEGIN { printf "%.2f", b - a }'
}
captured() { # name, glob, program...
    local name=$1 glob=$2 alone with inside replayed
    shift 2
    "$@" # fills the caches of compilers
    alone=$(seconds "$@")
    with=$(seconds "$ncugate" capture --copy-code -k "$glob" -o "$name" -- "$@") || { cat last.log; failed=1; return; }
    "$ncugate" capture --list -- "$@" > "$name.list"
    inside=$(python3 - "$name.list" "$glob" <<'PYTHON'
import fnmatch, re, sys
for line in open(sys.argv[1]).read().splitlines()[1:]:
    fields = re.match(r"\s*(?:[\d.]+ %|-)\s+([\d.]+) ms\s+(\d+)\s+(.*)", line)
    if fields and any(fnmatch.fnmatch(word, sys.argv[2]) for word in [fields[3], *re.findall(r"\w+", fields[3])]):
        print(f"{1000 * float(fields[1]) / int(fields[2]):.2f}")
        break
PYTHON
)
    check "$name: the phase builds" "$ncugate" check "$name/phase.toml"
    "$ncugate" run "$name/phase.toml" --format json > "$name.json" || true
    replayed=$(python3 - "$name.json" <<'PYTHON'
import json, sys
results = json.load(open(sys.argv[1]))
own = next(variant for variant in results["variants"] if variant["id"] == "replay")
values = own["shapes"]["captured"]["values"]
print(own["correct"], values["latency_p50"], "us")
PYTHON
)
    check "$name: the replay is bitwise equal" test "${replayed%% *}" = pass
    printf '%s: %s us in the program, replay: %s; %s s alone, %s s captured\n' "$name" "$inside" "$replayed" "$alone" "$with"
    # A candidate that leaves memory as it was.
    sed 's/^name = "replay"$/name = "replay"\nkernel = { source = "nothing.cu", entry = "nothing", block = [32], args = [] }/' "$name/phase.toml" > "$name/wrong.toml"
    echo 'extern "C" __global__ void nothing() {}' > "$name/nothing.cu"
    local status=0
    "$ncugate" run "$name/wrong.toml" > "$name.wrong" 2>&1 || status=$?
    check "$name: a candidate that does nothing is refused (status $status)" test "$status" = 1
}
captured of_static 'scale_rows' ./static
captured of_shared 'scale_rows' ./shared
captured softmax '*oft[mM]ax*' python3 model.py
captured norm '*layer_norm*' python3 model.py
captured product '*gemm*' python3 model.py
captured triton 'add_kernel' python3 add.py
exit "$failed"

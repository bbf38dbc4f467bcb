#!/usr/bin/env bash
# Makes real captures for tests/data on a machine with a GPU, ncu, nvcc and a Python that has torch,
# and zstd. Needs permission for performance counters.
#
#   tests/gpu/captures.sh OUT_FOLDER
#
# Environment: NCU, NVCC, PYTHON (defaults: the ones on PATH), NCUGATE_ARCH (default: native).
# Writes source.ncu-rep.zst and torch_nvtx.ncu-rep.zst (each under 16 MB), small.tar with the other reports, pages.tar
# with the CSV pages of all, and MANIFEST.md with the command of each.
# Captures that cannot be made are skipped, with the reason also in MANIFEST.md. The card's settings stay unchanged.
set -uo pipefail

out=$(mkdir -p "${1:?usage: captures.sh OUT_FOLDER}" && cd "$1" && pwd)
command -v zstd > /dev/null || { echo "captures.sh needs zstd" >&2; exit 3; }
ncu=${NCU:-ncu}
nvcc=${NVCC:-nvcc}
python=${PYTHON:-python3}
arch=${NCUGATE_ARCH:-native}
work=$(mktemp -d)
mkdir "$work/small" "$work/pages"
trap 'rm -rf "$work"' EXIT
manifest="$out/MANIFEST.md"
limit=$((16 * 1024 * 1024))
gates=gpu__time_duration.sum,dram__bytes.sum,sm__warps_active.avg.pct_of_peak_sustained_active
gates+=,smsp__issue_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread

{
    echo "# Captures"
    echo
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
    "$ncu" --version | tail -2
    date -u +%FT%TZ
    echo
} > "$manifest"

say() { echo "- $*" | tee -a "$manifest"; }

# capture NAME EXTRA_NCU_OPTIONS... -- PROGRAM...: one report, its raw page in base and in scaled units, and its details.
capture() {
    local name=$1
    shift
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    local base=(--config-file off --rename-kernels off --clock-control none -f -o "$work/$name")
    if ! timeout 300 "$ncu" "${base[@]}" "${options[@]}" "$@" > "$work/$name.log" 2>&1; then
        say "$name: failed: $(grep -m1 '==ERROR==' "$work/$name.log" || tail -1 "$work/$name.log")"
        return 0
    fi
    local report
    for report in "$work/$name.ncu-rep" "$work/$name.ncu-repz"; do [ -f "$report" ] && break; done
    if [ ! -f "$report" ]; then
        say "$name: no report: $(grep -m1 '==WARNING==' "$work/$name.log")"
        return 0
    fi
    local kept="$work/small/$name.ncu-rep.zst"
    case $name in source | torch_nvtx) kept="$out/$name.ncu-rep.zst" ;; esac
    zstd -q -19 -f "$report" -o "$kept"
    if [ "$(stat -c %s "$kept")" -gt $limit ]; then
        rm "$kept"
        say "$name: larger than 16 MB, dropped"
        return 0
    fi
    "$ncu" --import "$report" --page raw --csv --print-units base > "$work/base.csv" 2> /dev/null
    "$ncu" --import "$report" --page raw --csv > "$work/scaled.csv" 2> /dev/null
    "$ncu" --import "$report" --page details --csv --print-units base > "$work/details.csv" 2> /dev/null
    for page in base scaled details; do
        zstd -q -19 -f "$work/$page.csv" -o "$work/pages/$name.$page.csv.zst"
    done
    say "$name: \`ncu ${options[*]} $(basename "$1") ${*:2}\`, $(stat -c %s "$report") bytes"
}

cat > "$work/kernels.cu" <<'CU'
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <unistd.h>
#include <sys/wait.h>
// From cuda_profiler_api.h, which some installations lack.
extern "C" cudaError_t CUDARTAPI cudaProfilerStart(void);
extern "C" cudaError_t CUDARTAPI cudaProfilerStop(void);
namespace cg = cooperative_groups;

template <int N, typename T> __global__ void scale(T *x, T a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) x[i] = x[i] * a;
}
extern "C" __global__ void plain(float *x) { x[threadIdx.x] += 1.0f; }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 1, 1) clustered(float *x) {
    __shared__ float s;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) s = x[blockIdx.x];
    cluster.sync();
    x[blockIdx.x] = *cluster.map_shared_rank(&s, cluster.block_rank() ^ 1u);
    cluster.sync();
}
#endif

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); return 1; } } while (0)

static int launches() {
    float *x;
    CHECK(cudaMalloc(&x, 1 << 20));
    CHECK(cudaMemset(x, 0, 1 << 20));
    scale<4096, float><<<32, 128>>>(x, 2.0f);
    plain<<<1, 64>>>(x);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
static int graph() {
    float *x;
    CHECK(cudaMalloc(&x, 1 << 20));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    scale<4096, float><<<32, 128, 0, stream>>>(x, 2.0f);
    plain<<<1, 64, 0, stream>>>(x);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    return 0;
}
static int cluster() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    float *x;
    CHECK(cudaMalloc(&x, 1 << 20));
    clustered<<<8, 64>>>(x);
    CHECK(cudaDeviceSynchronize());
#endif
    return 0;
}
int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "launches";
    if (!strcmp(what, "graph")) return graph();
    if (!strcmp(what, "cluster")) return cluster();
    if (!strcmp(what, "range")) {
        CHECK(cudaFree(nullptr));
        CHECK(cudaProfilerStart());
        int status = launches();
        CHECK(cudaProfilerStop());
        return status;
    }
    if (!strcmp(what, "processes")) {
        pid_t child = fork();
        if (child == 0) { execl("/proc/self/exe", argv[0], "launches", (char *)nullptr); return 1; }
        int status = launches(), other = 1;
        waitpid(child, &other, 0);
        return status || other;
    }
    return launches();
}
CU

cat > "$work/model.py" <<'PY'
"""A few PyTorch kernels under NVTX ranges: nested, in a domain, started and ended, and on another thread."""
import threading
import torch

def step(x):
    torch.cuda.nvtx.range_push("outer")
    torch.cuda.nvtx.range_push("inner")
    y = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    torch.cuda.nvtx.range_pop()
    y = y.softmax(-1)
    torch.cuda.nvtx.range_pop()
    return y

x = torch.randn(1, 4, 256, 64, device="cuda", dtype=torch.float16)
open_range = torch.cuda.nvtx.range_start("start_end")
step(x)
torch.cuda.nvtx.range_end(open_range)
other = threading.Thread(target=step, args=(x,))
other.start()
other.join()
torch.cuda.synchronize()
PY

if "$nvcc" -O3 -lineinfo -std=c++17 -arch="$arch" -o "$work/kernels" "$work/kernels.cu" > "$work/nvcc.log" 2>&1; then
    cd "$work" || exit 1
    capture source --set full --import-source yes --apply-rules yes -- ./kernels launches
    capture graph_nodes --metrics "$gates" -- ./kernels graph
    capture graph_whole --graph-profiling graph --set basic -- ./kernels graph
    capture cluster --set basic -- ./kernels cluster
    capture processes --metrics "$gates" --target-processes all -- ./kernels processes
    capture range --replay-mode app-range --metrics "$gates" -- ./kernels range
else
    say "kernels.cu was not built: $(grep -m1 error "$work/nvcc.log" || tail -1 "$work/nvcc.log")"
fi
if "$python" -c "import torch; assert torch.cuda.is_available()" 2> /dev/null; then
    cd "$work" || exit 1
    capture torch_nvtx --nvtx --metrics "$gates" --launch-count 12 -- "$python" model.py
else
    say "torch_nvtx: no PyTorch with CUDA in $python"
fi
tar -C "$work" -cf "$out/small.tar" small
tar -C "$work" -cf "$out/pages.tar" pages
ls -la "$out"

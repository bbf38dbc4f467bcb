#!/usr/bin/env bash
# Captures launches of programs and replays them: a CUDA C++ program with the static and with the shared runtime, PyTorch (softmax,
# layer norm, a product by cuBLAS, a softmax in a CUDA graph), a Triton script, and a kernel with a tensor map. For each: the replay is
# bitwise equal, its duration beside the median within the program (both by CUDA events), the cost of the capture, a candidate that does
# nothing is refused, and the unchanged original does not win against itself. For the C++ program and PyTorch's softmax, a faster
# candidate is accepted on hidden inputs, and one that knows a captured input is refused. About ten minutes, or those named:
#
#     tests/gpu/capture.sh [NCUGATE [NAME...]]
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
    const int rows = 2048, columns = 4096;
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
        scale_rows<<<rows, 32>>>(x, y, rows, columns, Scale{0.5f, device_shift});
    return cudaDeviceSynchronize() != cudaSuccess;
}
CUDA
nvcc -O3 -arch=native -o static saxpy.cu
nvcc -O3 -arch=native -cudart shared -o shared saxpy.cu
cat > model.py <<'PYTHON'
import torch
torch.manual_seed(0)
x = torch.randn(2048, 4096, device="cuda")
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
x, y = torch.randn(2, 1 << 23, device="cuda")
out = torch.empty_like(x)
for _ in range(20):
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
torch.cuda.synchronize()
PYTHON
cat > graph.py <<'PYTHON'
import torch
torch.manual_seed(0)
x = torch.randn(1024, 4096, device="cuda")
def step():
    y = (x * 2 + 1).relu()
    return torch.softmax(y, -1).sum(-1)
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = step()
for _ in range(3):
    graph.replay()
torch.cuda.synchronize()
assert abs(out.sum().item() - 1024) < 1, out
PYTHON
cat > tiles.cu <<'CUDA'
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <vector>
constexpr int TILE = 64;
// Adds two tiles that bulk copies bring: one map in a parameter, another in a struct.
struct Operands { int rows; alignas(128) CUtensorMap map; };
__device__ void fetch(void *to, const CUtensorMap *map, int x, int y, uint64_t *bar) {
    uint32_t shared = __cvta_generic_to_shared(to), at = __cvta_generic_to_shared(bar);
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared),
                 "l"(map), "r"(x), "r"(y), "r"(at) : "memory");
}
__global__ void add_tiles(const __grid_constant__ CUtensorMap a, const __grid_constant__ Operands other, float *out, int columns) {
    __shared__ alignas(128) float one[TILE][TILE], two[TILE][TILE];
    __shared__ uint64_t bar;
    uint32_t at = __cvta_generic_to_shared(&bar);
    int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\n fence.proxy.async;" ::"r"(at) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(2 * TILE * TILE * 4) : "memory");
        fetch(one, &a, x, y, &bar);
        fetch(two, &other.map, x, y, &bar);
    }
    __syncthreads();
    asm volatile("{ .reg .pred p;\n wait: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n @!p bra wait;\n }" ::"r"(at) : "memory");
    for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x)
        if (y + i / TILE < other.rows)
            out[(y + i / TILE) * columns + x + i % TILE] = one[i / TILE][i % TILE] + 2 * two[i / TILE][i % TILE];
}
CUtensorMap encoded(decltype(&cuTensorMapEncodeTiled) encode, float *data, uint64_t rows, uint64_t columns) {
    CUtensorMap map;
    uint64_t sizes[] = {columns, rows}, stride = columns * 4;
    uint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
    CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, data, sizes, &stride, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                             CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result)
        printf("error %d\n", result);
    return map;
}
int main() {
    const int rows = 2048, columns = 2048;
    std::vector<float> host(rows * columns);
    for (size_t i = 0; i < host.size(); i++)
        host[i] = float(i * 2654435761u >> 8) / (1 << 23) - 1;
    float *a, *b, *out;
    size_t bytes = host.size() * 4;
    cudaMalloc(&a, bytes), cudaMalloc(&b, bytes), cudaMalloc(&out, bytes);
    cudaMemcpy(a, host.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(b, host.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, bytes);
    void *found;
    cudaDriverEntryPointQueryResult status;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status);
    auto encode = (decltype(&cuTensorMapEncodeTiled))found;
    Operands other{rows, encoded(encode, b, rows, columns)};
    for (int i = 0; i < 20; i++)
        add_tiles<<<dim3(columns / TILE, rows / TILE), 256>>>(encoded(encode, a, rows, columns), other, out, columns);
    return cudaDeviceSynchronize() != cudaSuccess;
}
CUDA
nvcc -O3 -arch=native -o with_maps tiles.cu
cat > scale_rows.cu <<'CUDA'
struct Scale { float factor; const float *shift; };
__constant__ float bias[4];
extern "C" __global__ void mine(const float *x, float *y, int rows, int columns, Scale scale) {
    const float4 *from = (const float4 *)(x + (size_t)blockIdx.x * columns), *shift = (const float4 *)scale.shift;
    float4 *to = (float4 *)(y + (size_t)blockIdx.x * columns);
    for (int at = threadIdx.x; at < columns / 4; at += blockDim.x) {
        float4 v = __ldcs(from + at), s = shift[at];
        __stcs(to + at, make_float4(v.x * scale.factor + s.x + bias[0], v.y * scale.factor + s.y + bias[1], v.z * scale.factor + s.z + bias[2],
                                   v.w * scale.factor + s.w + bias[3]));
    }
}
CUDA
cat > softmax.cu <<'CUDA'
extern "C" __global__ void __launch_bounds__(512) mine(float *y, const float *x) {
    const float4 *from = (const float4 *)(x + (size_t)blockIdx.x * 4096) + threadIdx.x;
    __shared__ float parts[2][16];
    float4 v[2] = {__ldcs(from), __ldcs(from + 512)};
    float *value = (float *)v, most = value[0], sum = 0;
    for (int i = 1; i < 8; i++)
        most = fmaxf(most, value[i]);
    for (int step = 16; step; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    if (threadIdx.x % 32 == 0)
        parts[0][threadIdx.x / 32] = most;
    __syncthreads();
    for (int i = 0; i < 16; i++)
        most = fmaxf(most, parts[0][i]);
    for (int i = 0; i < 8; i++)
        sum += value[i] = __expf(value[i] - most);
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        parts[1][threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 16; i++)
        sum += parts[1][i];
    float4 *to = (float4 *)(y + (size_t)blockIdx.x * 4096) + threadIdx.x;
    float scale = 1 / sum;
    for (int i = 0; i < 2; i++)
        __stcs(to + 512 * i, make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale));
}
CUDA
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
    with=$(seconds "$ncugate" capture --copy-code -k "$glob" --launch "${launch:-0}" -o "$name" -- "$@") || { cat last.log; failed=1; return; }
    [ -e "${*//\//_}.list" ] || "$ncugate" capture --list -- "$@" > "${*//\//_}.list"
    inside=$(python3 - "${*//\//_}.list" "$glob" <<'PYTHON'
import fnmatch, re, sys
for line in open(sys.argv[1]).read().splitlines()[1:]:
    fields = re.match(r"\s*[\d.]+ %\s+[\d.]+ ms\s+([\d.]+) us\s+\d+\s+(.*)", line)
    if fields and any(fnmatch.fnmatch(word, sys.argv[2]) for word in [fields[2], *re.findall(r"\w+", fields[2])]):
        print(fields[1])
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
    sed 's/^name = "replay"$/name = "replay"\nkernel = { source = "nothing.cu", entry = "nothing", block = [32], args = [], symbols = {} }/' "$name/phase.toml" > "$name/wrong.toml"
    echo 'extern "C" __global__ void nothing() {}' > "$name/nothing.cu"
    status_of "$name: a candidate that does nothing is refused" 1 "$name/wrong.toml"
    # The original against itself.
    { cat "$name/phase.toml"; faster replay; } > "$name/itself.toml"
    status_of "$name: the original does not win against itself" '[14]' "$name/itself.toml"
}
faster() { # variant
    printf '\n[[gate]]\nname = "faster"\non = "%s"\nrequire = "latency_p50 <= 0.97 * baseline.latency_p50"\n' "$1"
}
status_of() { # what, pattern of statuses, phase
    local status=0
    "$ncugate" run "$3" > run.log 2>&1 || status=$?
    [[ $status = $2 ]] || cat run.log
    check "$1 (status $status)" test "${status//$2/}" = ""
}
candidate() { # name, keys of the kernel, tolerance: on hidden inputs
    cp "$1.cu" "$1/mine.cu"
    { sed "s/^name = \"replay\"\$/name = \"mine\"\nkernel = { source = \"mine.cu\", entry = \"mine\", $2 }/; s/^tolerance = .*/tolerance = { $3 }/" "$1/hidden.toml"
        faster mine; } > "$1/mine.toml"
    status_of "$1: a faster candidate is accepted on hidden inputs" 0 "$1/mine.toml"
    grep -E 'mine|original' run.log | head -4
}
wanted=("${@:2}")
captured_if() { # name, glob, program...: if it is wanted
    [[ ${#wanted[@]} = 0 || " ${wanted[*]} " = *" $1 "* ]] || return 1
    captured "$@"
}
if captured_if scale_rows 'scale_rows' ./static; then
    candidate scale_rows 'block = [256]' 'max_abs = 0'
    # A candidate that knows a captured input.
    sed -i 's/s = shift\[at\]/s = make_float4(4 * at % 17, (4 * at + 1) % 17, (4 * at + 2) % 17, (4 * at + 3) % 17)/' scale_rows/mine.cu
    status_of 'scale_rows: a candidate that knows a captured input is refused' 1 scale_rows/mine.toml
fi
captured_if of_shared 'scale_rows' ./shared || true
captured_if softmax '*oft[mM]ax*' python3 model.py &&
    candidate softmax 'block = [512], grid = [2048], dynamic_shared = 0, args = ["p0", "p1"]' 'atol = 1e-6, rtol = 1e-4, allow_nan = false'
captured_if norm '*layer_norm*' python3 model.py || true
captured_if product '*gemm*' python3 model.py || true
captured_if triton 'add_kernel' python3 add.py || true
captured_if tiles 'add_tiles' ./with_maps || true
launch=1 # after the one that warms up
captured_if graph '*oft[mM]ax*' python3 graph.py || true
exit "$failed"

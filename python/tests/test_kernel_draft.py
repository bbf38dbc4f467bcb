"""Drafts of kernels in Triton, Gluon, Numba and CuTe DSL: signature, decorators, use of parameters and launch, from the source alone."""

import json

import pytest

from ncugate import _kernel_draft
from ncugate.problem._files import ProblemError

# Nothing of a file is imported.
HEAD = "raise SystemExit('imported')\nimport torch\nimport triton\nimport triton.language as tl\n"

MATMUL = (
    HEAD
    + '''
def configurations():
    return [
        triton.Config({"BM": 64, "BN": 128}, num_warps=4, num_stages=3),
        triton.Config({"BM": 128, "BN": 64}, num_warps=8, num_stages=3),
        triton.Config({"BM": 128, "BN": 128}, num_warps=8, num_stages=4),
    ]

@triton.jit
def activated(v, slope):
    return tl.where(v > 0, v, v * slope)

@triton.autotune(configs=configurations(), key=["M", "N", "K"])
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, slope,
            BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACTIVATION: tl.constexpr):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    total = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        total += tl.dot(tl.load(a_ptrs, mask=rm[:, None] < M), tl.load(b_ptrs, mask=rn[None, :] < N))
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    c_ptrs = c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn
    tl.store(c_ptrs, activated(total, slope), mask=(rm[:, None] < M) & (rn[None, :] < N))

def multiply(a, b, slope=0.25, activation=None):
    (M, K), (K, N) = a.shape, b.shape
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    grid = lambda META: (triton.cdiv(M, META["BM"]), triton.cdiv(N, META["BN"]))
    product[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), slope,
                  BK=32, ACTIVATION=activation)
    return c
'''
)

NORM = (
    HEAD
    + '''
from .cache import cached_autotune
WARPS = [4, 8] if torch.version.hip else [1, 2, 4]

@triton.heuristics({"HAS_BIAS": lambda args: args["bias"] is not None, "BD": lambda args: triton.next_power_of_2(args["D"])})
@cached_autotune(configs=[triton.Config({"BT": BT}, num_warps=w) for BT in [8, 16] for w in WARPS], key=["D"])
@triton.jit(do_not_specialize=["T"])
def norm(x, y, rstd, bias, lengths, eps, seed, T, D: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr, HAS_BIAS: tl.constexpr, KIND: tl.constexpr):
    rows, columns = tl.program_id(0) * BT + tl.arange(0, BT), tl.arange(0, BD)
    inside = (rows[:, None] < T) & (columns[None, :] < D)
    p_x, p_y = x + rows[:, None] * D + columns[None, :], y + rows[:, None] * D + columns[None, :]
    v = tl.load(p_x, mask=inside)
    if HAS_BIAS:
        v += tl.load(bias + columns)[None, :]
    r = 1 / tl.sqrt(tl.sum(v * v, 1) / D + eps)
    tl.store(p_y, v * r[:, None], mask=inside)
    tl.store(rstd + rows, r)
    tl.atomic_add(lengths + rows, 1)

def forward(x, bias=None, eps: float = 1e-6):
    shape = x.shape
    x = x.view(-1, shape[-1])
    T, D = x.shape
    y, rstd = torch.empty_like(x), torch.empty((T,), dtype=torch.float32)
    lengths = torch.zeros(T, dtype=torch.int32)
    def grid(meta):
        return (triton.cdiv(T, meta["BT"]),)
    norm[grid](x=x, y=y, rstd=rstd, bias=bias, lengths=lengths, eps=eps, seed=next_seed(), T=T, D=D, KIND=kind_of(x))
'''
)

GATED = (
    HEAD
    + '''
BLOCK = 1024

@triton.jit
def put(pointer, offsets, v, mask):
    tl.store(pointer + offsets, v, mask=mask)

def gate(e, g, n_elements, BLOCK: tl.constexpr, LONG: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    v = tl.load(e + offsets, mask=mask) * tl.load(g + offsets, mask=mask)
    put(g, offsets, v, mask)

gate = triton.jit(gate)

def gated(e, g):
    batch, length, width = e.shape
    n = e.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    with torch.cuda.device(e.device):
        gate[grid](e, g, n, BLOCK=BLOCK, LONG=0 if n < 2**31 else 1)
'''
)

NUMBA = '''
import math
from numba import cuda
TILE = 16

@cuda.jit("(f8[:, :], f4[:, :], i8[:], i8)")
def scatter(σ, out, at, n):
    row, column = cuda.grid(2)
    if row < n:
        part = cuda.shared.array(TILE, 0)
        out[row, column] = σ[row, column]
        cuda.atomic.add(at, row, 1)

def launch(s, out, at):
    n = s.shape[0]
    scatter[(math.ceil(n / TILE), 1), (TILE, TILE)](s, out, at, n)
'''

CUTE = '''
import cutlass
import cutlass.cute as cute
import cuda.bindings.driver as cuda

@cute.kernel
def add_kernel(gA, gB, gC, thr_layout: cute.Layout):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), gA.element_type)
    copy = cute.make_tiled_copy_tv(atom, thr_layout)
    thrA, thrB, thrC = copy.partition_S(gA[None]), copy.partition_S(gB[None]), copy.partition_D(gC[None])
    frgA, frgB, frgC = cute.make_fragment_like(thrA), cute.make_fragment_like(thrB), cute.make_fragment_like(thrC)
    cute.copy(atom, thrA, frgA)
    cute.copy(atom, thrB, frgB)
    frgC.store(frgA.load() + frgB.load())
    cute.copy(atom, frgC, thrC)

@cute.jit
def add(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream, THREADS: cutlass.Constexpr = 128):
    gA, gB, gC = cute.zipped_divide(mA, 4), cute.zipped_divide(mB, 4), cute.zipped_divide(mC, 4)
    add_kernel(gA, gB, gC, cute.make_layout(THREADS)).launch(grid=[1, 1, 1], block=[THREADS, 1, 1], stream=stream)
'''


JOINED = (
    HEAD
    + '''
@triton.jit
def joined(
    out,  # [tokens, heads, dim] the weighted mean
    out_weight,  # [tokens, heads]
    left,  # shape (tokens, heads, dim)
    left_weight,  # [tokens, heads]
    bias_ptr,  # (optional) one for each column
    rows,
    DIM: tl.constexpr,
    WIDE: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    KEEPS: tl.constexpr,
):
    at = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    columns = tl.arange(0, WIDE)
    target = out + at * DIM if KEEPS else left + at * DIM
    bias = tl.load(bias_ptr + columns) if HAS_BIAS else 0.0
    weight = tl.load(left_weight + at)
    tl.store(out_weight + at, weight)
    tl.store(target + columns, tl.load(left + at * DIM + columns, mask=columns < DIM) * weight + bias, mask=columns < DIM)

def join(left, left_weight, normalized_shape, out=None):
    tokens, heads = left_weight.shape
    left = left.view(tokens, heads, -1).contiguous()
    dim = left.shape[-1]
    out = torch.empty_like(left)
    count = math.prod(normalized_shape)
    joined[(tokens, heads)](out, torch.empty_like(left_weight), left, left_weight, None, count, dim, triton.next_power_of_2(dim), False, True)
'''
)


def draft(tmp_path, text, name=None):
    """The phase and the reference that are printed for a file."""
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    (phase, text), (_, reference) = _kernel_draft.KernelDraft(str(file), name, str(tmp_path / "phase.toml")).files()
    assert phase == str(tmp_path / "phase.toml")
    tomllib = pytest.importorskip("tomllib")
    return text, tomllib.loads(text), reference


def shapes(phase):
    return {name: (one["shape"], one.get("role", "input")) for name, one in phase["workload"]["buffers"].items()}


def test_a_product_has_its_strides_grid_and_configurations(tmp_path):
    text, phase, reference = draft(tmp_path, MATMUL)
    assert phase["kernel"]["python"] == "kernels.py:product"
    assert phase["kernel"]["grid"] == ["(M + BM - 1) // BM", "(N + BN - 1) // BN"]
    assert shapes(phase) == {"a_ptr": (["M", "K"], "input"), "b_ptr": (["K", "N"], "input"), "c_ptr": (["M", "N"], "output")}
    assert phase["workload"]["buffers"]["c_ptr"]["dtype"] == "f16"
    strides = [one["value"] for one in phase["kernel"]["args"] if isinstance(one, dict)]
    assert strides == ["K", "N", "N"], "those of contiguous axes are compiled in"
    assert phase["workload"]["scalars"]["slope"] == {"type": "f32", "value": 0.25}
    sweep = phase["sweep"]
    where = sweep.pop("where").split("\n or ")
    assert len(where) == 3 and "BM == 128 and BN == 64 and num_warps == 8 and num_stages == 3" in where
    assert sweep == {
        **{name: [1] for name in ("stride_ak", "stride_bn", "stride_cn")},
        **{"BM": [64, 128], "BN": [128, 64], "num_warps": [4, 8], "num_stages": [3, 4]},
        **{"BK": [32], "ACTIVATION": ["None"]},
    }
    assert [line for line in text.splitlines() if "FILL:" in line] == ["# FILL: write the reference in NumPy."]
    assert "def reference(a_ptr, b_ptr, M, N, K, slope):" in reference


def test_constexprs_of_a_shape_heuristics_and_absent_pointers(tmp_path):
    text, phase, _ = draft(tmp_path, NORM)
    assert phase["kernel"]["constexprs"] == {"D": "D", "BD": "2 ** ceil(log2(D))"}, "one phase has many sizes"
    assert phase["workload"]["shapes"]["large"] == {"T": 1024, "D": 1024}
    assert shapes(phase) == {
        "x": (["T", "D"], "input"),
        "y": (["T", "D"], "output"),
        "rstd": (["T"], "output"),
        "lengths": (["T"], "output"),
    }
    assert phase["workload"]["buffers"]["lengths"] == {"dtype": "i32", "shape": ["T"], "role": "output", "init": {"constant": 0}}
    args = phase["kernel"]["args"]
    assert args == ["x", "y", "rstd", "nullptr", "lengths", "eps", {"value": "FILL_seed", "type": "i32"}, "T"]
    assert phase["workload"]["scalars"]["eps"]["value"] == 1e-6
    assert phase["sweep"] == {
        **{"HAS_BIAS": [False], "KIND": ["FILL_KIND"], "BT": [8, 16], "num_warps": [1, 2, 4]},
    }
    for mark in ("KIND", "seed"):
        assert any(f"FILL_{mark}" in line and "# FILL:" in line for line in text.splitlines()), mark
    assert any("HAS_BIAS = [false] # CHECK: `@triton.heuristics`" in line for line in text.splitlines())


def test_comments_conditional_pointers_and_padded_sizes_are_read(tmp_path):
    text, phase, _ = draft(tmp_path, JOINED)
    found = shapes(phase)
    assert found["out"] == (["tokens", "heads", "DIM"], "output") and found["left"][0] == ["tokens", "heads", "DIM"]
    assert found["out_weight"] == (["tokens", "heads"], "output") and found["left_weight"] == (["tokens", "heads"], "input")
    assert "bias_ptr" in found, "a name that ends in `_ptr` is no size"
    assert phase["kernel"]["constexprs"] == {"DIM": "DIM", "WIDE": "2 ** ceil(log2(DIM))"}
    assert phase["kernel"]["grid"] == ["tokens", "heads"] and "rows" in phase["kernel"]["args"]
    made_elsewhere = JOINED.replace("torch.empty_like(left_weight)", "made(left)").replace("left_weight.shape", "sizes(left)")
    text, phase, _ = draft(tmp_path, made_elsewhere)
    assert shapes(phase)["out_weight"][0] == shapes(phase)["left"][0][:2], "only its comment gives it"
    assert any("out_weight =" in line and "# CHECK: extents, a guess" in line for line in text.splitlines())


def test_device_functions_constants_and_flat_sizes_are_followed(tmp_path):
    _, phase, _ = draft(tmp_path, GATED)
    assert shapes(phase) == {"e": (["n_elements"], "input"), "g": (["n_elements"], "inout")}
    assert phase["kernel"]["grid"] == ["(n_elements + BLOCK - 1) // BLOCK"]
    assert phase["sweep"] == {"BLOCK": [1024], "LONG": [0], "num_warps": [4, 8]}


def test_a_buffer_or_an_option_with_a_taken_name_is_said_once(tmp_path):
    text = """import triton
import triton.language as tl
@triton.autotune(configs=[triton.Config({"KIND": None}), triton.Config({"KIND": 1}, num_warps=8)], key=[])
@triton.jit
def scan(x, T, num_warps: tl.constexpr, KIND: tl.constexpr):
    tl.store(x, tl.load(T))
def launch(x, lengths):
    T, _ = *x.shape, lengths.shape[-1]
    scan[(T,)](x, lengths, num_warps=4)
"""
    _, phase, reference = draft(tmp_path, text)
    assert shapes(phase) == {"x": (["T"], "output"), "T_": (["T"], "input")}
    assert phase["kernel"]["args"] == ["x", "T_"] and "def reference(T_, T):" in reference
    assert phase["sweep"]["KIND"] == ["None", 1] and phase["sweep"]["num_warps"] == [4, 8]


def test_strides_say_their_axes_by_name_if_no_launch_does(tmp_path):
    kernel = MATMUL[: MATMUL.index("def multiply")].replace("configs=configurations()", "configs=made_elsewhere()")
    text, phase, _ = draft(tmp_path, kernel)
    assert shapes(phase)["b_ptr"] == (["K", "N"], "input") and phase["kernel"]["grid"] == ["FILL_grid"]
    assert "# FILL: blocks of the grid per axis" in text and "# FILL: values of `@triton.autotune`" in text
    assert phase["sweep"]["BM"] == [64, 128] and "ACTIVATION = [\"FILL_ACTIVATION\"] # FILL:" in text


def test_numba_has_types_of_its_signature_block_and_globals(tmp_path):
    _, phase, reference = draft(tmp_path, NUMBA)
    buffers = phase["workload"]["buffers"]
    assert [one["dtype"] for one in buffers.values()] == ["f64", "f32", "i64"]
    assert list(buffers) == ["sigma", "out", "at"] and buffers["out"]["role"] == "output"
    assert phase["kernel"]["grid"] == ["(n + TILE - 1) // TILE", 1] and phase["kernel"]["block"] == ["TILE", "TILE"]
    assert phase["kernel"]["args"][-1] == {"value": "n", "type": "i64"}
    assert phase["sweep"] == {"TILE": [16]}
    unknown = NUMBA.replace("(TILE, TILE)]", "config.THREADS]")
    text, phase, _ = draft(tmp_path, unknown)
    assert phase["kernel"]["block"] == ["THREADS"] and phase["sweep"]["THREADS"] == [128, 256], text


@pytest.mark.parametrize("name", ["add", "add_kernel"])
def test_the_host_function_of_cute_is_the_kernel(tmp_path, name):
    _, phase, _ = draft(tmp_path, CUTE, name)
    assert phase["kernel"] == {"python": "kernels.py:add", "args": ["mA", "mB", "mC"]}
    assert [role for _, role in shapes(phase).values()] == ["input", "input", "output"]
    assert phase["sweep"] == {"THREADS": [128]}


def test_gluon_is_drafted_like_triton(tmp_path):
    text = NORM.replace("import triton\n", "import triton\nfrom triton.experimental import gluon\n", 1)
    text = text.replace("@triton.jit(do_not_specialize=[\"T\"])", "@gluon.jit")
    found, phase, _ = draft(tmp_path, text)
    assert "(Gluon)" in found and shapes(phase)["rstd"] == (["T"], "output")


def test_a_file_without_the_kernel_is_an_error_that_names_those_it_has(tmp_path, capsys):
    for text, name, message in [
        ("def f(x): pass", None, "no function under `@triton.jit`"),
        ("def f(x): pass", "f", "no kernel `f` under .* such as --shape 4096x8192"),
        (GATED + "\ndef two(x): tl.store(x, 0)\ntwo = triton.jit(two)\n", None, "defines gate, two; name one, such as .*kernels.py:gate"),
        (CUTE[: CUTE.index("@cute.jit")], "add_kernel", "no function under `@cute.jit` launches `add_kernel`"),
        ("def f(:", None, "invalid syntax"),
        ("x = 1\0", None, "null bytes"),
    ]:
        with pytest.raises(ProblemError, match=message):
            draft(tmp_path, text, name)
    assert _kernel_draft.main([str(tmp_path / "absent.py")]) == 3
    assert "cannot read" in capsys.readouterr().err


def test_no_text_of_a_kernel_ends_the_draft(tmp_path):
    """Every prefix of a file is drafted or refused."""
    file = tmp_path / "cut.py"
    for text in (MATMUL, NORM, NUMBA, CUTE):
        lines = text.splitlines(keepends=True)
        for end in range(len(lines)):
            file.write_text("".join(lines[:end]), encoding="utf-8")
            assert _kernel_draft.main([str(file), "--output", str(tmp_path / "cut.toml")]) in (0, 2)
    deep = "x = " + "(" * 80 + "1" + ")" * 80 + "\ny = [z for z in z]\nz = y\nBLOCK = BLOCK\n" + GATED.replace("BLOCK = 1024", "")
    file.write_text(deep, encoding="utf-8")
    assert _kernel_draft.main([str(file), "--output", str(tmp_path / "cut.toml")]) in (0, 2)


def test_the_files_are_printed_as_json(tmp_path, capsys):
    file = tmp_path / "kernels.py"
    file.write_text(GATED, encoding="utf-8")
    assert _kernel_draft.main(["--kernel=gate", f"--output={tmp_path / 'gate.toml'}", "--", str(file)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [path.rsplit("/", 1)[1] for path, _ in printed] == ["gate.toml", "gate_reference.py"]

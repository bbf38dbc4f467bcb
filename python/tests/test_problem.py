"""Formats of other projects: what is read, refused and written. Whole imports and exports are tests of the program."""

import array
import json
import os
import struct

import pytest

from ncugate import _torch_function as torch_function
from ncugate.problem import _export, _files, _flashinfer, _gpumode, _phase
from ncugate.problem.__main__ import main
from ncugate.problem._describe import Description
from ncugate.problem._files import FileError, ProblemError
from ncugate.problem._phase import Tensor


def test_a_tensor_of_the_command_line_has_a_type_extents_and_maybe_an_init():
    assert Tensor.given("x=f16[N, 2 * K]") == Tensor("x", "float16", ["N", "2 * K"])
    assert Tensor.given("loss=f32[]").shape == []
    tomllib = pytest.importorskip("tomllib")
    assert tomllib and Tensor.given('at=int32[N]:{ indices = "V" }') == Tensor("at", "int32", ["N"], init={"indices": "V"})
    for wrong in ["x", "x=f32", "x=f99[N]", "in=f32[N]", "x=f32[N]constant", "x=f32[N]:{"]:
        with pytest.raises(ProblemError, match="is not a tensor; write NAME=TYPE"):
            Tensor.given(wrong)


def test_equal_extents_are_one_term_and_sums_are_in_brackets():
    shapes = [(2, ["M", "4 * K"]), (8, ["M", "4 * K"]), (8, ["1"]), (1, ["N + 1"])]
    assert _phase.moved_bytes(shapes) == "10 * M * 4 * K + 8 + 1 * (N + 1)"
    assert _phase.moved_bytes([]) is None


def test_names_are_distinct_and_none_is_the_reference():
    assert _phase.distinct(["a b", "a_b", "reference", "-x"]) == ["a_b", "a_b_2", "reference_2", "_-x"]


def test_aliases_depth_and_number_of_a_task_are_bounded(tmp_path):
    pytest.importorskip("yaml")
    path = tmp_path / "task.yml"

    def task(text):
        path.write_text(text)
        return _gpumode.task_of(str(path))

    assert task("lang: py\ntests: [{n: 1}]\n") == {"lang": "py", "tests": [{"n": 1}]}
    for text, why in (
        ("a: &a [1, 2]\nb: *a\n", "line 2 has a YAML alias"),
        (f"a: {'[' * 70}1{']' * 70}\n", "64 levels"),
        (f"a: [{'1,' * 100_001}]\n", "100000 parts"),
        ("a: !!python/object/apply:os.system ['false']\n", "could not determine a constructor"),
        ("- 1\n", "not a YAML table"),
        ("a: [\n", "expected the node content"),
    ):
        with pytest.raises(ProblemError, match=why):
            task(text)


def test_files_of_the_task_alone_are_found(tmp_path):
    root, own = tmp_path / "repo", tmp_path / "repo/tasks/t"
    own.mkdir(parents=True)
    for name in ("secret", "repo/tasks/utils.py", "repo/tasks/t/a.py"):
        (tmp_path / name).write_text("x")
    (own / "link.py").symlink_to(tmp_path / "secret")
    (root / "tasks/linked").symlink_to(tmp_path)

    def find(name):
        return _files.named_file("task.yml", own, name)

    assert find("a.py") == find("./a.py") == own / "a.py"
    with pytest.raises(ProblemError, match="outside its folder"):
        find("../utils.py")
    (root / ".git").mkdir()
    assert find("../utils.py") == root / "tasks/utils.py", "of its repository"
    for name, why in (
        ("../../../secret", "outside its repository"),
        (str(tmp_path / "secret"), "absolute path"),
        ("link.py", "a link"),
        ("../linked/secret", "a link"),
        ("../../.git/config", "hidden"),
    ):
        with pytest.raises(ProblemError, match=why):
            find(name)
    with pytest.raises(FileError):
        find("absent.py")


def test_only_regular_files_of_bounded_size_are_read(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(b"x" * 11)
    for path in (tmp_path / "fifo", "/dev/zero", tmp_path, tmp_path / "absent", tmp_path / "large", "a\0b"):
        with pytest.raises(FileError, match="cannot read"):
            _files.data_of(path, 10)


def test_numbers_that_would_need_all_memory_are_unknown(tmp_path):
    path = tmp_path / "p.py"
    path.write_text(
        "A = 9**63\nB = A**63\nC = 1e300**2\nD = 7 // 0\nE = 2**10\ndef f():\n    x = torch.rand(E, int(1e400))\n    return x\n"
    )
    described = Description(path, "f")
    assert described.constants == {"E": 1024}
    with pytest.raises(ProblemError, match=r'describe it with --input "x='):
        described.inputs(None, [], "p", "f")
    for text in ("(" * 10_000, "x = \n", "\0"):
        path.write_text(text)
        with pytest.raises(FileError, match="cannot parse"):
            Description(path, "f")


def test_malformed_documents_are_named_errors(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = {
        "name": "d",
        "axes": {"N": {"type": "var"}},
        "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
        "reference": "def run(x): return x",
    }
    (tmp_path / "definitions").mkdir()
    (tmp_path / "workloads").mkdir()
    lines = [
        {"definition": "d", "workload": {"uuid": "u", "axes": {"N": 4}, "inputs": inputs}}
        for inputs in ({"x": {"type": "random"}}, {"x": 3}, {"x": {"type": "safetensors", "path": "../x", "tensor_key": "x"}}, {})
    ]
    documents = [(whole, line) for line in lines[1:]]
    documents += [({**whole, key: wrong}, lines[0]) for key in whole for wrong in (None, 3, [[]], {"": []}, {"N": {"type": 3}})]
    for definition, line in documents:
        (tmp_path / "definitions/d.json").write_text(json.dumps(definition))
        (tmp_path / "workloads/d.jsonl").write_text(json.dumps(line))
        assert main(["import", "flashinfer", ".", "-o", "p.toml"]) == 2, definition
        assert capsys.readouterr().err.startswith("error: ")
        assert not (tmp_path / "p.toml").exists() and not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("word", "dtype", "data", "descr", "expected"),
    [
        ("I32", "int32", struct.pack("<2i", 3, -1), "<i4", struct.pack("<2i", 3, -1)),
        ("BOOL", "bool", b"\1\0", "|b1", b"\1\0"),
        ("BF16", "bfloat16", b"\x80\x3f\x00\xc0", "<f4", struct.pack("<2f", 1, -2)),
        ("F8_E4M3", "float8_e4m3fn", b"\x38\x81", "<f4", struct.pack("<2f", 1, -(2.0**-9))),
        ("F8_E5M2", "float8_e5m2", b"\x3c\xc0", "<f4", struct.pack("<2f", 1, -2)),
    ],
)
def test_a_stored_tensor_becomes_a_numpy_file(tmp_path, word, dtype, data, descr, expected):
    path = tmp_path / "x.safetensors"

    def written(shape, offsets):
        header = json.dumps({"x": {"dtype": word, "shape": shape, "data_offsets": offsets}}).encode()
        path.write_bytes(struct.pack("<Q", len(header)) + header + data)
        return _flashinfer.npy_of(path, "x", dtype, [2])

    file = written([2], [0, len(data)])
    length = struct.unpack("<H", file[8:10])[0]
    assert file.startswith(b"\x93NUMPY\1\0") and (10 + length) % 64 == 0 and file[10 + length :] == expected
    header = eval(file[10 : 10 + length], {})
    assert header == {"descr": descr, "fortran_order": False, "shape": (2,)}
    for shape, offsets in (([3], [0, len(data)]), ([2], [0, 99]), ([2], [-1, 1]), ([2], ["a", 1]), ([2], [0])):
        with pytest.raises(ProblemError):
            written(shape, offsets)
    path.write_bytes(array.array("B", [255] * 16).tobytes())
    with pytest.raises(ProblemError, match="not a safetensors file"):
        _flashinfer.npy_of(path, "x", dtype, [2])


def test_a_score_is_of_the_last_benchmark_or_a_mean_over_all():
    means = [1e-6, 4e-6, 16e-6]
    assert _export.score_of("last", means) == 16e-6
    assert _export.score_of("mean", means) == pytest.approx(7e-6)
    assert _export.score_of("geom", means) == pytest.approx(4e-6)
    assert all(_export.score_of(by, []) is None for by in ("last", "mean", "geom"))


def test_fast_p_counts_over_all_problems_and_a_problem_without_a_time_is_not_fast():
    problems = [
        {"compiled": True, "correct": True, "speedup": 4.0},
        {"compiled": True, "correct": True, "speedup": 1.0},
        {"compiled": True, "correct": True, "speedup": None},
        {"compiled": True, "correct": False, "speedup": None},
        {"compiled": False, "correct": False, "speedup": None},
    ]
    found = _export.summary(problems, [0.0, 1.0, 2.0])
    assert found["fast_p"] == {"0.0": 0.4, "1.0": 0.2, "2.0": 0.2}
    assert (found["total_count"], found["compiled_count"], found["correct_count"]) == (5, 4, 3)
    assert found["geo_mean_speedup"] == pytest.approx(2.0)
    assert _export.summary([], [1.0])["fast_p"] == {"1.0": 0.0}


def test_a_shape_has_extents_and_maybe_a_name():
    plain, named = torch_function.Input("4096x8192"), torch_function.Input("weight=8")
    assert (plain.name, plain.extents, named.name, named.extents) == (None, [4096, 8192], "weight", [8])
    for wrong in ["", "8x", "0x4", "8,4", "a b=4", "-1"]:
        with pytest.raises(ProblemError, match="is not a shape"):
            torch_function.Input(wrong)
    assert torch_function.literal("dim=-1") == ("dim", "-1")
    for wrong in ["dim", "=1", "dim="]:
        with pytest.raises(ProblemError, match="is not an argument"):
            torch_function.literal(wrong)


def test_equal_extents_are_one_dimension_and_ones_stay_numbers():
    class Arguments:
        function, shapes, arguments, output = "torch:f", ["4096x1x512", "256x512", "30"], [], None
        dtype, backward, python = "f32", False, None

    function = torch_function.TorchFunction(Arguments)
    assert function.dimensions == {4096: "M", 512: "N", 256: "K", 30: "L"}
    assert function.shape([4096, 1, 256, 7]) == ["M", "1", "K", "7"]
    assert function.small([4096, 1, 256, 30, 7]) == [37, 1, 29, 30, 7]


def test_outputs_that_are_smaller_or_of_another_type_have_their_own_bounds():
    def buffer(name, dtype, scale):
        return torch_function.Buffer(name, dtype, [], scale)

    both = torch_function.tolerance([buffer("x", "bf16", None), buffer("y", "bf16", 2.0)])
    assert "# Sums of bf16 products" in both and "4 times the atol" in both
    assert both.endswith('tolerance = { atol = 2e-2, rtol = 0.016, ill_conditioned = "inconclusive" }\n')
    both = torch_function.tolerance([buffer("y", "f32", 2.0), buffer("z", "f32", 0.02)])
    assert "Sums of" not in both and "outputs = { z = { atol = 1e-6, rtol = 0.0001 } }" in both
    assert torch_function.tolerance([buffer("at", "i64", 3.0)]) == "tolerance = { max_abs = 0 }\n"
    assert [torch_function.number(value) for value in (0.0, 1e-12, 12.0)] == ["0e0", "1e-12", "1e1"]

"""The package over the program that is installed with it, on the repository's recordings."""

import ast
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import ncugate

pytest_plugins = ["pytester"]
ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_the_program_is_the_one_of_the_wheel():
    program = ncugate.binary()
    assert program.parent == pathlib.Path(sys.prefix, "bin")
    said = subprocess.run([sys.executable, "-m", "ncugate", "--version"], check=True, stdout=subprocess.PIPE, text=True)
    assert said.stdout.startswith("ncugate ")


def test_the_scripts_of_the_package_are_in_the_wheel():
    for command in (["ncugate-verify-tuning", "--help"], ["ncugate", "problem", "import", "gpumode", "--help"]):
        command[0] = str(pathlib.Path(sys.prefix, "bin", command[0]))
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd="/")
        assert "--output" in said.stdout
    # texts that an import reads
    assert (pathlib.Path(ncugate.__file__).parent / "problem" / "calls" / "model.py").is_file()


def test_every_module_is_typed_and_the_package_says_so():
    package = pathlib.Path(ncugate.__file__).parent
    assert (package / "py.typed").is_file()
    for path in package.glob("*.py"):
        functions = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
        bare = [f.name for f in functions if f.returns is None]
        assert not bare, f"{path.name}: {bare}"


def test_a_report_is_read_with_every_value():
    pyarrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    long = ncugate.read_report("tests/data/full1.ncu-rep.zst")
    table = long.to_pyarrow()
    assert table.num_rows > 1000 and {"launch", "metric", "unit"} <= set(table.column_names)
    assert long.to_polars().height == table.num_rows
    # through the Arrow PyCapsule interface
    assert pyarrow.table(long).equals(table)
    assert polars.DataFrame(long).height == table.num_rows
    one = ncugate.read_report("tests/data/full1.ncu-rep.zst", ["gpu__time_duration.sum"], wide=True).to_pyarrow()
    assert one.num_rows == 1 and "gpu__time_duration.sum" in one.column_names
    with pytest.raises(ncugate.NcugateError, match="not an Nsight Compute report"):
        ncugate.read_report("README.md")


def test_launches_are_rows_with_extents_ranges_and_metrics():
    polars = pytest.importorskip("polars")
    frame = ncugate.read_report("tests/data/torch_nvtx.ncu-rep.zst", wide=True).to_polars()
    assert {"grid_x", "block_z", "nvtx", "duration", "gpu__time_duration.sum"} <= set(frame.columns)
    assert (frame["duration"] == frame["gpu__time_duration.sum"]).all()
    assert any("outer > inner" in ranges for ranges in frame["nvtx"].drop_nulls())
    run = ncugate.load_launches("profiles/softmax/h200", ["duration"])
    assert run.to_polars().filter(polars.col("nvtx").str.ends_with("@wide")).height > 0
    assert "<table" in run._repr_html_()
    with pytest.raises(ncugate.NcugateError):
        ncugate.load_launches("docs")


def test_pandas_gets_the_same_values():
    pytest.importorskip("pandas")
    table = ncugate.read_report("tests/data/full1.ncu-rep.zst", ["duration"], wide=True)
    assert table.to_pandas()["duration"][0] > 0


def test_a_missing_library_is_named_with_its_installation(monkeypatch):
    for name in ("polars", "pyarrow", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    table = ncugate.ArrowTable(b"")
    for read, package in ((table.to_polars, "polars"), (table.to_pyarrow, "pyarrow"), (table.to_pandas, "pandas")):
        with pytest.raises(ModuleNotFoundError, match=f"hint: pip install {package}"):
            read()


def test_a_result_finds_its_measurements(tmp_path):
    pytest.importorskip("polars")
    result = judged("configs/softmax.toml", tmp_path)
    shutil.copytree("profiles/softmax/h200", tmp_path / "profiles" / result.phase / result.run)
    here = dataclasses.replace(result, profiles=str(tmp_path / "profiles"))
    assert here.table().to_polars().height > 13
    assert "duration" in here.launches(["duration"]).to_polars().columns


PROFILED = """
import ncugate

def helper():
    raise AssertionError("only the profiled function is called")

@ncugate.profile(configs=[(1,), (2,)], metrics=["duration"], runs=2)
def bench(n, scale=3):
    with ncugate.annotate("first"):
        pass
    if n == 1:
        second()

@ncugate.annotate("second")
def second():
    pass

@ncugate.profile
def nothing():
    pass
"""

NVTX = """
import os

def push_range(name):
    with open(os.environ["NVTX_SEEN"], "a") as file:
        print("push", name, file=file)

def pop_range():
    with open(os.environ["NVTX_SEEN"], "a") as file:
        print("pop", file=file)
"""

PROGRAM = """#!{python}
import json, os, subprocess, sys

arguments = sys.argv[1:]
if arguments[:2] == ["tools", "profile"]:
    assert arguments[arguments.index("--range") + 1] == "ncugate" and "--metric=duration" in arguments
    sys.exit(subprocess.run(arguments[arguments.index("--") + 1:]).returncode and 3)
open_ranges, rows = [], []
for line in open(os.environ["NVTX_SEEN"]):
    if line.startswith("push "):
        open_ranges.append(line[5:-1])
        if open_ranges[-1] == "ncugate":
            rows.append({{"report": "r", "launch": len(rows), "kernel": "k", "grid_x": 1, "nvtx": " > ".join(open_ranges), "duration": 5.0}})
    else:
        open_ranges.pop()
print(json.dumps(rows))
"""


@pytest.fixture
def profiled(tmp_path, monkeypatch):
    (tmp_path / "profiled_functions.py").write_text(PROFILED)
    (tmp_path / "nvtx.py").write_text(NVTX)
    program = tmp_path / "program"
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("NCUGATE_BINARY", str(program))
    monkeypatch.setenv("NVTX_SEEN", str(tmp_path / "seen"))
    (tmp_path / "seen").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "profiled_functions", raising=False)
    import profiled_functions

    return profiled_functions


def test_a_profiled_function_gives_a_row_a_launch_with_its_configuration(profiled):
    table = profiled.bench()
    found = [(row["annotation"], row["n"], row["scale"], row["run"]) for row in table]
    each = [("first", 1, 3), ("second", 1, 3), ("first", 2, 3)]
    assert found == [(*one, run) for run in (0, 1) for one in each]
    assert table.columns[:5] == ["annotation", "n", "scale", "run", "launch"] and len(table) == 6
    assert "<th>annotation</th>" in table._repr_html_() and "6 launches" in table._repr_html_()
    for name, read in (("polars", table.to_polars), ("pandas", table.to_pandas)):
        pytest.importorskip(name)
        assert list(read()["duration"]) == [5.0] * 6


def test_a_configuration_without_an_annotated_launch_is_an_error(profiled):
    with pytest.raises(ncugate.NcugateError, match="the function: no launch in"):
        profiled.nothing()
    with pytest.raises(TypeError, match="missing a required argument"):
        profiled.bench(configs=[()])
    with pytest.raises(ValueError, match="no configuration"):
        profiled.bench(configs=[])
    with pytest.raises(ValueError, match="another process imports it"):
        ncugate.profile(lambda: None)()
    assert profiled.bench.function(1) is None, "without a profiler, annotations do nothing"
    for name in ("", "a:b", "a > b"):
        with pytest.raises(ValueError, match="annotation"):
            ncugate.annotate(name)


def test_the_examples_of_the_page_use_what_the_package_has():
    page = (ROOT / "docs/how-to/use-from-python.md").read_text()
    blocks = [block.split("```")[0] for block in page.split("```python\n")[1:]]
    assert len(blocks) == 3
    for block in blocks:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ncugate":
                assert hasattr(ncugate, node.attr), node.attr
    for name in ("table", "launches"):
        assert hasattr(ncugate.RunResult, name)


def test_a_path_is_never_an_option(tmp_path, monkeypatch):
    report = (ROOT / "tests/data/full1.ncu-rep.zst").read_bytes()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "--help").write_bytes(report)
    assert len(ncugate.read_report("--help").ipc) > 10_000
    for call in (ncugate.read_report, ncugate.load_run, ncugate.run):
        with pytest.raises(ncugate.NcugateError):
            call("--version")
    with pytest.raises(ncugate.NcugateError):
        ncugate.judge("--help", "--version")
    with pytest.raises(ncugate.NcugateError):
        ncugate.read_report("--help", ["--view"])


def test_a_nul_is_an_error_of_the_program():
    for call in (ncugate.read_report, ncugate.load_run, ncugate.run):
        with pytest.raises(ncugate.NcugateError, match="NUL"):
            call("a\0b")


def test_a_run_is_loaded_as_its_wide_table():
    pytest.importorskip("pyarrow")
    table = ncugate.load_run("profiles/softmax/h200").to_pyarrow()
    assert table.column_names[:2] == ["variant", "shape"]
    assert "latency_p50" in table.column_names and table.num_rows > 13
    with pytest.raises(ncugate.NcugateError) as raised:
        ncugate.load_run("docs")
    assert raised.value.status == 3


def judged(config, tmp_path):
    return ncugate.run(config, source="recorded", reports=tmp_path)


def test_a_phase_is_a_typed_result(tmp_path):
    result = judged("configs/cheats.toml", tmp_path)
    assert result.passed == (result.status == 0) == (result.verdict is ncugate.Verdict.PASS)
    assert result.phase == "cheats" and result.gates and result.results["schema"] >= 1
    page = result._repr_html_()
    assert "<table>" in page and result.gates[0].name.replace("&", "&amp;") in page
    failed = judged("configs/inversion.toml", tmp_path) if result.passed else result
    assert isinstance(failed.explanation(), str)


def test_text_of_a_run_is_escaped_in_a_notebook():
    gate = ncugate.Gate("<b>", "a < b", "required", ncugate.Verdict.FAIL, "<script>", 1.0, 2.0, None)
    result = ncugate.RunResult("<i>", "run", 1, ncugate.Verdict.FAIL, "a & b", "<v>", (gate,))
    page = result._repr_html_()
    assert "<script>" not in page and "<i>" not in page and "&lt;v&gt;" in page


def test_what_cannot_be_judged_is_an_error_and_never_a_pass(tmp_path):
    with pytest.raises(ncugate.NcugateError) as raised:
        ncugate.run("absent.toml", source="recorded", reports=tmp_path)
    assert raised.value.status == 2 and "absent.toml" in str(raised.value)
    # shown because this machine has no GPU: the recording's gates may pass, but nothing was measured
    shown = ncugate.run("configs/cheats.toml", source="auto", reports=tmp_path)
    assert not shown.passed and shown.verdict is not ncugate.Verdict.PASS


def test_the_fixture_fails_a_test_with_the_reason(pytester, tmp_path):
    pytester.makepyfile(
        f"""
        def test_fails(ncugate_gate, monkeypatch):
            monkeypatch.chdir({str(ROOT)!r})
            ncugate_gate("configs/softmax.toml", source="recorded", reports={str(tmp_path)!r})
        """
    )
    ran = pytester.runpytest_subprocess()
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["softmax: fail: *Required gate*"])


KERNEL = '''
import ncugate


class Jit:
    """As triton.jit wraps a function."""

    def __init__(self, fn):
        self.fn = fn

    def __getitem__(self, grid):
        return ("launched", grid)


@ncugate.kernel(
    shapes={"wide": {"R": 64, "C": 128}},
    buffers={"x": ncugate.Buffer("f32", ["R", "C"]), "y": ncugate.Buffer("f32", ["R", "C"], role="output")},
    args=["x", "y", "R", "C"],
    grid=["R"],
    sweep={"BLOCK": [128], "num_warps": [4, 8]},
    reference="softmax",
    tolerance={"max_abs": 2e-6},
    gates=["latency_p50 <= 30 us", {"name": "no spills", "require": "spills == 0", "on": "each"}],
)
@Jit
def softmax_row(x, y, R, C, BLOCK):
    pass
'''


def test_a_decorated_function_writes_a_phase_that_the_program_reads(tmp_path, monkeypatch):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "softmax.py").write_text(KERNEL)
    (tmp_path / "ncugate.toml").write_text("")
    monkeypatch.syspath_prepend(tmp_path / "kernels")
    import softmax

    assert softmax.softmax_row[(4,)] == ("launched", (4,))
    path = softmax.softmax_row.phase.write(tmp_path / "phases" / "softmax.toml")
    text = path.read_text()
    assert 'python = "kernels/softmax.py:softmax_row"' in text and "num_warps = [4, 8]" in text
    assert "2 candidates" in softmax.softmax_row.phase.check("--no-build")
    softmax.softmax_row.phase.tables["workload"]["tolerance"] = {"max_abs": "near"}
    softmax.softmax_row.phase.write(path)
    with pytest.raises(ncugate.NcugateError) as raised:
        softmax.softmax_row.phase.check("--no-build")
    assert raised.value.status == 2


def test_a_phase_of_triton_compiles_by_the_real_one(tmp_path, monkeypatch):
    python, nvcc = os.environ.get("NCUGATE_TEST_TRITON"), os.environ.get("NCUGATE_TEST_NVCC")
    if not (python and nvcc):
        pytest.skip("NCUGATE_TEST_TRITON and NCUGATE_TEST_NVCC name no Python with Triton and no nvcc")
    monkeypatch.setenv("PATH", os.path.dirname(nvcc), prepend=os.pathsep)
    import importlib.util

    source = (ROOT / "kernels/triton/softmax.py").read_text()
    (tmp_path / "own.py").write_text(source)
    spec = importlib.util.spec_from_loader("own", loader=None)
    module = importlib.util.module_from_spec(spec)
    exec(compile("def softmax_row(x, y, R, C, BLOCK, num_warps): pass\n", str(tmp_path / "own.py"), "exec"), module.__dict__)
    decorate = ncugate.kernel(
        shapes={"wide": {"R": 64, "C": 128}},
        buffers={"x": ncugate.Buffer("f32", ["R", "C"]), "y": ncugate.Buffer("f32", ["R", "C"], role="output")},
        args=["x", "y", "R", "C"],
        grid=["R"],
        sweep={"BLOCK": [128], "num_warps": [4]},
        reference="softmax",
        tolerance={"max_abs": 2e-6},
        gates=["spills == 0"],
        python=python,
    )
    phase = decorate(module.softmax_row).phase
    phase.write(tmp_path / "phase.toml")
    assert "pass         spills == 0" in phase.check("--arch", "sm_90")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_toml_does_not_have_is_not_written(value, tmp_path):
    def function():
        pass

    decorate = ncugate.kernel(
        shapes={"s": {"N": 1}},
        buffers={},
        args=[],
        grid=["N"],
        reference="copy",
        tolerance={"max_abs": value},
        gates=["spills == 0"],
    )
    with pytest.raises((ValueError, TypeError)):
        decorate(function).phase.write(tmp_path / "p.toml")


def test_a_phase_without_a_gate_is_refused():
    with pytest.raises(ValueError, match="judges nothing"):
        ncugate.kernel(shapes={}, buffers={}, args=[], grid=[], reference="copy", tolerance={}, gates=[])

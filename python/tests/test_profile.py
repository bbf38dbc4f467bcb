"""Functions under ncu: a double of the program calls them, and reads the NVTX ranges that they opened."""

import os
import pathlib
import subprocess
import sys

import pytest

import ncugate

ROOT = pathlib.Path(__file__).resolve().parents[2]


PROFILED = """
import dataclasses
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

def plain(n):
    with ncugate.annotate("plain"):
        return n

@dataclasses.dataclass
class Config:
    size: int

@ncugate.profile
def arrived(value):
    assert not isinstance(value, tuple) or value == (1, 2)
    assert not isinstance(value, Config) or value.size == 3
    with ncugate.annotate(type(value).__name__):
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
    assert arguments[arguments.index("--range") + 1] == "ncugate"
    open(os.environ["NVTX_SEEN"], "w").close()
    open(arguments[arguments.index("--output") + 1], "w").close()
    sys.exit(subprocess.run(arguments[arguments.index("--") + 1:]).returncode and 3)
if arguments[-1] == "arrow":
    # the units of the first real report with these metrics
    sys.exit(all(subprocess.run([{real!r}, "export", report, *arguments[2:]]).returncode for report in {reports!r}))
open_ranges, rows = [], []
for line in open(os.environ["NVTX_SEEN"]):
    if line.startswith("push "):
        open_ranges.append(line[5:-1])
        if open_ranges[-1] == "ncugate":
            row = {{"report": "r", "launch": len(rows), "kernel": "k", "grid_x": 1, "nvtx": " > ".join(open_ranges)}}
            rows.append({{**row, **{{argument[9:]: 5.0 for argument in arguments if argument.startswith("--metric=")}}}})
    else:
        open_ranges.pop()
print(json.dumps(rows))
"""


@pytest.fixture
def profiled(tmp_path, monkeypatch):
    (tmp_path / "profiled_functions.py").write_text(PROFILED)
    (tmp_path / "nvtx.py").write_text(NVTX)
    program = tmp_path / "program"
    reports = [str(ROOT / f"tests/data/{name}.ncu-rep.zst") for name in ("full1", "g12")]
    program.write_text(PROGRAM.format(python=sys.executable, real=str(ncugate.binary()), reports=reports))
    program.chmod(0o755)
    monkeypatch.setenv("NCUGATE_BINARY", str(program))
    monkeypatch.setenv("NVTX_SEEN", str(tmp_path / "seen"))
    (tmp_path / "seen").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "profiled_functions", raising=False)
    import profiled_functions

    return profiled_functions


def test_a_profiled_function_gives_a_row_a_launch_with_its_configuration(profiled, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = profiled.bench()
    assert not list(tmp_path.glob("ncugate-*")), "no file is left"
    found = [(row["annotation"], row["n"], row["scale"], row["run"]) for row in table]
    each = [("first", 1, 3), ("second", 1, 3), ("first", 2, 3)]
    assert found == [(*one, run) for run in (0, 1) for one in each]
    assert table.columns[:5] == ["annotation", "n", "scale", "run", "launch"] and len(table) == 6
    assert "<th>annotation</th>" in table._repr_html_() and "6 rows" in table._repr_html_()
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
    assert profiled.bench.function(1) is None, "without a profiler, annotations do nothing"
    for name in ("", "a:b", "a > b"):
        with pytest.raises(ValueError, match="annotation"):
            ncugate.annotate(name)


def test_launches_have_units(profiled):
    table = profiled.bench()
    assert table.units == {"duration": "ns"} and "duration (ns)" in table._repr_html_()
    assert "duration_ns" in table.with_unit_names().columns
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(table).schema.field("duration").metadata == {b"unit": b"ns"}


def test_a_text_is_one_metric_and_a_call_takes_keywords(profiled, monkeypatch):
    monkeypatch.setattr(profiled.bench, "metrics", ["duration"])
    assert ncugate.profile(metrics="duration")(profiled.plain).metrics == ["duration"]
    table = profiled.bench(n=4, scale=2)
    assert {(row["n"], row["scale"]) for row in table} == {(4, 2)}


def test_a_function_is_profiled_under_another_name(profiled):
    fast = ncugate.profile(metrics="duration")(profiled.plain)
    assert [row["annotation"] for row in fast(1)] == ["plain"]
    assert fast.function(3) == 3


def test_configurations_arrive_as_they_were(profiled):
    numpy = pytest.importorskip("numpy")
    values = [((1, 2),), ({1: "one"},), (numpy.int64(7),), (profiled.Config(3),), ({4},)]
    table = profiled.arrived(configs=values)
    assert [row["value"] for row in table] == [value for (value,) in values]
    assert [row["annotation"] for row in table] == ["tuple", "dict", "int64", "Config", "set"]
    for name, read in (("polars", table.to_polars), ("pyarrow", table.to_pyarrow), ("pandas", table.to_pandas)):
        pytest.importorskip(name)
        assert len(read()) == 5
    with pytest.raises(ValueError, match="the arguments cannot go to another process"):
        profiled.arrived(lambda: None)


@pytest.mark.parametrize("name", ["kernel", "duration", "run", "launch", "grid_x", "annotation", "nvtx", "configs"])
def test_a_parameter_with_the_name_of_a_column_is_refused_at_once(name):
    names = {}
    exec(f"def f({name}): pass", names)
    with pytest.raises(ValueError, match=f"f: the parameter `{name}` has the name of a column"):
        ncugate.profile(names["f"])


def test_a_module_of_a_package_is_imported_as_one(profiled, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "sizes.py").write_text("N = 5\n")
    (tmp_path / "pack" / "bench.py").write_text(
        "import ncugate\nfrom .sizes import N\n\n@ncugate.profile\ndef bench(n=N):\n"
        "    with ncugate.annotate('first'):\n        pass\n"
    )
    import pack.bench

    assert [row["n"] for row in pack.bench.bench()] == [5]


def test_a_function_in_a_function_goes_with_what_it_uses(profiled):
    size, double = 3, lambda n: 2 * n

    def bench(n):
        assert double(n) == 8 and size == 3
        with ncugate.annotate("inner"):
            pass

    assert len(ncugate.profile(bench)(4)) == 1


CELLS = [
    """import dataclasses, os
import ncugate
from decorators import Jit

@dataclasses.dataclass
class Config:
    size: int

class Base:
    def double(self, n):
        return 2 * n

LIMIT = Config(4)
n = open(os.devnull)  # a global that only has the name of a local
""",
    """class Twice(Base):
    pass

@Jit
def kernel_of_cell(x):
    return Twice().double(x)

def helper(n):
    assert "return Twice().double(x)" in kernel_of_cell.text()
    return kernel_of_cell.fn(n)

@ncugate.profile(metrics="duration")
def bench(config):
    n = config.size
    assert helper(n) == 2 * n <= 2 * LIMIT.size
    with ncugate.annotate("cell"):
        pass
""",
    "print('rows', [row['config'].size for row in bench(configs=[Config(1), Config(4)])])\n",
]

# As IPython does: a cell has lines in linecache, but no file.
NOTEBOOK = """
import linecache, sys, types
module = sys.modules["__main__"] = types.ModuleType("__main__")
for number, cell in enumerate({cells!r}):
    name = f"<cell {{number}}>"
    linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
    exec(compile(cell, name, "exec"), module.__dict__)
"""


def test_a_cell_of_a_notebook_is_profiled(profiled, tmp_path):
    # as triton.jit, which reads the source of its function
    (tmp_path / "decorators.py").write_text(
        "import inspect\n\nclass Jit:\n    def __init__(self, fn):\n        self.fn = fn\n        self.source = inspect.getsource(fn)\n\n"
        "    def text(self):\n        return self.source\n"
    )
    (tmp_path / "notebook.py").write_text(NOTEBOOK.format(cells=CELLS))
    ran = subprocess.run([sys.executable, str(tmp_path / "notebook.py")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert "rows [1, 4]" in ran.stdout, ran.stdout


def test_a_function_of_a_prompt_without_source_is_profiled(profiled, tmp_path):
    program = """import ncugate
LIMIT = (1, 2)
def helper(n=LIMIT):
    return n
@ncugate.profile(metrics="duration")
def bench(size, *, limit=7):
    assert helper() == (1, 2) and limit == 7
    assert "__builtins__" in globals(), "libraries look for it"
    with ncugate.annotate("prompt"):
        pass

print("rows", [row["size"] for row in bench(3)])
"""
    ran = subprocess.run([sys.executable], env={**os.environ, "PYTHONPATH": str(tmp_path)}, input=program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert "rows [3]" in ran.stdout, ran.stdout


def test_what_cannot_travel_is_named(profiled):
    handle = open(os.devnull)

    def bench():
        handle.read()

    with handle, pytest.raises(ValueError, match="the global `handle` cannot go to another process"):
        ncugate.profile(bench)()


def test_a_report_that_an_error_names_is_kept(profiled, tmp_path, monkeypatch):
    body = "#!/bin/sh\nwhile [ $1 != --output ]; do shift; done\necho launches > $2; echo \"error: ended; the report: $2\" >&2; exit 3\n"
    (tmp_path / "program").write_text(body)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ncugate.NcugateError, match="the report: ") as raised:
        profiled.bench(1)
    assert pathlib.Path(str(raised.value).split("the report: ")[1]).read_text() == "launches\n"


def test_progress_is_printed_to_standard_error(profiled, capsys):
    profiled.bench.progress = True
    profiled.bench(1)
    assert "bench: call 2 of 2" in capsys.readouterr().err
    profiled.bench.progress = None
    profiled.bench(1)
    assert capsys.readouterr().err == ""

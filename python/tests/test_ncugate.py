"""The package over the program that is installed with it, on the repository's recordings."""

import ast
import concurrent.futures
import copy
import dataclasses
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import time

import pytest

import ncugate

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


def test_pandas_gets_the_same_values(monkeypatch):
    pytest.importorskip("pandas")
    table = ncugate.read_report("tests/data/full1.ncu-rep.zst", ["duration"], wide=True)
    frame = table.to_pandas()
    assert frame["duration"][0] > 0 and frame.attrs == ncugate.LaunchTable(table.rows, table.units).to_pandas().attrs == {"units": {"duration": "ns"}}
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert list(table.to_pandas()["duration"]) == list(frame["duration"])


def test_a_missing_library_is_named_with_its_installation(monkeypatch):
    for name in ("polars", "pyarrow", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    table = ncugate.ArrowTable(b"")
    for read, package in ((table.to_polars, "polars"), (table.to_pyarrow, "pyarrow"), (table.to_pandas, "pandas")):
        with pytest.raises(ModuleNotFoundError, match=rf"hint: pip install 'ncugate\[{package}\]'"):
            read()


def test_a_result_finds_its_measurements(tmp_path):
    pytest.importorskip("polars")
    result = judged("configs/softmax.toml", tmp_path)
    shutil.copytree("profiles/softmax/h200", tmp_path / "profiles" / result.phase / result.run)
    here = dataclasses.replace(result, profiles=str(tmp_path / "profiles"), config=None)
    assert here.folder == str(tmp_path / "profiles" / result.phase / result.run)
    assert here.table().to_polars().height > 13
    assert "duration" in here.launches(["duration"]).to_polars().columns


@pytest.mark.parametrize("kind", ["recorded", "shown", "judged"])
def test_a_recording_has_its_tables_from_any_folder(kind, tmp_path, monkeypatch):
    if kind == "judged":
        result = ncugate.judge("configs/softmax.toml", "profiles/softmax/h200", reports=tmp_path)
    else:
        result = ncugate.run("configs/softmax.toml", source="recorded" if kind == "recorded" else "auto", reports=tmp_path)
    monkeypatch.chdir(tmp_path)
    assert result.folder == str(ROOT / "profiles/softmax/h200")
    assert len(result.table()) == 39 and result.table(units="columns").units["duration_ns"] == "ns"
    assert result.launches("duration").columns[:3] == ["variant", "shape", "repeat"]


def test_a_judged_report_has_its_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT / "examples/foreign_report")
    result = ncugate.judge("softmax.toml", "torch.ncu-rep.zst", reports=tmp_path)
    monkeypatch.chdir(tmp_path)
    rows = {row["variant"]: row for row in result.table()}
    assert set(rows) == {"softmax", "attention"} and rows["softmax"]["registers"] == 24
    assert result.table().units["duration"] == "ns"
    launches = [(row["launch"], row["variant"], row["repeat"]) for row in result.launches("duration")]
    assert (2, "softmax", 0) in launches and (4, "softmax", 1) in launches and (0, None, None) in launches
    assert "duration_ns" in result.launches("duration", units="columns").columns
    with pytest.raises(ncugate.NcugateError, match="no folder of run"):
        result.folder


def test_a_run_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho stage 1 >&2\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("NCUGATE_BINARY", str(program))
    with pytest.raises(ncugate.NcugateError, match="ncugate run: not done after 0.2 s"):
        ncugate.run("x.toml", timeout=0.2)


def test_an_interrupt_signals_the_program_once(tmp_path):
    program, seen = tmp_path / "program", tmp_path / "seen"
    handler = "def note(number, frame):\n    open(%r, 'a').write('signal\\n')\n    time.sleep(0.5)\n    sys.exit(3)\n" % str(seen)
    body = f"import signal, sys, time\n{handler}signal.signal(signal.SIGINT, note)\nsignal.signal(signal.SIGTERM, note)\n"
    program.write_text(f"#!{sys.executable}\n{body}open({str(tmp_path / 'started')!r}, 'w').close()\ntime.sleep(60)\n")
    program.chmod(0o755)
    script = "import ncugate\ntry:\n    ncugate.run('x.toml')\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    environment = {**os.environ, "NCUGATE_BINARY": str(program)}
    child = subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    while child.poll() is None and not (tmp_path / "started").exists():
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGINT)
    assert child.communicate(timeout=30)[0] == "interrupted\n"
    assert seen.read_text() == "signal\n"


def test_progress_of_a_run_is_printed_if_asked(tmp_path, capsys):
    ncugate.run("configs/softmax.toml", reports=tmp_path, progress=True)
    shown = capsys.readouterr().err
    ncugate.run("configs/softmax.toml", reports=tmp_path)
    assert "not measuring" in shown and capsys.readouterr().err == ""


def test_an_error_survives_a_process_pool(tmp_path):
    error = pickle.loads(pickle.dumps(ncugate.NcugateError(3, "x")))
    assert (error.status, str(error), str(ncugate.NcugateError(4))) == (3, "x", "ncugate ended with status 4")
    report = "tests/data/full1.ncu-rep.zst"
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        read = [pool.submit(ncugate.read_report, path) for path in (report, "absent.ncu-rep", report)]
    with pytest.raises(ncugate.NcugateError, match="absent.ncu-rep"):
        read[1].result()
    assert len(read[0].result()) == len(read[2].result()) > 1000


def test_a_text_is_one_metric():
    for table in (ncugate.read_report("tests/data/full1.ncu-rep.zst", "duration"), ncugate.load_launches("profiles/softmax/h200", "duration")):
        assert len(table) >= 1
    assert "duration" in ncugate.load_launches("profiles/softmax/h200", "duration").columns


def test_a_table_of_another_kind_is_an_error():
    report, run = "tests/data/full1.ncu-rep.zst", "profiles/softmax/h200"
    for load in (ncugate.load_run, ncugate.load_launches):
        with pytest.raises(ncugate.NcugateError, match="read_report reads it"):
            load(report)
    for wide in (False, True):
        with pytest.raises(ncugate.NcugateError, match="load_run and load_launches"):
            ncugate.read_report(run, wide=wide)


def test_every_time_of_a_table_has_one_unit():
    pyarrow = pytest.importorskip("pyarrow")
    table = ncugate.load_run("profiles/softmax/h200")
    units = {name: unit for name, unit in table.units.items() if "latency" in name or "duration" in name}
    assert set(units.values()) == {"ns"} and {"latency_p50", "duration"} <= set(units)
    row = table.to_pyarrow().to_pylist()[0]
    # the profiler's launch is slower, but not by a factor of 1000
    assert 0.1 < row["latency_p50"] / row["duration"] < 1
    for read in (table.to_pyarrow(), pyarrow.table(table)):
        assert read.schema.field("latency_p50").metadata == {b"unit": b"ns"}
    assert "latency_p50 (ns)" in table._repr_html_() and repr(table) == "<ncugate.ArrowTable of 39 rows and 50 columns>"
    wide = ncugate.read_report("tests/data/full1.ncu-rep.zst", wide=True).units
    assert (wide["duration"], wide["gpu__time_duration.sum"], wide["dram__bytes.sum.per_second"]) == ("ns", "ns", "byte/s")


@pytest.mark.parametrize("given", [["profiles/softmax/h200"], ["tests/data/full1.ncu-rep.zst", "--wide"]])
def test_a_parquet_file_has_the_units_of_its_columns(given, tmp_path):
    polars, parquet, pandas = map(pytest.importorskip, ("polars", "pyarrow.parquet", "pandas"))
    path = tmp_path / "table.parquet"
    subprocess.run([str(ncugate.binary()), "export", *given, "--to", "parquet", "-o", str(path)], check=True)
    units = ncugate.load_run(given[0]).units if len(given) == 1 else ncugate.read_report(given[0], wide=True).units
    assert len(units) > 10 and pandas.read_parquet(path).attrs == {"units": units}
    schema = parquet.read_schema(path)
    assert {field.name: field.metadata[b"unit"].decode() for field in schema if b"unit" in (field.metadata or {})} == units
    assert json.loads(polars.read_parquet_metadata(path)["PANDAS_ATTRS"]) == {"units": units}
    assert set(units) < set(polars.read_parquet(path).columns)


def test_units_are_in_the_names_of_columns_if_asked():
    polars = pytest.importorskip("polars")
    table = ncugate.load_run("profiles/softmax/h200", units="columns")
    assert {"latency_p50_ns", "duration_ns", "achieved_occupancy_pct", "dram_bytes", "bank_conflict_pct", "registers"} <= set(table.columns)
    assert table.to_polars().columns == table.columns == polars.DataFrame(table).columns == table.to_pyarrow().column_names
    assert table.units["duration_ns"] == "ns" and "duration_ns (ns)" not in table.columns
    with pytest.raises(ValueError, match="units is None or"):
        ncugate.load_run("profiles/softmax/h200", units="names")


def test_the_schema_read_here_is_that_of_pyarrow():
    pytest.importorskip("pyarrow")
    for table in (ncugate.load_run("profiles/phase_d/h200"), ncugate.read_report("tests/data/g12.ncu-rep.zst", wide=True)):
        read = table.to_pyarrow()
        assert (table.columns, len(table)) == (read.column_names, read.num_rows)
        assert table.units == {field.name: field.metadata[b"unit"].decode() for field in read.schema if field.metadata}
    for damaged in (b"", b"ARROW1", table.ipc[:-1], table.ipc[:-20] + table.ipc[-10:]):
        with pytest.raises(ValueError, match="not an Arrow IPC file"):
            ncugate.ArrowTable(damaged).columns


def test_launches_of_a_run_have_variant_shape_and_repeat():
    polars = pytest.importorskip("polars")
    frame = ncugate.load_launches("profiles/softmax/h200", "duration").to_polars()
    assert frame.columns[:3] == ["variant", "shape", "repeat"]
    assert (frame["variant"] + "@" + frame["shape"]).to_list() == frame["nvtx"].to_list()
    cases = frame.group_by("variant", "shape", "kernel").agg("repeat")
    assert all(sorted(repeats) == list(range(len(repeats))) for repeats in cases["repeat"]) and cases["repeat"].list.len().max() > 1


def test_an_empty_table_is_read_by_every_library(tmp_path):
    head = next(line for line in open("tests/data/direct.csv") if line.startswith('"ID"'))
    (tmp_path / "empty.csv").write_text(head)
    report = [ncugate.read_report(tmp_path / "empty.csv", wide=wide) for wide in (False, True)]
    for empty in (ncugate.LaunchTable([]), *report):
        for name, read in (("polars", empty.to_polars), ("pyarrow", empty.to_pyarrow), ("pandas", empty.to_pandas)):
            pytest.importorskip(name)
            assert len(read()) == len(empty) == 0
        assert "0 rows" in empty._repr_html_()


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
    assert copy.copy(softmax.softmax_row).phase is softmax.softmax_row.phase
    softmax.softmax_row.phase.tables["build"]["python"] = str(tmp_path / ".venv/bin/python3")
    assert 'python = ".venv/bin/python3"' in softmax.softmax_row.phase.text(path)
    softmax.softmax_row.phase.tables["build"]["python"] = sys.executable
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

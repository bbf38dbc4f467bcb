"""The package as it is installed: licences, metadata, types, and its own program."""

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

import ncugate
from ncugate._binary import comparable

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORT = ROOT / "tests/data/full1.ncu-rep.zst"


@pytest.fixture
def wheel():
    path = os.environ.get("NCUGATE_WHEEL")
    if not path:
        pytest.skip("NCUGATE_WHEEL names no wheel; .ci/wheel builds one")
    return path


def printed(program, path, **environment):
    """Output and errors of a Python program whose packages are first those of `path`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NCUGATE_")}
    command = [sys.executable, "-c", program]
    environment = {**kept, "PYTHONPATH": str(path), **environment}
    return subprocess.run(command, env=environment, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def test_the_version_is_that_of_the_program():
    said = subprocess.run([str(ncugate.binary()), "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert said == f"ncugate {ncugate.__version__}\n"


def test_a_version_of_cargo_is_compared_as_one_of_python():
    pairs = [("0.2.0-rc.1", "0.2.0rc1"), ("1.0.0-alpha.2", "1.0.0a2"), ("1.0.0-beta3", "1.0.0b3"), ("0.1.0", "0.1.0")]
    assert all(comparable(cargo) == comparable(python) == python for cargo, python in pairs)


def test_licences_and_metadata_are_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as content:
        files = {name.split(".dist-info/", 1)[1]: name for name in content.namelist() if ".dist-info/" in name}
        assert content.read(files["licenses/LICENSE"]) == (ROOT / "LICENSE").read_bytes()
        notices = content.read(files["licenses/THIRD-PARTY.md"]).decode()
    assert "polars-core" in notices and "NVTX" in notices and len(notices) > 100_000
    metadata = importlib.metadata.metadata("ncugate")
    holder = (ROOT / "LICENSE").read_text().splitlines()[2].split(" ", 3)[3]
    assert (metadata["Author"], metadata["License-Expression"]) == (holder, "MIT")
    assert any(url.startswith("Repository, https://") for url in metadata.get_all("Project-URL"))
    assert {"Typing :: Typed", "Framework :: Pytest"} <= set(metadata.get_all("Classifier"))
    assert {"pandas", "polars", "pyarrow"} <= set(metadata.get_all("Provides-Extra"))


PROGRAM = f"import ncugate; print(ncugate.binary()); print(ncugate.read_report({str(REPORT)!r}, 'duration', wide=True))"


def test_the_program_beside_the_package_is_found(wheel, tmp_path):
    target, archive = tmp_path / "target", tmp_path / "app.pyz"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target), wheel]
    subprocess.run(install, check=True)
    stub = tmp_path / "stub"
    stub.mkdir()
    (stub / "ncugate").write_text("#!/bin/sh\necho stub\n")
    (stub / "ncugate").chmod(0o755)
    said = printed(PROGRAM, target, PATH=f"{stub}{os.pathsep}{os.environ['PATH']}")
    assert said.splitlines() == [str(target / "bin" / "ncugate"), "<ncugate.ArrowTable of 1 rows and 11 columns>"]
    with zipfile.ZipFile(archive, "w") as content:
        for path in target.rglob("*"):
            content.write(path, path.relative_to(target))
    program, table = printed(PROGRAM, archive).splitlines()
    assert table == "<ncugate.ArrowTable of 1 rows and 11 columns>" and not os.path.exists(program), "unpacked, then deleted"


def test_a_program_of_another_version_is_named_and_not_used(tmp_path):
    shutil.copytree(pathlib.Path(ncugate.__file__).parent, tmp_path / "ncugate")
    (tmp_path / "ncugate-9.9.dist-info").mkdir()
    (tmp_path / "ncugate-9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: ncugate\nVersion: 9.9\n")
    (tmp_path / "path").mkdir()
    stub = tmp_path / "path" / "ncugate"
    stub.write_text("#!/bin/sh\necho ncugate 1.2.3\n")
    stub.chmod(0o755)
    program = "import ncugate; print(ncugate.__version__); ncugate.binary()"
    said = printed(program, tmp_path, PATH=str(stub.parent))
    assert said.startswith("9.9\n") and f"{stub} is version 1.2.3" in said and "FileNotFoundError" in said
    stub.write_text("#!/bin/sh\necho ncugate 9.9\n")
    assert printed(program + "; print(ncugate.binary())", tmp_path, PATH=str(stub.parent)).splitlines()[-1] == str(stub)


SCRIPT = """
from pathlib import Path
from typing import Any, Dict, List, Optional
import ncugate

version: str = ncugate.__version__
program: Path = ncugate.binary()
try:
    result: ncugate.RunResult = ncugate.run("phase.toml", source="recorded", timeout=60.0)
except ncugate.NcugateError as error:
    status: int = error.status
    raise SystemExit(error.message)
gates: List[ncugate.Gate] = [gate for gate in result.gates if gate.verdict is not ncugate.Verdict.PASS]
selected: Optional[str] = result.selected
launches: ncugate.Table = result.launches("duration", units="columns")
judged: bool = ncugate.judge("phase.toml", Path("run"), against="base").passed

measured: ncugate.ArrowTable = ncugate.load_run("run")
unit = measured.units["duration"].upper()
profiled: ncugate.LaunchTable = ncugate.load_launches("run", "duration").derive("us", lambda row: row["duration"] / 1e3, "us")
rows: List[Dict[str, Any]] = ncugate.read_report("r.ncu-rep", ["duration"], wide=True).rows
names: List[str] = ncugate.read_detail("r.ncu-rep", "disasm").columns + ncugate.read_rules("r.ncu-rep").splitlines()
heights: int = measured.to_polars().height + len(measured.to_pandas())

@ncugate.profile(configs=[(1,)], metrics="duration", runs=3)
def bench(n: int) -> float:
    with ncugate.annotate("first"):
        return 2.0 * n

table: ncugate.LaunchTable = bench(n=1)
ratios: ncugate.LaunchTable = table.normalize_against("duration", annotation="first").summary(by=["n"])
plain: float = bench.function(1)
fast = ncugate.profile(bench.function)
configured: ncugate.LaunchTable = fast(configs=[1, 2])

@ncugate.annotate("second")
def second(n: int) -> int:
    return n

more: int = second(3)

@ncugate.kernel(
    shapes={"wide": {"N": 64}}, buffers={"x": ncugate.Buffer("f32", ["N"])}, args=["x"], grid=["N"],
    reference="copy", tolerance={"max_abs": 0}, gates=["spills == 0", {"require": "latency_p50 <= 3 us", "on": "each"}],
)
def copied(x: Any) -> None: ...

phase: ncugate.Phase = copied.phase
written: Path = phase.write("phase.toml")
"""
WRONG = """
import ncugate
ncugate.read_report(3)
ncugate.run("x", source=1)
x: int = ncugate.load_run("r").units
"""


@pytest.mark.parametrize("checker", [["mypy", "--strict"], ["pyright", "--pythonpath", sys.executable]], ids=lambda words: words[0])
def test_a_type_checker_accepts_a_script_of_every_name_and_finds_its_mistakes(checker, tmp_path):
    pytest.importorskip(checker[0])
    assert all(f"ncugate.{name}" in SCRIPT for name in ncugate.__all__)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "reportUnusedVariable": false}')
    for name, text, errors in (("script.py", SCRIPT, 0), ("wrong.py", WRONG, 3)):
        (tmp_path / name).write_text(text)
        command = [sys.executable, "-m", *checker, name]
        said = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        found = [line for line in said.splitlines() if ": error: " in line or " - error: " in line]
        assert len(found) == errors and f"{errors} error" in said.replace("no issues", "0 error"), said

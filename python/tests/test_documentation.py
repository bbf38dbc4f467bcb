"""Every snippet in Python of the documentation runs, and so do the notebooks, on recordings and with a double of PyTorch.

The fixture of pytest in a snippet is called in test_pytest.py.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from ncugate import _toml
from test_profile import profiled  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = """
import numpy

class Tensor:
    def __matmul__(self, other): return self
    def __rmul__(self, other): return self

def randn(*shape, device): return Tensor()
def empty_like(x): return x

def softmax(x, dim, out=None):
    if isinstance(x, Tensor): return x
    found = numpy.exp(x) / numpy.exp(x).sum(axis=dim, keepdims=True)
    if out is not None: out[:] = found
    return found

class testing:
    assert_close = staticmethod(lambda own, expected: None)

class cuda:
    import nvtx
    nvtx.range_push, nvtx.range_pop = nvtx.push_range, nvtx.pop_range
    is_available = staticmethod(lambda: False)
    get_device_name = staticmethod(lambda: "a double")
"""
TRITON = """
import inspect

class JITFunction:
    def __init__(self, fn):
        self.fn, self.source = fn, inspect.getsource(fn)

    def __getitem__(self, grid):
        return lambda *given, **options: inspect.signature(self.fn).bind(*given, BLOCK=options["BLOCK"])

def jit(fn): return JITFunction(fn)
def next_power_of_2(n): return 1 << (n - 1).bit_length()
"""


def snippets(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path):
    """A project with the files of the snippets and notebooks, and modules named torch and triton."""
    for name in ("profiles", "configs", "kernels", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "ncugate.toml").write_text("")
    (tmp_path / "phase.toml").write_text((ROOT / "configs/softmax.toml").read_text())
    (tmp_path / "report.ncu-rep").symlink_to(ROOT / "tests/data/full1.ncu-rep.zst")
    (tmp_path / "torch.py").write_text(TORCH)
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text(TRITON)
    (tmp_path / "triton" / "language.py").write_text("constexpr = int\n")
    return tmp_path


def matrix():
    return pytest.importorskip("numpy").array([[1.0, 3.0], [5.0, 2.0]])


def tensors(names):
    """Functions over tensors of the documentation return or write their output."""
    x = matrix()
    assert names["softmax"](x, -1).sum() == pytest.approx(2)
    y = 0 * x
    names["softmax_into"](x, y)
    assert (y == names["softmax"](x, -1)).all()


def own_check(names):
    """The check of outputs accepts a maximum and names a row without one."""
    x = matrix()
    largest = x.max(axis=1)
    assert names["is_a_maximum"]({"place": x.argmax(axis=1)}, {"largest": largest}, x) == ""
    assert names["is_a_maximum"]({"place": x.argmin(axis=1)}, {"largest": largest}, x) == "row 0 has a larger element"


# Pages with snippets in Python: their number, and calls of the functions that they define.
PAGES = {
    "docs/correctness.md": (1, own_check),
    "docs/how-to/compare-with-pytorch.md": (1, lambda names: names["softmax"](matrix())),
    "docs/how-to/use-from-python.md": (3, lambda names: names["fast"](256)),
    "docs/python.md": (4, tensors),
    "docs/tutorial.md": (1, lambda names: names["reference"](matrix(), matrix(), 2)),
}


def test_no_page_has_a_snippet_that_is_not_run():
    found = {str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md") if snippets(path, "python")}
    assert found == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_each_snippet_of_python_runs(page, profiled, project, monkeypatch):  # noqa: F811
    count, call = PAGES[page]
    for name in ("polars", "pandas"):
        pytest.importorskip(name)
    monkeypatch.chdir(project)
    double = os.environ.pop("NCUGATE_BINARY")
    import torch

    blocks = snippets(page, "python")
    assert len(blocks) == count
    names = {"__name__": "__main__", "torch": torch, "np": pytest.importorskip("numpy")}
    for number, block in enumerate(blocks):
        is_profiled = "@ncugate.profile" in block
        monkeypatch.setenv("NCUGATE_BINARY", double) if is_profiled else monkeypatch.delenv("NCUGATE_BINARY", raising=False)
        (project / f"block{number}.py").write_text(block)
        exec(compile(block, str(project / f"cell{number}"), "exec"), names)
    monkeypatch.setenv("NCUGATE_BINARY", double)
    call(names)


def test_each_snippet_of_toml_is_toml():
    blocks = snippets("docs/python.md", "toml")
    assert len(blocks) >= 6
    try:
        tables = [_toml.read(block) for block in blocks]
    except ValueError as error:
        pytest.skip(str(error))
    assert all(table.keys() & {"kernel", "build", "baseline"} for table in tables)


def shown(notebook, folder):
    """What the cells of a notebook show, run by the script that runs them on a machine with a GPU."""
    command = [sys.executable, str(ROOT / "tests/notebook.py"), str(ROOT / "examples" / notebook)]
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(folder)}
    ran = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def test_the_notebook_without_a_gpu_runs_from_top_to_bottom(project):
    pytest.importorskip("polars")
    text = shown("tables.ipynb", project)
    assert "\nfail\n" in text and "softmax: fail" in text and "inst_executed" in text


def test_the_notebook_for_a_gpu_runs_with_doubles(profiled, project):  # noqa: F811
    text = shown("profile.ipynb", project)
    assert "<p>90 rows, 10 columns</p>" in text and "bandwidth" in text and "duration_ratio" in text
    # nine configurations of two annotations, five times each
    assert text.count("<td>triton</td><td>1024</td><td>4</td><td>k</td><td>duration</td><td>ns</td><td>5</td>") == 1


def test_the_same_work_is_written_with_other_tools(profiled, project):  # noqa: F811
    """The scripts of the comparison parse, the page shows parts of them, and ours runs."""
    scripts = {path.name: path.read_text() for path in (ROOT / "tests/gpu/comparison").glob("*.py")}
    blocks = snippets("docs/comparison.md", "py")
    assert len(scripts) == len(blocks) == 3
    for name, text in scripts.items():
        compile(text, name, "exec")
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith('"""')]
        assert f"| `{name}` | {len(lines)} |" in (ROOT / "docs/comparison.md").read_text()
    for block in blocks:
        shown = {line.strip() for line in block.splitlines()}
        assert any(shown <= {line.strip() for line in text.splitlines()} for text in scripts.values()), block
    ours = [sys.executable, str(ROOT / "tests/gpu/comparison/with_ncugate.py")]
    ran = subprocess.run(ours, env={**os.environ, "PYTHONPATH": str(project)}, stdout=subprocess.PIPE, text=True, check=True)
    assert ran.stdout.startswith("1024,gpu__time_duration.sum,5.0,ns\n1024,dram__bytes_read.sum,5.0,byte\n")

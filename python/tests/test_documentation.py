"""Every snippet in Python of the documentation runs, and so do the notebooks, on recordings and with a double of PyTorch.

The fixture of pytest in a snippet is called in test_pytest.py.
"""

import json
import os
import pathlib
import re

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

def softmax(x, dim, out=None):
    found = numpy.exp(x) / numpy.exp(x).sum(axis=dim, keepdims=True)
    if out is not None: out[:] = found
    return found

class cuda:
    is_available = staticmethod(lambda: False)
    import nvtx
"""


def snippets(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


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
def test_each_snippet_of_python_runs(page, profiled, tmp_path, monkeypatch):  # noqa: F811
    count, call = PAGES[page]
    for name in ("polars", "pandas"):
        pytest.importorskip(name)
    for name in ("profiles", "configs", "kernels"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "ncugate.toml").write_text("")
    (tmp_path / "phase.toml").write_text((ROOT / "configs/softmax.toml").read_text())
    (tmp_path / "report.ncu-rep").symlink_to(ROOT / "tests/data/full1.ncu-rep.zst")
    (tmp_path / "torch.py").write_text(TORCH.replace("import nvtx", "import nvtx\n    nvtx.range_push, nvtx.range_pop = nvtx.push_range, nvtx.pop_range"))
    monkeypatch.chdir(tmp_path)
    double = os.environ.pop("NCUGATE_BINARY")
    import torch

    blocks = snippets(page, "python")
    assert len(blocks) == count
    names = {"__name__": "__main__", "torch": torch, "np": pytest.importorskip("numpy")}
    for number, block in enumerate(blocks):
        is_profiled = "@ncugate.profile" in block
        monkeypatch.setenv("NCUGATE_BINARY", double) if is_profiled else monkeypatch.delenv("NCUGATE_BINARY", raising=False)
        (tmp_path / f"block{number}.py").write_text(block)
        exec(compile(block, str(tmp_path / f"cell{number}"), "exec"), names)
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


def test_the_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch):
    pytest.importorskip("polars")
    monkeypatch.setenv("MPLBACKEND", "agg")
    # any folder of the repository will do
    monkeypatch.chdir(ROOT / "examples")
    notebook = json.loads((ROOT / "examples/tables.ipynb").read_text())
    names = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "outputs are not kept"
            text = "".join(cell["source"]).replace('reports="reports"', f"reports={str(tmp_path)!r}")
            exec(compile(text, cell["id"], "exec"), names)
    assert str(names["result"].verdict) == "fail" and len(names["lines"]) > 0

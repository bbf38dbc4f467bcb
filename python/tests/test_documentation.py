"""Every snippet of the pages on Python runs, and so does the notebook, on recordings and with a double of PyTorch."""

import json
import os
import pathlib
import re

import pytest

from ncugate import _toml
from test_profile import profiled  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = """
class Tensor:
    def __matmul__(self, other): return self
    def __rmul__(self, other): return self

def randn(*shape, device): return Tensor()

class cuda:
    is_available = staticmethod(lambda: False)
    import nvtx
"""


def snippets(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page, count", [("docs/python.md", 4), ("docs/how-to/use-from-python.md", 3)])
def test_each_snippet_of_python_runs(page, count, profiled, tmp_path, monkeypatch):  # noqa: F811
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
    names = {"__name__": "__main__", "torch": torch}
    for number, block in enumerate(blocks):
        is_profiled = "@ncugate.profile" in block
        monkeypatch.setenv("NCUGATE_BINARY", double) if is_profiled else monkeypatch.delenv("NCUGATE_BINARY", raising=False)
        (tmp_path / f"block{number}.py").write_text(block)
        exec(compile(block, str(tmp_path / f"cell{number}"), "exec"), names)


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

"""Tables from the program, as Arrow."""

from __future__ import annotations

import html
import importlib
import io
import os
from typing import TYPE_CHECKING, Any, List, Optional, Sequence

from ._binary import PathLike, output, positional

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


def library(name: str) -> Any:
    """A module that the user installs."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.split(".")[0]
        raise ModuleNotFoundError(f"{error}; hint: pip install {package}", name=error.name) from None


class ArrowTable:
    """A table as an Arrow IPC file in memory.

    Reading it needs `polars` or `pyarrow`. With either of them, `__arrow_c_stream__` passes it to any library with
    the Arrow PyCapsule interface: `polars.DataFrame(table)`, `pyarrow.table(table)`, DuckDB, pandas 3.
    """

    def __init__(self, ipc: bytes) -> None:
        self.ipc = ipc
        """The bytes of the IPC file (Feather 2)."""

    def to_pyarrow(self) -> "pyarrow.Table":
        """A pyarrow table over the same memory."""
        ipc = library("pyarrow.ipc")
        return ipc.open_file(library("pyarrow").py_buffer(self.ipc)).read_all()

    def to_polars(self) -> "polars.DataFrame":
        """A polars data frame."""
        return library("polars").read_ipc(io.BytesIO(self.ipc))

    def to_pandas(self) -> "pandas.DataFrame":
        """A pandas data frame; needs pyarrow or polars."""
        try:
            return self.to_pyarrow().to_pandas()
        except ImportError:
            return library("pandas").DataFrame(self.to_polars().to_dict(as_series=False))

    def _repr_html_(self) -> str:
        for read in (self.to_polars, self.to_pandas):
            try:
                frame: Any = read()
            except ImportError:
                continue
            return frame._repr_html_()
        return f"<pre>{html.escape(repr(self))}</pre>"

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> Any:
        for read in (self.to_pyarrow, self.to_polars):
            try:
                table: Any = read()
            except ImportError:
                continue
            return table.__arrow_c_stream__(requested_schema)
        raise ImportError("an Arrow stream needs pyarrow or polars: pip install 'ncugate[pyarrow]'")

    def __repr__(self) -> str:
        return f"<ncugate.ArrowTable of {len(self.ipc)} bytes>"


def read_report(path: PathLike, metrics: Sequence[str] = (), *, wide: bool = False) -> ArrowTable:
    """The launches of an ncu report (`.ncu-rep`, `.ncu-repz`) or of ncu's CSV: a row a launch and metric, in base units.

    `metrics` are names (`achieved_occupancy`), names of ncu, or globs; the default is every metric. With `wide`, a row is a
    launch: columns for grid, block and NVTX ranges, and one a metric, by default also those of ncugate (`duration`).
    Raises NcugateError if the file is not a report or is damaged.
    """
    arguments: List[PathLike] = ["export", positional(path), "--to", "arrow"]
    for metric in metrics:
        arguments.append(f"--metric={metric}")
    if wide:
        arguments.append("--wide")
    return ArrowTable(output(arguments))


def load_launches(folder: PathLike, metrics: Sequence[str] = ()) -> ArrowTable:
    """The launches in all reports of a run or recording, as `read_report(..., wide=True)` gives them.

    Raises NcugateError if the folder is not a run, or has no report.
    """
    arguments: List[PathLike] = ["export", positional(folder), "--to", "arrow", "--wide"]
    return ArrowTable(output([*arguments, *(f"--metric={metric}" for metric in metrics)]))


def load_run(folder: PathLike) -> ArrowTable:
    """All measurements of a run or recording: a row for each variant and shape, a column for each parameter and metric.

    A missing metric is null, with the reason in the column `METRIC.reason`. Raises NcugateError if the folder is not
    a run.
    """
    return ArrowTable(output(["export", positional(folder), "--to", "arrow"]))

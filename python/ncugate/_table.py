"""Tables: measurements and launches, with their units."""

from __future__ import annotations

import functools
import html
import importlib
import io
import json
import os
import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, Union, get_args

from . import _arrow, _statistics
from ._binary import NcugateError, PathLike, output, positional

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Metrics = Union[str, Sequence[str]]
Detail = Literal["sources", "metrics", "stalls", "disasm"]
SHOWN_ROWS, SHOWN_COLUMNS = 20, 16


def library(name: str) -> Any:
    """A module that the user installs."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.split(".")[0]
        hint = f"'ncugate[{package}]'" if package in ("polars", "pyarrow", "pandas") else package
        raise ModuleNotFoundError(f"{error}; hint: pip install {hint}", name=error.name) from None


def metric_options(metrics: Metrics) -> List[str]:
    """Options of the program for metrics; a text is one name."""
    return [f"--metric={metric}" for metric in ([metrics] if isinstance(metrics, str) else metrics)]


def unit_name(column: str, unit: str) -> str:
    """The name of a column with its unit: `duration_ns`, `dram_throughput_pct`. `dram_bytes` and `registers` have it already."""
    suffix = unit.replace("%", "pct").replace("/", "_per_")
    counted = unit.split("/")[0].lower()
    is_named = column.endswith(suffix) or (len(counted) > 2 and counted in column.lower())
    return column if is_named else f"{column}_{suffix}"


def unit_names(units: Mapping[str, str]) -> Dict[str, str]:
    """The names of columns with their units, from the units of all columns; a name that another column has is not taken."""
    names = {name: unit_name(name, unit) if unit else name for name, unit in units.items()}
    return {name: name if new in units else new for name, new in names.items()}


class Table:
    """Rows with named columns, some of which have units.

    Every time is in ns, a latency too, because all counters of a report are in ncu's base units: columns of one table, or of a
    run and of its reports, can be compared.
    """

    @property
    def columns(self) -> List[str]:
        """The names of all columns."""
        raise NotImplementedError

    @property
    def units(self) -> Dict[str, str]:
        """The units of the columns that have one, as ncu writes them: `{"duration": "ns"}`."""
        raise NotImplementedError

    @property
    def rows(self) -> List[Dict[str, Any]]:
        """The rows, a dictionary each; a missing value is `None`. Needs polars or pyarrow if the table is an `ArrowTable`."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self.rows)

    def to_pyarrow(self) -> "pyarrow.Table":
        """A pyarrow table; the metadata of its fields has the units."""
        raise NotImplementedError

    def to_polars(self) -> "polars.DataFrame":
        """A polars data frame."""
        raise NotImplementedError

    def to_pandas(self) -> "pandas.DataFrame":
        """A pandas data frame, whose `attrs["units"]` has the units."""
        raise NotImplementedError

    def summary(self, metrics: Metrics = (), by: Optional[Sequence[str]] = None) -> "LaunchTable":
        """Repeats combined: a row for each group and metric, with `unit`, `count`, `mean`, `median`, `std`, `min`, `max`, and `low` and
        `high`, the 95 % confidence interval of the mean by Student's t.

        Groups are rows with equal values in the columns `by`: by default annotation, configuration, variant, shape and kernel.
        """
        by = list(by if by is not None else self._groups())
        names = _statistics.metrics_of(self, [metrics] if isinstance(metrics, str) else list(metrics), by)
        rows = []
        for key, members in _statistics.groups(self.rows, by):
            for name in names:
                values = [row[name] for row in members if _statistics.is_number(row.get(name))]
                rows.append({**key, "metric": name, "unit": self.units.get(name, ""), **_statistics.summarize(values)})
        return LaunchTable(rows)

    def derive(self, name: str, function: Callable[[Mapping[str, Any]], Any], unit: str = "") -> "LaunchTable":
        """The table with another column: `derive("bandwidth", lambda row: row["dram_bytes"] / row["duration"], "byte/ns")`.

        The value is `None` where the function reads a missing value or divides by zero.
        """
        if name in self.columns:
            raise ValueError(f"the table has a column {name!r}; name the new one differently")
        rows = [{**row, name: _statistics.derived(row, function)} for row in self.rows]
        return LaunchTable(rows, {**self.units, name: unit}, [*self.columns, name], self._groups())

    def normalize_against(self, metrics: Metrics = (), **reference: Any) -> "LaunchTable":
        """The table with a column `METRIC_ratio` for each metric: its value over the reference's mean in the same group.

        `normalize_against("duration", annotation="torch")`: 0.5 takes half the time of the launches under `torch` with the same
        configuration. Without a reference in its group, a ratio is `None`. Raises ValueError if no row is a reference.
        """
        by = [name for name in self._groups() if name not in reference and (name != "kernel" or "annotation" not in reference)]
        names = _statistics.metrics_of(self, [metrics] if isinstance(metrics, str) else list(metrics), [*by, *reference])
        rows = []
        matches = [row for row in self.rows if all(row[name] == value for name, value in reference.items())]
        if not matches:
            raise ValueError(f"no row has {', '.join(f'{name}={value!r}' for name, value in reference.items())}")
        references = {repr(key): members for key, members in _statistics.groups(matches, by)}
        for row in self.rows:
            members = references.get(repr({name: row.get(name) for name in by}), [])
            pairs = {name: {"value": row.get(name), "mean": _statistics.mean(members, name)} for name in names}
            ratio = {f"{name}_ratio": _statistics.derived(pair, lambda pair: pair["value"] / pair["mean"]) for name, pair in pairs.items()}
            rows.append({**row, **ratio})
        return LaunchTable(rows, self.units, [*self.columns, *(f"{name}_ratio" for name in names)], self._groups())

    def plot(self, y: str = "duration", *, x: str, by: Optional[str] = None, axes: Any = None) -> Any:
        """Means of a metric over a column, with confidence intervals, a line for each value of `by`; returns the axes of matplotlib."""
        return _statistics.plot(self.summary(y, [x, *([by] if by else [])]), x, y, by, axes, library)

    def _groups(self) -> List[str]:
        """Columns whose values make a launch a repeat of another."""
        return [name for name in _statistics.GROUPS if name in self.columns]

    def _head(self) -> List[Dict[str, Any]]:
        return self.rows[:SHOWN_ROWS]

    def _repr_html_(self) -> str:
        def text(value: object) -> str:
            return html.escape(f"{value:,.6g}" if isinstance(value, float) else "" if value is None else str(value))

        shown, units = self.columns[:SHOWN_COLUMNS], self.units
        head = "".join(f"<th>{html.escape(name)}{html.escape(f' ({units[name]})') if name in units else ''}</th>" for name in shown)
        try:
            rows = self._head()
        except ImportError as error:
            return f"<p>{html.escape(repr(self))}; its rows need a library: {html.escape(str(error))}</p><table><tr>{head}</tr></table>"
        body = "".join("<tr>" + "".join(f"<td>{text(row.get(name))}</td>" for name in shown) + "</tr>" for row in rows)
        return f"<p>{len(self)} rows, {len(self.columns)} columns</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> Any:
        try:
            table: Any = self.to_pyarrow()
        except ImportError:
            table = self.to_polars()
        return table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<ncugate.{type(self).__name__} of {len(self)} rows and {len(self.columns)} columns>"


class ArrowTable(Table):
    """A table as an Arrow IPC file in memory.

    Reading it needs `polars` or `pyarrow`. With either of them, `__arrow_c_stream__` passes it to any library with
    the Arrow PyCapsule interface: `polars.DataFrame(table)`, `pyarrow.table(table)`, DuckDB, pandas 3. Columns, units and the
    number of rows need no library. With `units="columns"`, a column that has a unit ends with it.
    """

    def __init__(self, ipc: bytes, units: Optional[str] = None) -> None:
        if units not in (None, "columns"):
            raise ValueError(f'units is None or "columns", not {units!r}')
        self.ipc = ipc
        """The bytes of the IPC file (Feather 2), whose fields have their unit as metadata."""
        self._has_unit_names = units is not None

    @functools.cached_property
    def _schema(self) -> Tuple[Dict[str, str], int]:
        return _arrow.schema(self.ipc)

    @property
    def _names(self) -> Dict[str, str]:
        """The names of the columns by those in the file."""
        columns = self._schema[0]
        return unit_names(columns) if self._has_unit_names else {name: name for name in columns}

    @property
    def columns(self) -> List[str]:
        return list(self._names.values())

    @property
    def units(self) -> Dict[str, str]:
        return {self._names[name]: unit for name, unit in self._schema[0].items() if unit}

    @property
    def rows(self) -> List[Dict[str, Any]]:
        return self._dictionaries(None)

    def _head(self) -> List[Dict[str, Any]]:
        return self._dictionaries(SHOWN_ROWS)

    def _dictionaries(self, count: Optional[int]) -> List[Dict[str, Any]]:
        try:
            frame = self.to_polars()
            return (frame if count is None else frame.head(count)).to_dicts()
        except ImportError:
            table = self.to_pyarrow()
            return list((table if count is None else table.slice(0, count)).to_pylist())

    def __len__(self) -> int:
        return self._schema[1]

    def to_pyarrow(self) -> "pyarrow.Table":
        """A pyarrow table over the same memory; the metadata of its fields has the units."""
        ipc = library("pyarrow.ipc")
        table = ipc.open_file(library("pyarrow").py_buffer(self.ipc)).read_all()
        return table.rename_columns(self.columns)

    def to_polars(self) -> "polars.DataFrame":
        """A polars data frame."""
        return library("polars").read_ipc(io.BytesIO(self.ipc)).rename(self._names)

    def to_pandas(self) -> "pandas.DataFrame":
        """A pandas data frame; needs pyarrow or polars too."""
        pandas = library("pandas")
        try:
            frame: Any = self.to_pyarrow().to_pandas()
        except ModuleNotFoundError:
            frame = pandas.DataFrame(self.rows, columns=self.columns)
        frame.attrs["units"] = self.units
        return frame


class LaunchTable(Table):
    """Rows in memory: launches with their metrics, or variants of a judged report."""

    def __init__(
        self,
        rows: List[Dict[str, Any]],
        units: Optional[Mapping[str, str]] = None,
        columns: Optional[Sequence[str]] = None,
        groups: Optional[Sequence[str]] = None,
    ) -> None:
        self._contents = rows
        self._columns = list(columns) if columns is not None else list(dict.fromkeys(name for row in rows for name in row))
        self._units = {name: unit for name, unit in (units or {}).items() if unit and name in self._columns}
        self._keys = groups

    def _groups(self) -> List[str]:
        return list(self._keys) if self._keys is not None else super()._groups()

    def with_unit_names(self) -> "LaunchTable":
        """The same table; a column that has a unit ends with it."""
        new = unit_names({name: self._units.get(name, "") for name in self._columns})
        rows = [{new[name]: value for name, value in row.items()} for row in self._contents]
        return LaunchTable(rows, {new[name]: unit for name, unit in self._units.items()}, list(new.values()), self._keys)

    @property
    def columns(self) -> List[str]:
        return list(self._columns)

    @property
    def units(self) -> Dict[str, str]:
        return dict(self._units)

    @property
    def rows(self) -> List[Dict[str, Any]]:
        return self._contents

    def __len__(self) -> int:
        return len(self._contents)

    def _series(self) -> Dict[str, List[Any]]:
        """Columns for Arrow, which has no type for most objects of Python: these are texts."""
        series = {name: [_arrow_value(row.get(name)) for row in self._contents] for name in self._columns}
        for name, values in series.items():
            kinds = {float if type(value) is int else type(value) for value in values if value is not None}
            if len(kinds) > 1:
                series[name] = [value if value is None else str(value) for value in values]
        return series

    def to_pyarrow(self) -> "pyarrow.Table":
        arrow = library("pyarrow")
        arrays = {name: arrow.array(values) for name, values in self._series().items()}
        units = {name: {"unit": unit} for name, unit in self._units.items()}
        fields = [arrow.field(name, array.type, metadata=units.get(name)) for name, array in arrays.items()]
        return arrow.Table.from_arrays(list(arrays.values()), schema=arrow.schema(fields))

    def to_polars(self) -> "polars.DataFrame":
        return library("polars").DataFrame(self._series(), strict=False)

    def to_pandas(self) -> "pandas.DataFrame":
        frame: Any = library("pandas").DataFrame(self._contents, columns=self._columns)
        frame.attrs["units"] = self.units
        return frame


def _arrow_value(value: Any) -> Any:
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _exported(path: PathLike, options: Sequence[str], first: Sequence[str], units: Optional[str], instead: str) -> ArrowTable:
    """The table of a run or report, which begins with the columns `first`; another kind of table is an error."""
    table = ArrowTable(output(["export", positional(path), "--to", "arrow", *options]), units)
    if table.columns[: len(first)] != list(first):
        raise NcugateError(2, f"`{os.fsdecode(path)}` {instead}")
    return table


def read_report(path: PathLike, metrics: Metrics = (), *, wide: bool = False, units: Optional[str] = None) -> ArrowTable:
    """The launches of an ncu report (`.ncu-rep`, `.ncu-repz`) or of ncu's CSV: a row a launch and metric, in base units.

    `metrics` are names (`achieved_occupancy`), names of ncu, or globs; the default is every metric. With `wide`, a row is a
    launch: columns for grid, block and NVTX ranges, and one a metric, by default also those of ncugate (`duration`); with
    `units="columns"` its columns end with their unit (`duration_ns`). A series of PM sampling that `metrics` names has a row a sample
    behind the launch's, with its time from the start of the launch in `time_ns`.
    Raises NcugateError if the file is not a report or is damaged.
    """
    options = [*metric_options(metrics), *(["--wide"] if wide else [])]
    return _exported(path, options, ["report", "launch"], units, "is a run; hint: load_run and load_launches read runs")


def read_detail(path: PathLike, detail: Detail, metrics: Metrics = ()) -> LaunchTable:
    """A detail of the launches of an ncu report: `sources`, `metrics`, `stalls` or `disasm` (SASS; needs nvdisasm), as `show --view`.

    A row is a source file, a source line, a warp state or an instruction, after the report, the launch and its kernel; a warp state
    without a file is of the whole launch. Warns if a launch does not have it. Raises NcugateError if none has.
    """
    if detail not in get_args(Detail):
        raise ValueError(f"detail is one of {', '.join(get_args(Detail))}, not {detail!r}")
    sheets = json.loads(output(["show", positional(path), f"--view={detail}", "--format", "json", *metric_options(metrics)]))
    notes = dict.fromkeys(note for sheet in sheets for note in sheet.pop("notes", ()))
    rows = [{**sheet, **row} for sheet in sheets for row in sheet.pop("rows")]
    if not rows:
        raise NcugateError(3, f"`{os.fsdecode(path)}` has no {detail}: {'; '.join(notes) or 'it has no launch'}")
    for note in notes:
        warnings.warn(f"{os.fsdecode(path)}: {note}", stacklevel=2)
    return LaunchTable(rows)


def read_rules(path: PathLike) -> str:
    """The messages of ncu's rules in a report, by launch."""
    return output(["show", positional(path), "--view=rules"]).decode("utf-8")


def load_launches(folder: PathLike, metrics: Metrics = (), *, units: Optional[str] = None) -> ArrowTable:
    """The launches in all reports of a run or recording: as `read_report(..., wide=True)`, with variant, shape and repeat.

    `repeat` counts the launches of a kernel for a variant at a shape, from 0. Raises NcugateError if the folder is not a run, or
    has no report.
    """
    options = ["--wide", *metric_options(metrics)]
    return _exported(folder, options, ["variant", "shape", "repeat"], units, "is a report; hint: read_report reads it")


def load_run(folder: PathLike, *, units: Optional[str] = None) -> ArrowTable:
    """All measurements of a run or recording: a row for each variant and shape, a column for each parameter and metric.

    A missing metric is null, with the reason in the column `METRIC.reason`. All times are in ns, latencies too; with
    `units="columns"` columns end with their unit (`latency_p50_ns`). Raises NcugateError if the folder is not a run.
    """
    return _exported(folder, [], ["variant", "shape"], units, "is a report; hint: read_report reads it")

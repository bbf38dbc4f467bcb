"""Statistics of repeats, and columns computed from others."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

if TYPE_CHECKING:
    from ._table import LaunchTable, Table

OWN_COLUMNS = set(
    """annotation variant shape repeat run report launch kernel standing correct
    grid_x grid_y grid_z block_x block_y block_z nvtx""".split()
)
"""Columns of tables of launches that are not metrics."""
GROUPS = ("annotation", "variant", "shape", "kernel")
# Student's t at 97.5 %, for 1 to 8 degrees of freedom; Fisher's series is exact to 0.001 behind them.
STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060)


def student(degrees: int) -> float:
    """The 97.5 % quantile of Student's t distribution."""
    if degrees <= len(STUDENT):
        return STUDENT[degrees - 1]
    z = statistics.NormalDist().inv_cdf(0.975)
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return sum(term / degrees**power for power, term in enumerate(terms))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def metrics_of(table: "Table", metrics: Sequence[str], by: Sequence[str]) -> List[str]:
    """The chosen metrics, or all columns of numbers that are neither groups nor facts of the launch."""
    unknown = [name for name in (*metrics, *by) if name not in table.columns]
    if unknown:
        raise KeyError(f"the table has no column {unknown[0]!r}; it has {', '.join(table.columns)}")
    rows = table.rows
    names = metrics or [name for name in table.columns if name not in OWN_COLUMNS and name not in by]
    return [name for name in names if metrics or any(is_number(row.get(name)) for row in rows)]


def groups(rows: Sequence[Mapping[str, Any]], by: Sequence[str]) -> Iterator[Tuple[Dict[str, Any], List[Mapping[str, Any]]]]:
    """The rows by their values of these columns, in order of first appearance."""
    found: Dict[str, Tuple[Dict[str, Any], List[Mapping[str, Any]]]] = {}
    for row in rows:
        key = {name: row.get(name) for name in by}
        found.setdefault(repr(key), (key, []))[1].append(row)
    return iter(found.values())


def summarize(values: Sequence[float]) -> Dict[str, Any]:
    """Count, mean, median, extremes, standard deviation, and the 95 % confidence interval of the mean.

    Deviation and interval of fewer than two values are unknown.
    """
    count, mean = len(values), statistics.fmean(values) if values else None
    spread = statistics.stdev(values) if count > 1 else None
    half = student(count - 1) * spread / math.sqrt(count) if spread is not None else None
    return {
        "count": count,
        "mean": mean,
        "median": statistics.median(values) if values else None,
        "std": spread,
        "low": mean - half if mean is not None and half is not None else None,
        "high": mean + half if mean is not None and half is not None else None,
        "min": min(values, default=None),
        "max": max(values, default=None),
    }


class Absent(Exception):
    """A value that a function needs is missing."""


class PresentRow(Dict[str, Any]):
    """A row whose missing values cannot be read."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if value is None:
            raise Absent(name)
        return value


def derived(row: Mapping[str, Any], function: Callable[[Mapping[str, Any]], Any]) -> Any:
    """The value of a function of a row; None if it reads a missing value or divides by zero."""
    try:
        return function(PresentRow(row))
    except (Absent, ZeroDivisionError):
        return None


def mean(rows: Sequence[Mapping[str, Any]], name: str) -> Optional[float]:
    """The mean of a metric over the rows that have it."""
    values = [row[name] for row in rows if is_number(row.get(name))]
    return statistics.fmean(values) if values else None


def plot(table: "LaunchTable", x: str, y: str, by: Optional[str], axes: Any, library: Callable[[str], Any]) -> Any:
    """A line over the means of `y` for each value of `by`, with confidence intervals."""
    axes = axes if axes is not None else library("matplotlib.pyplot").subplots()[1]
    for key, rows in groups(table.rows, [by] if by else []):
        points = sorted((row for row in rows if row["mean"] is not None), key=lambda row: row[x])
        means = [row["mean"] for row in points]
        errors = [0.0 if row["high"] is None else row["high"] - row["mean"] for row in points]
        label = str(key[by]) if by else None
        axes.errorbar([row[x] for row in points], means, yerr=errors, label=label, marker="o", capsize=3)
    unit = next((row["unit"] for row in table.rows if row["unit"]), "")
    axes.set_xlabel(x)
    axes.set_ylabel(f"{y} ({unit})" if unit else y)
    if by:
        axes.legend(title=by)
    return axes

"""Functions whose annotated launches are counted under Nsight Compute, in a process of their own."""

from __future__ import annotations

import functools
import html
import inspect
import json
import os
import pathlib
import re
import sys
import tempfile
from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, overload

from ._binary import NcugateError, output
from ._table import library

if TYPE_CHECKING:
    import pandas
    import polars

RANGE = "ncugate"
"""The NVTX range directly around annotated launches, by which they are selected."""
PLACE = re.compile(r"(?:^|> )(?P<annotation>[^>]*):(?P<config>\d+):(?P<run>\d+) > " + RANGE + "$")
"""An annotation in the NVTX ranges of a launch."""
SHOWN_ROWS, SHOWN_COLUMNS = 20, 16

_measured: Optional[Tuple[int, int]] = None
"""Index of the configuration and number of the run in a process under ncu; `None` elsewhere."""


class annotate(ContextDecorator):
    """Marks the launches to count, as a context manager or a decorator. Does nothing outside of a profile."""

    def __init__(self, name: str) -> None:
        if ":" in name or ">" in name or not name:
            raise ValueError(f"{name!r} cannot be the name of an annotation: it is empty, or has a colon or >")
        self.name = name

    def __enter__(self) -> "annotate":
        if _measured is not None:
            push, _ = _nvtx()
            config, run = _measured
            push(f"{self.name}:{config}:{run}")
            push(RANGE)
        return self

    def __exit__(self, *raised: Any) -> None:
        if _measured is not None:
            _, pop = _nvtx()
            pop()
            pop()


def _nvtx() -> Tuple[Callable[[str], Any], Callable[[], Any]]:
    """Functions that push and pop an NVTX range: PyTorch's if it is loaded, else those of the package `nvtx`."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
    try:
        import nvtx
    except ImportError as error:
        raise ImportError("ncugate.annotate needs PyTorch or the package nvtx: pip install nvtx") from error
    return nvtx.push_range, nvtx.pop_range


class LaunchTable:
    """Launches with their metrics, a dictionary each."""

    def __init__(self, rows: List[Dict[str, Any]]) -> None:
        self.rows = rows
        """A row a launch; a missing value is `None`."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self.rows)

    @property
    def columns(self) -> List[str]:
        """The names of all columns."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def to_pandas(self) -> "pandas.DataFrame":
        """A pandas data frame."""
        return library("pandas").DataFrame(self.rows, columns=self.columns)

    def to_polars(self) -> "polars.DataFrame":
        """A polars data frame."""
        return library("polars").DataFrame(self.rows, infer_schema_length=None)

    def _repr_html_(self) -> str:
        shown = self.columns[:SHOWN_COLUMNS]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(row.get(name, '')))}</td>" for name in shown) + "</tr>"
            for row in self.rows[:SHOWN_ROWS]
        )
        size = f"{len(self.rows)} launches, {len(self.columns)} columns"
        return f"<p>{size}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        return f"<ncugate.LaunchTable of {len(self.rows)} launches>"


class ProfiledFunction:
    """A function that is called under ncu, once per configuration and run; the call returns the annotated launches."""

    def __init__(
        self,
        function: Callable[..., Any],
        configs: Optional[Sequence[Any]],
        metrics: Sequence[str],
        runs: int,
        timeout: int,
    ) -> None:
        if runs < 1:
            raise ValueError("runs is at least 1")
        self.function = function
        """The function itself, for calls without a profiler."""
        self.configs = configs
        self.metrics = list(metrics)
        self.runs = runs
        self.timeout = timeout
        functools.update_wrapper(self, function)

    def __call__(self, *config: Any, configs: Optional[Iterable[Any]] = None) -> LaunchTable:
        """Profiles one configuration (`benchmark(1024)`), those in `configs`, or those of the decorator.

        Raises NcugateError if ncu fails, the function raises, or a configuration has no annotated launch.
        """
        if config and configs is not None:
            raise TypeError("give the arguments of one configuration, or configs")
        chosen = [config] if config else configs if configs is not None else self.configs
        tuples = [one if isinstance(one, (tuple, list)) else (one,) for one in (chosen if chosen is not None else [()])]
        if not tuples:
            raise ValueError("there is no configuration")
        names = [self._named(one) for one in tuples]
        file = inspect.getsourcefile(self.function)
        if file is None or not os.path.isfile(file) or "." in self.function.__qualname__:
            raise ValueError("the function must be at the top of a file, because another process imports it from there")
        request = {
            "file": os.path.abspath(file),
            "function": self.function.__name__,
            "configs": tuples,
            "runs": self.runs,
            "path": [os.path.abspath(entry) for entry in sys.path],
        }
        with tempfile.TemporaryDirectory(prefix="ncugate-") as folder:
            asked, report = pathlib.Path(folder, "request.json"), pathlib.Path(folder, "launches.ncu-rep")
            asked.write_text(json.dumps(request), encoding="utf-8")
            metrics = [f"--metric={metric}" for metric in self.metrics]
            program = [sys.executable, "-m", "ncugate._profiled", str(asked)]
            options = ["--range", RANGE, "--timeout", str(self.timeout), "--output", str(report)]
            output(["tools", "profile", *options, *metrics, "--", *program])
            rows = json.loads(output(["export", str(report), "--to", "json", "--wide", *metrics]))
        return LaunchTable(self._placed(rows, names))

    def _named(self, config: Sequence[Any]) -> Dict[str, Any]:
        """The arguments of a configuration by name."""
        bound = inspect.signature(self.function).bind(*config)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _placed(self, rows: List[Dict[str, Any]], configs: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """The rows with their annotation, run and configuration."""
        placed = []
        seen = set()
        for row in rows:
            place = PLACE.search(row.pop("nvtx") or "")
            if place is None or int(place["config"]) >= len(configs):
                raise NcugateError(3, f"launch {row.get('launch')} of the report is in no annotation")
            row.pop("report")
            number, run = int(place["config"]), int(place["run"])
            seen.add((number, run))
            placed.append({"annotation": place["annotation"], **configs[number], "run": run, **row})
        for number, config in enumerate(configs):
            if any((number, run) not in seen for run in range(self.runs)):
                said = ", ".join(f"{name}={value!r}" for name, value in config.items()) or "the function"
                raise NcugateError(3, f"{said}: no launch in `with ncugate.annotate(...)`")
        return placed


@overload
def profile(function: Callable[..., Any]) -> ProfiledFunction: ...


@overload
def profile(
    *,
    configs: Optional[Sequence[Any]] = None,
    metrics: Sequence[str] = ("duration",),
    runs: int = 1,
    timeout: int = 600,
) -> Callable[[Callable[..., Any]], ProfiledFunction]: ...


def profile(
    function: Optional[Callable[..., Any]] = None,
    *,
    configs: Optional[Sequence[Any]] = None,
    metrics: Sequence[str] = ("duration",),
    runs: int = 1,
    timeout: int = 600,
) -> Any:
    """Decorates a function whose launches in `ncugate.annotate` are counted under ncu when it is called.

    `configs` are arguments, a tuple for each call; JSON must be able to hold them. `metrics` are names of ncugate or of
    ncu. `timeout` is the limit of all calls together, in seconds. The function's own result is ignored.
    """
    if function is not None:
        return ProfiledFunction(function, configs, metrics, runs, timeout)
    return lambda given: ProfiledFunction(given, configs, metrics, runs, timeout)

"""Functions whose annotated launches are counted under Nsight Compute, in a process of their own."""

from __future__ import annotations

import functools
import inspect
import json
import os
import pathlib
import pickle
import re
import sys
import tempfile
from contextlib import ContextDecorator
from typing import Any, Callable, Dict, Generic, Iterable, List, Optional, Sequence, Tuple, TypeVar, overload

from . import _travel
from ._binary import NcugateError, is_shown, output
from ._table import ArrowTable, LaunchTable, Metrics, metric_options

Function = TypeVar("Function", bound=Callable[..., Any])
RANGE = "ncugate"
"""The NVTX range directly around annotated launches, by which they are selected."""
PLACE = re.compile(r"(?:^|> )(?P<annotation>[^>]*):(?P<config>\d+):(?P<run>\d+) > " + RANGE + "$")
"""An annotation in the NVTX ranges of a launch."""
OWN_COLUMNS = "annotation run report launch kernel grid_x grid_y grid_z block_x block_y block_z nvtx".split()
"""Columns of every table of launches."""

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


class ProfiledFunction(Generic[Function]):
    """A function that is called under ncu, once per configuration and run; the call returns the annotated launches."""

    def __init__(
        self,
        function: Function,
        configs: Optional[Sequence[Any]],
        metrics: Metrics,
        runs: int,
        timeout: int,
        progress: Optional[bool],
    ) -> None:
        if runs < 1:
            raise ValueError("runs is at least 1")
        functools.update_wrapper(self, function)
        self.function = function
        """The function itself, for calls without a profiler."""
        self.configs = configs
        self.metrics = [metrics] if isinstance(metrics, str) else list(metrics)
        self.runs = runs
        self.timeout = timeout
        self.progress = progress
        taken = [name for name in inspect.signature(function).parameters if name in {*OWN_COLUMNS, *self.metrics, "configs"}]
        if taken:
            raise ValueError(f"{_travel.plain(function).__name__}: the parameter `{taken[0]}` has the name of a column of the table; rename it")

    def __call__(self, *config: Any, configs: Optional[Iterable[Any]] = None, **named: Any) -> LaunchTable:
        """Profiles one configuration (`benchmark(1024)`, `benchmark(n=1024)`), those in `configs`, or those of the decorator.

        Raises NcugateError if ncu fails, the function raises, or a configuration has no annotated launch; ValueError if the function
        uses something that cannot be pickled.
        """
        if (config or named) and configs is not None:
            raise TypeError("give the arguments of one configuration, or configs")
        bind = inspect.signature(self.function).bind
        if config or named:
            bound = [bind(*config, **named)]
        else:
            chosen = configs if configs is not None else self.configs if self.configs is not None else [()]
            bound = [bind(*(one if isinstance(one, (tuple, list)) else (one,))) for one in chosen]
        if not bound:
            raise ValueError("there is no configuration")
        request = _travel.packed(self.function, [(one.args, one.kwargs) for one in bound])
        for one in bound:
            one.apply_defaults()
        with tempfile.TemporaryDirectory(prefix="ncugate-") as folder:
            asked, said = pathlib.Path(folder, "request"), pathlib.Path(folder, "progress")
            # beside the folder: an error names the launches until then, which are kept
            report = pathlib.Path(f"{folder}.ncu-rep")
            request.update(runs=self.runs, path=[os.path.abspath(entry) for entry in sys.path], progress=str(said))
            asked.write_bytes(pickle.dumps(request))
            metrics = metric_options(self.metrics)
            program = [sys.executable, "-m", "ncugate._profiled", str(asked)]
            options = ["--range", RANGE, "--timeout", str(self.timeout), "--output", str(report)]
            output(["tools", "profile", *options, *metrics, "--", *program], progress=is_shown(self.progress), watched=said)
            exported = ["export", str(report), "--wide", *metrics, "--to"]
            rows = json.loads(output([*exported, "json"]))
            units = ArrowTable(output([*exported, "arrow"])).units
            report.unlink()
        placed = self._placed(rows, [dict(one.arguments) for one in bound])
        return LaunchTable(placed, units, groups=["annotation", *bound[0].arguments, "kernel"])

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
            taken = row.keys() & configs[number].keys()
            if taken:
                raise NcugateError(2, f"the parameter `{min(taken)}` has the name of a metric; rename it")
            placed.append({"annotation": place["annotation"], **configs[number], "run": run, **row})
        for number, config in enumerate(configs):
            if any((number, run) not in seen for run in range(self.runs)):
                said = ", ".join(f"{name}={value!r}" for name, value in config.items()) or "the function"
                raise NcugateError(3, f"{said}: no launch in `with ncugate.annotate(...)`")
        return placed


@overload
def profile(function: Function) -> ProfiledFunction[Function]: ...


@overload
def profile(
    *,
    configs: Optional[Sequence[Any]] = None,
    metrics: Metrics = ("duration",),
    runs: int = 1,
    timeout: int = 600,
    progress: Optional[bool] = None,
) -> Callable[[Function], ProfiledFunction[Function]]: ...


def profile(
    function: Optional[Callable[..., Any]] = None,
    *,
    configs: Optional[Sequence[Any]] = None,
    metrics: Metrics = ("duration",),
    runs: int = 1,
    timeout: int = 600,
    progress: Optional[bool] = None,
) -> Any:
    """Decorates a function whose launches in `ncugate.annotate` are counted under ncu when it is called.

    `configs` are arguments, a tuple for each call; each is anything that pickle can hold. `metrics` are names of ncugate or of
    ncu. `timeout` is the limit of all calls together, in seconds. `progress` prints each call to standard error, by default on a
    terminal and in a notebook. The function's own result is ignored. Another process imports the function's file; a function of a
    notebook or in another function goes there with its source and the globals that it uses.
    Raises ValueError if a parameter has the name of a column, such as `kernel`, `run` or a metric.
    """
    if function is not None:
        return ProfiledFunction(function, configs, metrics, runs, timeout, progress)
    return lambda given: ProfiledFunction(given, configs, metrics, runs, timeout, progress)

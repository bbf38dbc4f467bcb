"""A phase from a Triton function."""

from __future__ import annotations

import inspect
import json
import os
import pathlib
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

from ._binary import NcugateError, PathLike, call
from ._result import RunResult, run
from ._toml import project_root, written

Reference = Union[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Buffer:
    """A device buffer: `dtype` and `shape` as written in a phase; `shape` contains dimensions."""

    dtype: str
    shape: Sequence[Union[str, int]]
    role: str = "input"
    init: Optional[Any] = None

    def table(self) -> Dict[str, Any]:
        """The TOML table in a phase."""
        table: Dict[str, Any] = {"dtype": self.dtype, "shape": [str(extent) for extent in self.shape]}
        if self.role != "input":
            table["role"] = self.role
        if self.init is not None:
            table["init"] = self.init
        return table


class Phase:
    """A phase file, with methods to write, check and run it."""

    def __init__(self, tables: Dict[str, Any], source: pathlib.Path) -> None:
        self.tables = tables
        """The content of the file, by key."""
        self.source = source
        """The file of the function."""
        self.path: Optional[pathlib.Path] = None
        """The path of the last write."""

    def text(self, path: PathLike) -> str:
        """The text of the file for a phase at this path. Paths in the project's folder are relative to it."""
        root = project_root(pathlib.Path(path).resolve().parent)
        tables = json.loads(json.dumps(self.tables))
        file, function = tables["kernel"]["python"]
        tables["kernel"]["python"] = f"{os.path.relpath(file, root)}:{function}"
        python = pathlib.Path(tables["build"]["python"])
        if root in python.parents:
            tables["build"]["python"] = str(python.relative_to(root))
        return written(tables)

    def write(self, path: Optional[PathLike] = None) -> pathlib.Path:
        """Writes the phase, by default to `NAME.toml` next to the function. An existing file is replaced."""
        name = self.tables["phase"]["name"]
        target = pathlib.Path(path) if path is not None else self.source.with_name(f"{name}.toml")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.text(target), encoding="utf-8")
        self.path = target
        return target

    def check(self, *arguments: str) -> str:
        """`ncugate check`: reads and builds the phase without a GPU; returns standard output.

        Raises NcugateError if the phase is wrong or does not build.
        """
        ended = call(["check", self.path or self.write(), *arguments])
        said = ended.stdout.decode("utf-8", "replace")
        # without a GPU, gates on times or counters are inconclusive
        if ended.returncode not in (0, 4):
            raise NcugateError(ended.returncode, (said + ended.stderr.decode("utf-8", "replace")).strip())
        return said

    def run(self, **options: Any) -> RunResult:
        """`ncugate run`; options are those of `ncugate.run`."""
        return run(self.path or self.write(), **options)


class KernelFunction:
    """A Triton function with its phase. Launches and calls work as before."""

    def __init__(self, function: Any, phase: Phase) -> None:
        self.function = function
        self.phase = phase
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", "kernel")

    def __getitem__(self, grid: Any) -> Any:
        return self.function[grid]

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.function(*given, **named)

    def __getattr__(self, name: str) -> Any:
        # absent while a copy is made
        function = self.__dict__.get("function")
        if function is None:
            raise AttributeError(name)
        return getattr(function, name)


def kernel(
    *,
    shapes: Mapping[str, Mapping[str, int]],
    buffers: Mapping[str, Buffer],
    args: Sequence[Any],
    grid: Sequence[Union[str, int]],
    reference: Reference,
    tolerance: Mapping[str, Any],
    gates: Sequence[Union[str, Mapping[str, Any]]],
    sweep: Optional[Mapping[str, Sequence[Any]]] = None,
    where: Optional[str] = None,
    scalars: Optional[Mapping[str, Any]] = None,
    baselines: Sequence[Mapping[str, Any]] = (),
    seeds: Sequence[int] = (0, 1),
    name: Optional[str] = None,
    title: Optional[str] = None,
    objective_shape: Optional[str] = None,
    python: Optional[PathLike] = None,
    bench: Optional[Mapping[str, Any]] = None,
    profile: Optional[Mapping[str, Any]] = None,
) -> Callable[[Any], KernelFunction]:
    """Creates a phase from a `@triton.jit` function; the decorated function has it as `.phase`.

    Arguments correspond to the keys of a phase: `shapes` and `buffers` of `[workload]`, `args` and `grid` of
    `[kernel]`, `sweep` of constexprs and compiler options (`num_warps`), `gates` of requirements or tables. `python` is the
    interpreter whose Triton compiles, by default this one. The decorator compiles and runs nothing.
    """
    if not gates:
        raise ValueError("a phase without a gate judges nothing: give at least one requirement")

    def decorate(function: Any) -> KernelFunction:
        plain = function
        while hasattr(plain, "fn"):
            plain = plain.fn
        file = inspect.getsourcefile(plain)
        if file is None or not os.path.isfile(file):
            raise ValueError("the function must be in a file, because Triton compiles it from there")
        source = pathlib.Path(file).resolve()
        own = plain.__name__
        head: Dict[str, Any] = {"name": name or own}
        head.update({key: value for key, value in (("title", title), ("objective_shape", objective_shape)) if value is not None})
        workload: Dict[str, Any] = {"seeds": list(seeds), "reference": reference, "tolerance": dict(tolerance)}
        if scalars:
            workload["scalars"] = dict(scalars)
        workload["shapes"] = {key: dict(value) for key, value in shapes.items()}
        workload["buffers"] = {key: value.table() for key, value in buffers.items()}
        tables: Dict[str, Any] = {"phase": head, "build": {"python": os.fspath(python or sys.executable)}}
        tables.update({key: dict(value) for key, value in (("bench", bench), ("profile", profile)) if value})
        tables["workload"] = workload
        tables["kernel"] = {"python": [str(source), own], "grid": [str(axis) for axis in grid], "args": list(args)}
        if sweep:
            tables["sweep"] = {key: list(values) for key, values in sweep.items()}
            if where is not None:
                tables["sweep"]["where"] = where
        if baselines:
            tables["baseline"] = [dict(baseline) for baseline in baselines]
        tables["gate"] = [{"require": gate} if isinstance(gate, str) else dict(gate) for gate in gates]
        return KernelFunction(function, Phase(tables, source))

    return decorate

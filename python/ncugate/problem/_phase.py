"""A problem as a phase with its files."""

from __future__ import annotations

import json
import keyword
import os
import pathlib
import re
import shutil
import textwrap
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from .._binary import NcugateError, output, positional
from .._toml import project_root, read, written
from ._files import FileError, ProblemError

# Element types that PyTorch and phases both have: the name in a phase, and bytes.
DTYPES = {
    "float64": ("f64", 8),
    "float32": ("f32", 4),
    "float16": ("f16", 2),
    "bfloat16": ("bf16", 2),
    "float8_e4m3fn": ("fp8-e4m3", 1),
    "float8_e5m2": ("fp8-e5m2", 1),
    "int64": ("i64", 8),
    "int32": ("i32", 4),
    "int16": ("i16", 2),
    "int8": ("i8", 1),
    "uint8": ("u8", 1),
    "bool": ("bool", 1),
}
# The baseline that is the problem's own reference.
REFERENCE = "reference"


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def is_identifier(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def plain_name(text: str) -> str:
    """A text as a name of a phase, variant or file."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", text)
    return plain if re.match(r"[A-Za-z0-9_]", plain) else f"_{plain}"


def distinct(names: Iterable[str]) -> List[str]:
    """The plain name of each, with a number if it is taken."""
    taken: List[str] = []
    for name in map(plain_name, names):
        free, number = name, 2
        while free in taken or free == REFERENCE:
            free, number = f"{name}_{number}", number + 1
        taken.append(free)
    return taken


def moved_bytes(buffers: Iterable[Tuple[int, List[str]]]) -> Optional[str]:
    """`8 * M * K + 4 * K * N` of sizes and extents; none without a buffer. Buffers of the same extents are one term."""
    terms: Dict[str, int] = {}
    for size, shape in buffers:
        extents = " * ".join(one if re.fullmatch(r"[\w *]*", one) else f"({one})" for one in shape if one != "1")
        terms[extents] = terms.get(extents, 0) + size
    return " + ".join(f"{size} * {extents}" if extents else str(size) for extents, size in terms.items()) or None


@dataclass
class Tensor:
    """A tensor of a problem: its type by PyTorch's name, extents as expressions (none for one element), and initialisation."""

    name: str
    dtype: str
    shape: List[str]
    is_output: bool = False
    init: Any = None

    @classmethod
    def given(cls, text: str) -> "Tensor":
        """A tensor of the command line: `x=f32[N, 2 * K]` or `mask=bool[N]:{ mask = 0.5 }`."""
        form = f'`{text}` is not a tensor; write NAME=TYPE[EXTENT, ...], such as x=f32[N, 64] or x=i32[N]:{{ indices = "V" }}'
        found = re.fullmatch(r"\s*(\w+)\s*=([^\[]*)\[([^\]]*)\]\s*(?::(.*))?", text, re.DOTALL)
        name, dtype, shape, init = found.groups() if found else ("", "", "", None)
        names = {known: torch for torch, (own, _) in DTYPES.items() for known in (torch, own)}
        if not is_identifier(name) or dtype.strip() not in names:
            raise ProblemError(form)
        try:
            value = None if init is None else read(f"init = {init}")["init"]
        except (ValueError, KeyError) as error:
            raise ProblemError(f"{form} ({error})") from None
        return cls(name, names[dtype.strip()], [one.strip() for one in shape.split(",") if one.strip()], init=value)

    def table(self) -> Dict[str, Any]:
        """The buffer in a phase."""
        role = {"role": "output"} if self.is_output else {}
        init = {} if self.init is None else {"init": self.init}
        return {"dtype": DTYPES[self.dtype][0], "shape": self.shape or ["1"], **role, **init}


@dataclass
class Candidate:
    """A solution: the variant, the solution's name in the other project, and the function that the phase calls."""

    variant: str
    solution: str
    file: str
    function: str


class Target:
    """The phase file to write, and the folder of the same name next to it for its files."""

    def __init__(self, given: str) -> None:
        path = pathlib.Path(os.getcwd(), given)
        folder = path.parent.resolve() if ".." in path.parts else path.parent
        self.given, self.file, self.folder = given, folder / path.name, folder / path.stem
        if path.suffix != ".toml":
            raise ProblemError(f"{given}: the name of a phase must end with .toml")
        for there in (self.file, self.folder):
            if os.path.lexists(there):
                raise ProblemError(f"{there} already exists; remove it, or choose another file with --output")
        self.named = str(self.folder.relative_to(project_root(folder)))

    def path(self, name: str) -> str:
        """A file of the folder, as a phase names it."""
        return f"{self.named}/{name}"

    def write(self, text: str, files: "Dict[str, Union[str, bytes]]") -> Dict[str, Any]:
        """Writes the files and the phase, and lists what it measures. Nothing is left if ncugate does not understand the phase."""
        try:
            self.folder.mkdir()
        except OSError as error:
            raise FileError(f"cannot write {self.folder}: {error.strerror or error}") from error
        try:
            for name, content in files.items():
                path = self.folder / name
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
            with open(self.file, "x", encoding="utf-8") as file:
                file.write(text)
            listed = output(["run", positional(self.file), "--list", "--format", "json"])
            return dict(json.loads(listed))
        except BaseException as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.file.unlink() if self.file.is_file() else None
            if isinstance(error, NcugateError):
                raise ProblemError(str(error).removeprefix("error: ")) from error
            if isinstance(error, OSError):
                raise FileError(f"cannot write {self.given}: {error.strerror or error}") from error
            raise


@dataclass
class Problem:
    """A parsed problem."""

    format: str
    name: str
    title: str
    # Names of shapes with their dimensions, in order.
    sizes: Dict[str, Dict[str, int]]
    timed: List[str]
    tensors: List[Tensor]
    tolerance: Dict[str, float]
    # Functions of files in the folder: the reference on the CPU, and on the GPU, as the baseline.
    reference: str
    eager: str
    candidates: List[Candidate]
    files: "Dict[str, Union[str, bytes]]"
    notes: List[str]
    # Numbers passed by value, in the notation of a phase.
    scalars: Dict[str, Dict[str, str]] = field(default_factory=dict)
    imported: Dict[str, Any] = field(default_factory=dict)

    def moved(self) -> Optional[str]:
        """Least bytes that a launch moves. Integers may be indices into other inputs, which are then read in part: only outputs count."""
        indexed = any(not one.is_output and not is_float(one.dtype) for one in self.tensors)
        counted = [one for one in self.tensors if one.is_output or not indexed]
        return moved_bytes((DTYPES[one.dtype][1], one.shape) for one in counted)

    def text(self, target: Target) -> str:
        """The phase."""
        if not self.candidates:
            why = f" ({'; '.join(self.notes)})" if self.notes else ""
            raise ProblemError(f"{self.name}: no solution can be a candidate{why}")
        for name in [*(one.name for one in self.tensors), *self.scalars]:
            if not is_identifier(name):
                raise ProblemError(f"{self.name}: `{name}` is not a valid name of a Python parameter")
        tolerance = {**self.tolerance, "rel_l2": max(self.tolerance["atol"], self.tolerance["rtol"])}
        workload: Dict[str, Any] = {
            "seeds": [0, 1],
            "reference": {"python": target.path(self.reference), "timeout_s": 600},
            "tolerance": tolerance,
        }
        if moved := self.moved():
            workload["bytes"] = moved
        if self.scalars:
            workload["scalars"] = self.scalars
        workload["shapes"] = self.sizes
        workload["buffers"] = {one.name: one.table() for one in self.tensors}
        gate = {"shapes": self.timed}
        solutions = {one.variant: one.solution for one in self.candidates}
        tables = {
            "phase": {"name": plain_name(target.file.stem), "title": self.title},
            "bench": {"shapes": self.timed, "timeout_s": 120},
            "workload": workload,
            "variant": [{"name": one.variant, "python": target.path(f"{one.file}:{one.function}")} for one in self.candidates],
            "baseline": [{"name": REFERENCE, "python": target.path(self.eager)}],
            "gate": [
                {"name": "correct", "require": "correct == 1", **gate},
                {"name": "faster than the reference", "require": f'speedup("{REFERENCE}") > 1', **gate},
            ],
            "imported": {"format": self.format, "problem": self.name, "solutions": solutions, **self.imported},
        }
        made = f"Written by `ncugate problem import {self.format}` from {self.name}. Edit it freely; docs/problems.md explains the mapping."
        notes = [*self.notes]
        if moved:
            notes.append(
                f'CHECK: bytes = "{moved}" is the minimum that a launch moves: every output written once and, if no input is an index, '
                "every input read once. A candidate that moves less is rejected, so lower it if less can be enough"
            )
        lines = [comment(made, "# ", "# "), *(comment(note, "# - ", "#   ") for note in notes)]
        try:
            return "\n".join(lines) + "\n\n" + written(tables)
        except (ValueError, TypeError, UnicodeError) as error:
            raise ProblemError(f"{self.name}: {error}") from error


def comment(text: str, first: str, others: str) -> str:
    """A comment with wrapped lines."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return textwrap.fill(plain, 120, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False)

"""A phase drafted from the source of a kernel in Triton, Gluon, Numba or CuTe DSL, with a mark at every guess.

`ncugate init FILE.py[:KERNEL]` calls this module, which prints the files of the phase as JSON.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import math
import os
import pathlib
import re
import sys
import unicodedata
from typing import Any, Dict, List, Optional, Set, Tuple

from ._kernel_source import ADDED, DRAFTED, READ, WRITTEN, Function, KernelLaunch, PythonSource, UnknownValue, default, parameters
from ._toml import _value as quoted
from ._toml import project_root
from .problem._files import ProblemError, print_files, text_of
from .problem._phase import moved_bytes

# Sizes of a dimension for a phase of one, two, three or more dimensions, and the sizes with tails.
SIZES, MANY = {1: (1 << 20, (100_003,)), 2: (1024, (37, 259)), 3: (256, (37, 53, 29))}, (32, (13, 11, 7, 17, 5, 19, 3, 23))
BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "u64": 8, "i32": 4, "u32": 4, "i16": 2, "u16": 2, "i8": 1, "u8": 1, "bool": 1}
TOLERANCES = {"f64": 1e-12, "f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}
TORCH = {"float64": "f64", "double": "f64", "float32": "f32", "float": "f32", "float16": "f16", "half": "f16", "bfloat16": "bf16"}
TORCH.update({f"{sign}int{bits}": f"{sign[:1] or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)})
TORCH.update({"bool": "bool", "boolean": "bool", "b1": "bool", "f8": "f64", "f4": "f32", "f2": "f16"})
TORCH.update({f"{letter}{size}": f"{letter}{8 * size}" for letter in "iu" for size in (1, 2, 4, 8)})
REAL = r"eps|scale|alpha|beta|gamma|prob|lr|decay|factor|softcap|temperature|smooth|momentum|^[ap]$"
WHOLE = r"indices|index|idx|seqlens?|offsets|table|labels|target|mask|ids$"
NO_EXTENT = r"seed|axis|mode|flag|causal|offset|iter|step|index|idx|repeat|^is_|^has_|^use_"
FLAG = r"(?i)^(is|has|use|do|with|return|store|save|add)_|causal|reverse|^(even|trans)_"
TILE = r"(?i)block|tile|^B[A-Z]$|^(num_)?(threads|warps)"


def notes_of(function: Function) -> Dict[str, str]:
    """The annotation of each parameter; empty without one."""
    return {one.arg: ast.unparse(one.annotation) if one.annotation else "" for one in parameters(function)}


def numbers(extents: List[str]) -> List[Any]:
    """Extents, of which numbers are no texts."""
    return [int(one) if one.isdigit() else one for one in extents]


class KernelDraft:
    """The draft of one kernel."""

    def __init__(self, given: str, kernel: Optional[str], output: Optional[str]) -> None:
        self.file = pathlib.Path(given)
        self.source = PythonSource(text_of(self.file), given)
        self.name = self.chosen(given, kernel)
        self.language, self.function = self.source.kernels[self.name][0], self.source.functions[self.name]
        self.output = pathlib.Path(output or f"{self.name}.toml")
        self.launch = KernelLaunch(self.source, self.name)
        self.heuristics = self.source.heuristics(self.name)
        self.uses = self.source.uses(self.function)
        notes = {name: note for name, note in notes_of(self.function).items() if name not in ("self", "cls")}
        self.constants = [name for name, note in notes.items() if re.search("(?i)constexpr", note)]
        # ncugate passes the stream.
        self.runtime = [name for name, note in notes.items() if name not in self.constants and "Stream" not in note and name != "stream"]
        self.types = self.signature()
        is_tensor = {
            name
            for name in self.runtime
            if re.search(r"Tensor|Pointer|ptr", notes[name]) or self.types.get(name, ("", 0))[1] or re.search(r"(?i)(_|^)ptr$", name)
        }
        self.pointers = [name for name in self.runtime if name in self.uses or name in is_tensor]
        self.scalars = [name for name in self.runtime if name not in self.pointers]
        self.strides = [name for name in self.scalars if re.search(r"(?i)stride|^ld[a-z]$", name)]
        self.notes = notes
        # What the phase calls each parameter.
        self.named = {name: self.plain(name) for name in self.runtime}
        # Sizes that are compiled in: one number a phase.
        self.sizes: Dict[str, int] = {}
        self.fixed: Dict[str, str] = {}
        # Buffers whose extents are guessed from the name of a stride.
        self.guessed: Set[str] = set()
        self.tuned = list(dict.fromkeys(key for config in self.source.configurations(self.name) or [] for key in config))
        self.absent = [name for name in self.runtime if self.is_absent(name)]
        self.whole: Dict[str, str] = {}
        self.place()

    def chosen(self, given: str, kernel: Optional[str]) -> str:
        """The kernel to draft: the named one, or the only one of the file."""
        there = self.source.launched()
        if kernel in self.source.kernels:
            if self.source.kernels[str(kernel)][0] in DRAFTED:
                return str(kernel)
            host = self.source.host_of(str(kernel))
            if host is None:
                raise ProblemError(f"{given}: no function under `@cute.jit` launches `{kernel}`; write one, and draft its phase")
            return host
        # A device function has no pointer, unless a kernel calls it.
        there = [name for name in there if self.source.uses(self.source.functions[name])] or there
        if kernel is not None:
            have = f"it has {', '.join(there)}" if there else "it has none"
            raise ProblemError(
                f"{given}: no kernel `{kernel}` under `@triton.jit`, `@gluon.jit`, `@cuda.jit` or `@cute.jit`; {have}. "
                "Of a PyTorch function, name the extents of its inputs, such as --shape 4096x8192"
            )
        if not there:
            raise ProblemError(f"{given}: no function under `@triton.jit`, `@gluon.jit`, `@cuda.jit` or `@cute.jit`")
        if len(there) > 1:
            raise ProblemError(f"{given} defines {', '.join(there)}; name one, such as {given}:{there[0]}")
        return there[0]

    def plain(self, name: str) -> str:
        """A name of ASCII letters: `sigma_Q` for a Greek letter."""
        return re.sub(r"[^\x00-\x7f]", lambda found: unicodedata.name(found[0], "x").split()[-1].lower(), name)

    def signature(self) -> Dict[str, Tuple[str, int]]:
        """Type and rank of each parameter from a signature of Numba: `void(f8[:,:], i8)`."""
        if self.language != "Numba":
            return {}
        for one in self.source.kernels[self.name][1]:
            first = one.args[0] if isinstance(one, ast.Call) and one.args else None
            first = first.elts[0] if isinstance(first, (ast.List, ast.Tuple)) and first.elts else first
            try:
                text = self.source.value(first)
            except UnknownValue:
                text = ast.unparse(first) if first is not None else ""
            inside = re.search(r"\((.*)\)", str(text), re.DOTALL)
            found = re.findall(r"(\w+)\s*(\[[^\]]*\])?\s*(?:,|$)", re.sub(r"\b\w+\.", "", inside[1])) if inside else []
            if len(found) == len(self.runtime):
                return {
                    name: (TORCH.get(of, "f32"), extents.count(",") + 1 if extents else 0)
                    for name, (of, extents) in zip(self.runtime, found)
                }
        return {}

    def is_absent(self, name: str) -> bool:
        """Whether a launch may leave a parameter out: a heuristic compares it with None, or its default is None."""
        compared = any(re.search(rf"""\[['"]{name}['"]\] is (not )?None""", ast.unparse(one)) for one in self.heuristics.values())
        given = default(self.function, name)
        return compared or isinstance(given, ast.Constant) and given.value is None

    def place(self) -> None:
        """Gives names to the launch's extents: of the kernel's whole numbers first, then of its constexprs."""
        launch = self.launch
        launch.names.update({name: name for name in self.swept_globals()})
        for name in [*self.scalars, *self.constants]:
            given = launch.arguments.get(name)
            if given is None or name in self.strides or name in self.absent:
                continue
            named = launch.lookup(given.id, launch.line) if isinstance(given, ast.Name) else None
            extent = launch.extent(named[1] if named else given)
            is_own = isinstance(given, ast.Name) and name in self.scalars and (named is None or self.is_unknown(given))
            if extent or is_own:
                launch.names.setdefault(ast.unparse(given), self.named.get(name, name))
                if extent and extent[1] is None and name in self.scalars:
                    self.whole[extent[0]] = self.named[name]
            # A tile that the launch computes has the name of its constexpr in the grid.
            if name in self.constants and isinstance(given, ast.Name):
                launch.names.setdefault(given.id, name)
        self.shapes = {name: self.shape(name) for name in self.pointers}
        self.shapes.update(self.noted_shapes())
        known = list({tuple(one): one for one in self.shapes.values() if one}.values())
        extents = [name for name in self.scalars if self.kind(name) == "extent"]
        for name in self.pointers:
            # The only shape of the launch is that of every buffer, unless it is that of a result for each row.
            if not self.shapes[name] and len(known) == 1 and (len(known[0]) > 1 or len(extents) < 2) and not self.types.get(name, ("", 0))[1]:
                self.shapes[name] = known[0]
                self.guessed.add(name)
        self.grid = self.extents(0)
        self.block = self.extents(1)
        used = {self.named[name] for name in self.scalars if self.kind(name) == "extent"}
        in_shapes = set(re.findall(r"[A-Za-z_]\w*", " ".join(itertools.chain(*(shape or [] for shape in self.shapes.values())))))
        words = in_shapes | set(re.findall(r"[A-Za-z_]\w*", " ".join(self.grid)))
        constants = set(self.constants) | set(self.swept_globals())
        self.dimensions = [name for name in self.scalars if self.named[name] in used]
        self.dimensions = [self.named[name] for name in self.dimensions]
        self.dimensions += [name for name in launch.dimensions if name in words and name not in self.dimensions and name not in constants]
        self.dimensions = self.dimensions or [name for name in ("N", "SIZE", "EXTENT") if name not in notes_of(self.function)][:1]
        others = [name for name in self.runtime if self.named[name] in self.dimensions and self.named[name] not in used]
        self.named.update({name: f"{self.named[name]}_" for name in others})
        # Extents that are compiled in are numbers in the phase.
        compiled = [name for name in self.constants if name in in_shapes]
        # Constexprs of Triton follow the shape.
        fixed = [] if self.follows_shape else compiled
        self.dimensions += [name for name in compiled if name not in fixed]
        base, self.tails = SIZES.get(len(self.dimensions) + len(fixed), MANY)
        self.sizes, self.fixed = {name: base for name in self.dimensions}, {name: str(base) for name in fixed}

    @property
    def follows_shape(self) -> bool:
        """Whether a constexpr can be an expression over dimensions."""
        return self.language in ("Triton", "Gluon")

    def is_unknown(self, given: ast.AST) -> bool:
        """Whether a size of the launch is no expression over others."""
        try:
            self.launch.expression(given, self.launch.line)
            return False
        except UnknownValue:
            return True

    def noted_shapes(self) -> Dict[str, List[str]]:
        """Extents that only the comments of parameters give."""
        noted = {name: words for name, words in self.source.noted_extents(self.name).items() if name in self.pointers}
        sizes = [*map(self.named.get, self.scalars), *self.constants, *self.launch.dimensions]
        of = {str(own).lower(): own for own in sizes}
        for name, words in noted.items():
            known, given = self.shapes.get(name) or [], self.launch.arguments.get(name)
            of.update({word.lower(): own for word, own in zip(words, known) if len(words) == len(known)})
            axes = self.launch.unpacked(given.id) if isinstance(given, ast.Name) else {}
            of.update({words[at].lower(): self.launch.names.get(own) or own for at, own in axes.items() if -len(words) <= at < len(words)})
        found = {}
        for name, words in noted.items():
            if not self.shapes.get(name):
                # A name of the comment alone is a dimension.
                found[name] = [word if word.isdigit() else of.get(word.lower()) or self.launch.dimension(self.plain(word)) for word in words]
                self.guessed.add(name)
        return found

    def number(self, text: str) -> str:
        """An extent with the sizes that are compiled in."""
        return re.sub(r"[A-Za-z_]\w*", lambda found: self.fixed.get(found[0], found[0]), text)

    def extents(self, at: int) -> List[str]:
        try:
            return self.launch.axes(self.launch.configuration[at], self.launch.line)
        except (UnknownValue, IndexError):
            return []

    def swept_globals(self) -> Dict[str, Any]:
        """Whole numbers of the module that a kernel in Numba reads."""
        read = {node.id for node in ast.walk(self.function) if isinstance(node, ast.Name)} if self.language == "Numba" else set()
        found = {}
        for name in self.source.assigned:
            try:
                if name in read and len(self.source.assigned[name]) == 1 and type(self.source.value(ast.Name(name))) is int:
                    found[name] = self.source.value(ast.Name(name))
            except (UnknownValue, ArithmeticError):
                pass
        return found

    def stride_of(self, name: str) -> Optional[Tuple[str, str]]:
        """The buffer of a stride, and its axis: a number from the launch, or a word of the name."""
        given, launch = self.launch.arguments.get(name), self.launch
        for _ in range(3):
            given = given.body if isinstance(given, ast.IfExp) else given
            found = launch.lookup(given.id, launch.line) if isinstance(given, ast.Name) else None
            if isinstance(given, ast.Subscript) and isinstance(given.value, ast.Name):
                of = launch.lookup(given.value.id, launch.line)
                at = getattr(given.slice, "value", None)
                if of and isinstance(of[1], ast.Tuple) and isinstance(at, int) and at < len(of[1].elts):
                    found = (of[0], of[1].elts[at])
            if found is None:
                break
            given = found[1]  # type: ignore[assignment]
        text = ast.unparse(given) if given is not None else ""
        said = re.fullmatch(r"(\w+)\.stride(?:\((-?\d+)\)|s?\(?\)?\[(-?\d+)\])", text)
        if said:
            passed = {ast.unparse(launch.arguments[one]): one for one in self.pointers if one in launch.arguments}
            if said[1] in passed:
                return passed[said[1]], said[2] or said[3]
        rest = re.sub(r"(?i)_?strides?_?|^ld(?=\w$)", "_", name).strip("_").lower()
        for one in sorted(self.pointers, key=len, reverse=True):
            base = re.sub(r"(?i)_?(ptr|ref)$", "", one).lower()
            label = rest[len(base):]
            if rest.startswith(base) and (label.startswith("_") or len(label) <= 1):
                return one, label.strip("_")
        return None

    def shape(self, name: str) -> Optional[List[str]]:
        """Extents of a buffer, by the launch or by the names of its strides; none if neither gives them."""
        given = self.launch.arguments.get(name)
        if isinstance(given, ast.Name) and given.id in self.whole:
            return [self.whole[given.id]]
        shape = self.launch.shape(given, self.launch.line) if given is not None else None
        labels = [of[1] for of in map(self.stride_of, self.strides) if of and of[0] == name]
        if shape is not None and len(labels) <= len(shape):
            for tensor, whole in self.whole.items():
                if self.launch.shape(ast.Name(tensor), self.launch.line) == shape:
                    return [whole]
            return [self.plain(one) for one in shape] or ["1"]
        if not labels or shape is not None:
            return None
        known = [self.named[one] for one in self.scalars if one not in self.strides and self.kind(one) == "extent"] + self.constants

        def dimension(label: str) -> Optional[str]:
            same = [one for one in known if one.lower() == label]
            like = [one for one in known if len(label) > 2 and label.rstrip("s") in one.lower()]
            return (same or like or [None])[0]

        found = [dimension(label) if not re.fullmatch(r"-?\d+", label) else None for label in labels]
        if len(labels) == 1 and re.search("row|^-2$" if self.whole else "row|^0$|^-2$|^$", labels[0]):
            columns = next((one for one in known if re.search("(?i)col|dim|^n$|^d$|hidden", one)), None)
            self.guessed.add(name)
            return [self.launch.dimension(found[0] or "rows"), columns] if columns else None
        return [one for one in found if one] if all(found) else None

    def stride(self, name: str) -> Optional[str]:
        """The stride of a contiguous buffer."""
        of = self.stride_of(name)
        shape = self.shapes.get(of[0]) if of else None
        if of is None or not shape:
            return None
        labels = [own[1] for own in map(self.stride_of, self.strides) if own and own[0] == of[0]]
        at = int(of[1]) if re.fullmatch(r"-?\d+", of[1]) else labels.index(of[1])
        if not -len(shape) <= at < len(shape):
            return None
        return " * ".join(self.number(one) if re.fullmatch(r"\w+", one) else f"({self.number(one)})" for one in shape[at % len(shape) + 1 :]) or "1"

    def kind(self, name: str) -> str:
        """`real`, `extent` or `whole` of a scalar."""
        of, note = self.types.get(name, ("", 0))[0], self.notes[name]
        given = self.launch.arguments.get(name)
        if of.startswith("f") or re.search(r"(?i)float", note) or not of and re.search(f"(?i){REAL}", name) and not re.search("int", note):
            return "real"
        value = self.literal(given)
        if isinstance(value, float):
            return "real"
        if isinstance(given, ast.BinOp) or isinstance(given, ast.Constant) or of == "bool":
            return "whole"
        return "whole" if name in self.strides or re.search(f"(?i){NO_EXTENT}", name) else "extent"

    def literal(self, given: Optional[ast.AST], line: Optional[int] = None) -> Any:
        """The value that a launch passes: a literal, a variable of its function, or the default of a parameter of that function."""
        line = self.launch.line if line is None else line
        if isinstance(given, ast.Name):
            found = self.launch.lookup(given.id, line)
            if found:
                return self.literal(found[1], found[0])
            given = self.launch.function and default(self.launch.function, given.id) or given
        if isinstance(given, ast.IfExp):
            return self.literal(given.body, line)
        if isinstance(given, ast.Compare) and re.search(" is (not )?None$", ast.unparse(given)):
            return "is not" in ast.unparse(given)
        try:
            return self.source.value(given)
        except (UnknownValue, ArithmeticError):
            return None

    def is_none(self, given: Optional[ast.AST]) -> bool:
        """Whether a launch passes `None`."""
        if isinstance(given, ast.Name) and self.launch.function is not None and not self.launch.lookup(given.id, self.launch.line):
            given = default(self.launch.function, given.id)
        return isinstance(given, ast.Constant) and given.value is None

    def size(self, extent: str) -> Optional[int]:
        """The number that a dimension or a size that is compiled in has."""
        return self.sizes.get(extent) or (int(self.fixed[extent]) if extent in self.fixed else None)

    def following(self, name: str) -> Optional[str]:
        """The expression over dimensions that a constexpr of Triton is; none if it is none, or if the grid needs its value."""
        given, heuristic = self.launch.arguments.get(name), self.heuristics.get(name)
        in_grid = name in re.findall(r"[A-Za-z_]\w*", " ".join(self.grid))
        if not self.follows_shape or in_grid and name not in self.dimensions or name in self.tuned:
            return None
        if name in self.dimensions:
            return name
        found = self.launch.lookup(given.id, self.launch.line) if isinstance(given, ast.Name) else None
        node, line = (found[1], found[0]) if found else (given, self.launch.line)
        body = heuristic.body if isinstance(heuristic, ast.Lambda) else None
        try:
            text = self.launch.expression(body if body is not None else node, line)
        except UnknownValue:
            return None
        words = set(re.findall(r"[A-Za-z_]\w*", text)) - {"ceil", "log2", "min", "max"}
        return text if words and words <= set(self.dimensions) else None

    def constant(self, name: str) -> Tuple[List[Any], str]:
        """Values of a constexpr, and a mark: empty if the source gives them."""
        if name in self.fixed:
            return [int(self.fixed[name])], "CHECK: a size of the launch; shapes repeat it as a number"
        heuristic, given = self.heuristics.get(name), self.launch.arguments.get(name)
        value = self.literal(given if given is not None else default(self.function, name))
        text = ast.unparse(heuristic) if heuristic is not None else ""
        if heuristic is not None and (value is None or "None" in text):
            told = re.search(r"""\[['"](\w+)['"]\] is (not )?None""", text)
            if told:
                return [(told[1] in self.absent) != bool(told[2])], f"CHECK: `@triton.heuristics` computes it: {text}"
            of = re.search(r"""next_power_of_2\(\w+\[['"](\w+)['"]\]\)""", text)
            size = self.size(of[1]) if of else None
            if size:
                return [1 << (size - 1).bit_length()], f"CHECK: `@triton.heuristics` computes it: {text}"
            mark = "CHECK" if re.search(FLAG, name) else "FILL"
            return [False if mark == "CHECK" else f"FILL_{name}"], f"{mark}: `@triton.heuristics` computes it: {text}"
        passed = given if given is not None else default(self.function, name)
        if isinstance(value, (bool, int, float)) or isinstance(value, str) and re.fullmatch(r"[^ @,=]+", value) or value is None and self.is_none(passed):
            return ["None" if value is None else value], "CHECK: as the source passes it"
        found = self.launch.lookup(given.id, self.launch.line) if isinstance(given, ast.Name) else None
        for node in ast.walk(found[1] if found else given) if found or given is not None else ():
            try:
                extent = self.launch.expression(node, self.launch.line) if isinstance(node, (ast.Name, ast.Subscript)) else ""
            except UnknownValue:
                continue
            size = self.size(extent)
            if size and re.search(TILE, name):
                return [1 << (size - 1).bit_length()], f"CHECK: computed from `{extent}`; a tile of a row must hold the row"
        if re.search(FLAG, name) or found and isinstance(found[1], (ast.Compare, ast.BoolOp)):
            return [False], "CHECK: a guess"
        if re.search(TILE, name):
            return [64, 128], "CHECK: usual values"
        return [f"FILL_{name}"], "FILL: a value that the source does not give"

    def sweep(self) -> str:
        """Constexprs, options of the compiler, and the configurations of an autotuner, which are no product in general."""
        configs, tuned = self.source.configurations(self.name), self.tuned
        # Defaults of Triton.
        rows = [{"num_warps": 4, "num_stages": 3, **config} for config in configs or []]
        rows = [{key: "None" if row[key] is None else row[key] for key in tuned} for row in rows if set(tuned) <= set(row)]
        lines = []
        for name in self.constants:
            if name not in tuned and not self.following(name):
                values, mark = self.constant(name)
                lines.append(f"{name} = {quoted(values)} # {mark}\n")
        lines += [f"{name} = [1] # a contiguous axis, as Triton's launcher specialises it\n" for name in self.fixed_strides()]
        lines += [f"{name} = [{value}] # CHECK: a constant of the module: add values to try\n" for name, value in self.swept_globals().items()]
        if self.language == "Numba" and not self.block:
            lines.append("THREADS = [128, 256] # CHECK: usual values\n")
        if configs is None:
            lines.append("# FILL: values of `@triton.autotune`, which the file computes\n")
        if self.follows_shape and "num_warps" not in [*tuned, *self.constants]:
            given = self.literal(self.launch.arguments.get("num_warps"))
            mark = "as the source passes it" if type(given) is int else "usual values"
            lines.append(f"num_warps = {[given] if type(given) is int else [4, 8]} # CHECK: {mark}\n")
        values = {key: list(dict.fromkeys(row[key] for row in rows)) for key in tuned}
        lines += [f"{key} = {quoted(one)} # of `@triton.autotune`\n" for key, one in values.items()]
        product, distinct = math.prod(map(len, values.values())), list({str(row): row for row in rows}.values())
        if tuned and len(distinct) < product:
            conditions = [" and ".join(f"{key} == {quoted(value)}" for key, value in row.items()) for row in distinct]
            lines.append("# The configurations of `@triton.autotune`.\nwhere = \"\"\"\n" + "\n or ".join(conditions) + "\n\"\"\"\n")
        return "\n[sweep]\n" + "".join(lines) if lines else ""

    def constexpr_lines(self) -> str:
        follow = {name: self.following(name) for name in self.constants}
        lines = "".join(f"{name} = {quoted(text)}\n" for name, text in follow.items() if text)
        return f"# CHECK: constexprs that follow the shape.\n[kernel.constexprs]\n{lines}" if lines else ""

    def fixed_strides(self) -> List[str]:
        return [name for name in self.strides if self.follows_shape and self.stride(name) == "1"]

    def buffer_lines(self) -> Tuple[List[str], List[Tuple[str, List[str], str]]]:
        lines, buffers = [], []
        roles = {name: self.uses.get(name, set()) for name in self.pointers}
        for name in self.pointers:
            if name in self.absent and self.language != "CuTe DSL":
                continue
            how, own, dtype, mark = roles[name], self.named[name], self.types.get(name, ("", 0))[0], ""
            given = self.launch.arguments.get(name)
            made = self.launch.lookup(given.id, self.launch.line) if isinstance(given, ast.Name) else None
            of = re.search(r"dtype=(?:\w+\.)?(\w+)", ast.unparse(made[1])) if made else None
            dtype = dtype or TORCH.get(of[1] if of else "", "") or ("i32" if re.search(f"(?i){WHOLE}", name) else "f32")
            shape = [self.number(one) for one in self.shapes.get(name) or []]
            mark = " # CHECK: extents, a guess" if name in self.guessed else ""
            if not shape:
                rank = self.types.get(name, ("", 0))[1] or self.rank(name) or min(len(self.dimensions), 3)
                shape, mark = (self.dimensions * rank)[:rank], " # FILL: extents, which the source does not give"
            role = f', role = "{"output" if READ not in how else "inout"}"' if how & {WRITTEN, ADDED} else ""
            init = ", init = { constant = 0 }" if ADDED in how and READ not in how and WRITTEN not in how else ""
            init = init or (", init = { indices = 16 }" if dtype[0] in "iu" and "output" not in role else "")
            lines.append(f'{own} = {{ dtype = "{dtype}", shape = {quoted(shape)}{role}{init} }}{mark}\n')
            buffers.append((own, shape, dtype if not role else f"{dtype} {role}"))
        if not any("role" in line for line in lines):
            lines.insert(0, '# FILL: no output was found; give each buffer that the kernel writes `role = "output"` or "inout".\n')
        return lines, buffers

    def rank(self, name: str) -> int:
        """The most indices in one subscript of an array."""
        nodes = (node for node in ast.walk(self.function) if isinstance(node, ast.Subscript) and ast.unparse(node.value) == name)
        return max((len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1 for node in nodes), default=0)

    def argument_line(self, name: str) -> str:
        own, of = self.named[name], self.types.get(name, ("i32", 0))[0]
        if name in self.absent:
            return '  "nullptr", # CHECK: `None` for `' + own + "`, which the source may leave out\n"
        if name in self.pointers:
            return f'  "{own}",\n'
        kind = self.kind(name)
        if kind == "real" or kind == "extent" and of == "i32":
            return f'  "{own}",\n'
        if kind == "extent":
            return f'  {{ value = "{own}", type = "{of}" }},\n'
        if name in self.strides:
            value = self.stride(name)
            last = self.dimensions[-1]
            guess = "" if value else ", a guess: the last extent"
            return f'  {{ value = "{value or last}", type = "{of}" }}, # CHECK: `{own}`{guess}\n'
        try:
            value = self.number(self.launch.expression(self.launch.arguments.get(name), self.launch.line))
            if not set(re.findall(r"[A-Za-z_]\w*", value)) <= {*self.dimensions, *self.constants}:
                raise UnknownValue
            return f'  {{ value = "{value}", type = "{of}" }}, # CHECK: `{own}`, as the source passes it\n'
        except UnknownValue:
            return f'  {{ value = "FILL_{own}", type = "{of}" }}, # FILL: a value for `{own}`\n'

    def launch_lines(self) -> str:
        if self.language == "CuTe DSL":
            return ""
        grid = [self.number(one) for one in self.grid]
        lines = "# CHECK: blocks of the grid, as the source launches it.\n"
        if not grid:
            lines = "# FILL: blocks of the grid per axis, which the file does not give, such as [\"(N + 255) // 256\"].\n"
        lines += f"grid = {quoted(numbers(grid) or ['FILL_grid'])}\n"
        if self.language == "Numba":
            lines += f"# CHECK: threads of a block, {'as the source launches it' if self.block else 'a guess'}.\n"
            lines += f"block = {quoted(numbers(self.block) or ['THREADS'])}\n"
        return lines

    def files(self) -> List[Tuple[str, str]]:
        """The phase and its reference, with their texts."""
        stem = self.output.stem
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", stem):
            raise ProblemError(f"`{stem}` is not a name of a phase; choose another file with --output")
        reference = self.output.with_name(f"{stem}_reference.py")
        root = project_root(pathlib.Path(os.path.abspath(self.output)).parent).resolve()

        def path(file: pathlib.Path) -> str:
            whole = pathlib.Path(os.path.abspath(file)).resolve()
            return str(whole.relative_to(root) if root in whole.parents else whole)

        lines, buffers = self.buffer_lines()
        outputs = [(name, of.split()[0]) for name, _, of in buffers if " " in of]
        bound = max([TOLERANCES.get(of, 0) for _, of in outputs] or [1e-5])
        moved = moved_bytes((BYTES[of.split()[0]] * (2 if "inout" in of else 1), shape) for _, shape, of in buffers)
        reals = [name for name in self.scalars if self.kind(name) == "real" and name not in self.absent]
        scalars = "".join(self.real_line(name) for name in reals)
        small = {name: self.tails[at % len(self.tails)] for at, name in enumerate(self.sizes)}
        has_tails = re.search(r"mask=|boundary_check|if ", ast.unparse(self.function))
        arguments = "".join(self.argument_line(name) for name in self.runtime if name not in self.fixed_strides())
        python = quoted(f"{path(self.file)}:{self.name}")
        inputs = [name for name, _, of in buffers if " " not in of or "inout" in of]
        what = ", ".join(name for name, _ in outputs) or "every buffer that the kernel writes"
        phase = (
            f"# Drafted by `ncugate init` from {path(self.file)}, `{self.name}` ({self.language}). Lines with CHECK are guesses: compare them\n"
            f"# with the kernel. Lines with FILL are for you to write.\n#\n#     ncugate check {self.output} --arch sm_90\n"
            f'#     ncugate run {self.output}\n\n[phase]\nname = "{stem}"\n\n[workload]\nseeds = [0, 1, 2]\n'
            f"# FILL: write the reference in NumPy.\nreference = {{ python = {quoted(f'{path(reference)}:reference')} }}\n"
            "# CHECK: a usual bound for the type of the output.\n"
            f"tolerance = {{ {f'rel_l2 = {bound}' if bound else 'max_abs = 0'} }}\n"
            + (f"# CHECK: minimum bytes that a launch moves: every input read once, every output written once.\nbytes = {quoted(moved)}\n" if moved else "")
            + (f"\n# CHECK: use the values of your application.\n[workload.scalars]\n{scalars}" if scalars else "")
            + "\n# CHECK: use the sizes of your application.\n[workload.shapes]\n"
            + ("# Sizes with tails: checked, never timed.\n" if has_tails else "# No mask was found. If the kernel takes sizes other than whole tiles, add:\n# ")
            + f"ragged = {quoted(small)}\nlarge = {quoted(self.sizes)}\n"
            + ('\n[bench]\nshapes = ["large"]\n\n[profile]\nshapes = ["large"]\n' if has_tails else "")
            + "\n# CHECK: extents in elements, outermost first, types, and roles: input, output, or inout for both.\n[workload.buffers]\n"
            + "".join(lines)
            + f"\n[kernel]\npython = {python}\n{self.launch_lines()}args = [\n{arguments}]\n{self.constexpr_lines()}{self.sweep()}"
            "\n# This gate needs no timing. Measure first, then add a limit for the latency,\n"
            '# require = "latency_p50 <= 100 us", or a comparison with a [[baseline]], "speedup() >= 1.1".\n'
            '[[gate]]\nname = "no spills"\nrequire = "spills == 0"\non = "each"\n'
        )
        function = (
            f'"""What `{self.name}` should compute: inputs are arrays of float64, sizes are whole numbers."""\n\nimport numpy as np\n\n\n'
            f"def reference({', '.join([*inputs, *self.sizes, *map(self.named.get, reals)])}):\n"
            f'    # FILL: return {{"NAME": the correct array}} for {what}.\n    raise NotImplementedError("compute {what} here, in NumPy")\n'
        )
        return [(str(self.output), phase), (str(reference), function)]

    def real_line(self, name: str) -> str:
        value = self.literal(self.launch.arguments.get(name))
        value = value if isinstance(value, (int, float)) and not isinstance(value, bool) else 1e-5 if "eps" in name.lower() else 0.5
        return f'{self.named[name]} = {{ type = "{self.types.get(name, ("f32", 0))[0]}", value = {value} }}\n'


def main(words: Optional[List[str]] = None) -> int:
    """Prints the files as JSON; returns the exit status."""
    parser = argparse.ArgumentParser(prog="ncugate init", allow_abbrev=False)
    parser.add_argument("file")
    for option in ("--output", "--kernel"):
        parser.add_argument(option)
    args = parser.parse_args(words)
    file, colon, kernel = args.file.rpartition(":")
    named = (args.file, args.kernel) if not colon or os.path.exists(args.file) else (file, kernel)
    return print_files(args.file, lambda: KernelDraft(*named, args.output).files())


if __name__ == "__main__":
    sys.exit(main())

"""Python files that call other projects' functions with ncugate's inputs. They measure no time and compare nothing."""

from __future__ import annotations

import json
import pathlib
from typing import Callable, Iterable, List, Union

from ._phase import Tensor

Argument = Union[str, Tensor]


def literals(words: Iterable[str]) -> str:
    """A tuple of texts."""
    return "(" + " ".join(json.dumps(word) + "," for word in words) + ")"


def with_axes(tensor: Tensor) -> str:
    return f"with_axes({json.dumps(tensor.name)}, {tensor.name})"


def passed(arguments: Iterable[Argument], how: Callable[[Tensor], str]) -> List[str]:
    """Arguments in a call: numbers as they are, tensors as `how` renders them."""
    return [one if isinstance(one, str) else how(one) for one in arguments]


def typed(tensors: Iterable[Tensor]) -> str:
    """Parameters of a reference, which are tensors of PyTorch."""
    return ", ".join(f"{one.name}: torch.Tensor" for one in tensors)


def module(
    doc: str, imports: Iterable[str], tensors: List[Tensor], outputs: Iterable[Tensor], parts: Iterable[str], body: str
) -> str:
    """A file: its imports, facts of the tensors, functions of the folder `calls`, and those of this problem."""
    folder = pathlib.Path(__file__).resolve().parent / "calls"
    functions = "\n\n".join((folder / f"{part}.py").read_text(encoding="utf-8") for part in (*parts, "answers"))
    types = "".join(f'    {json.dumps(one.name)}: "{one.dtype}",\n' for one in tensors)
    facts = f"TYPES = {{\n{types}}}\nWITHOUT_AXES = {literals(one.name for one in tensors if not one.shape)}\n"
    names = literals(one.name for one in outputs)
    return f'"""{doc}"""\n\n{"".join(line + chr(10) for line in imports)}\n{facts}OUTPUTS = {names}\n\n\n{functions}\n\n{body}'

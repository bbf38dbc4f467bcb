"""Describes the inputs that a Python file creates. It parses the file and executes nothing.

An unsupported expression becomes a sentence in its place; a changed meaning becomes a note.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, List

from ._files import LARGEST_PYTHON, FileError, ProblemError, text_of
from ._phase import Tensor
from ._scope import FILLS, SAME, Scope, Unknown, dotted


def constants(tree):
    """Constants of the module: numbers and tuples of numbers."""
    scope = Scope({})
    for node in tree.body:
        pairs = []
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs += zip(target.elts, node.value.elts)
                else:
                    pairs.append((target, node.value))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        for target, value in pairs:
            if not isinstance(target, ast.Name):
                continue
            scope.constants.pop(target.id, None)
            try:
                if isinstance(value, (ast.Tuple, ast.List)):
                    scope.constants[target.id] = tuple(scope.number(one) for one in value.elts)
                else:
                    scope.constants[target.id] = scope.number(value)
            except Unknown:
                pass
    return scope.constants


def returned(scope, function):
    """The results of the function, in order, with their names if they have one."""
    for node in function.body:
        if isinstance(node, ast.Assign):
            value = node.value
            for target in node.targets:
                scope.assign(target, value)
                # `a = b = torch.empty(N)`: one tensor with two names
                value = ast.copy_location(ast.Name(target.id, ast.Load()), node) if isinstance(target, ast.Name) else value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            scope.assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            scope.augment(node)
        elif isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom, ast.Pass)):
            continue
        elif isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if is_sequence(node.value) else [node.value]
            return [part(scope, one) for one in parts], not is_sequence(node.value)
        elif any(isinstance(one, ast.Return) for one in ast.walk(node)) and not isinstance(node, ast.FunctionDef):
            raise Unknown(node, "is not supported")
        elif isinstance(node, ast.Expr) and fills(node.value):
            try:
                scope.tensor(node.value)
            except Unknown:
                scope.forget(node)
        else:
            scope.forget(node)  # a docstring and the seed of a generator have no effect
    raise Unknown(function, "returns nothing")


def fills(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FILLS


def part(scope, node):
    inner = node
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in SAME:
        inner = inner.func.value
    name = inner.id if isinstance(inner, ast.Name) else None
    try:
        return {"name": name, "tensor": scope.tensor(node)}
    except Unknown as error:
        unknown = error
    try:
        number = scope.number(node)
        if number - number == 0:
            return {"name": name, "number": repr(number)}
    except Unknown:
        pass
    return {"name": name, "unknown": str(unknown), "asked": unknown.name}


def parameters(function):
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [argument.arg for argument in arguments if argument.arg != "self"]


def defaults(function):
    """Optional parameters with their defaults; None for a default that is not an integer."""
    placed = [*function.args.posonlyargs, *function.args.args]
    pairs = [*zip(reversed(placed), reversed(function.args.defaults)), *zip(function.args.kwonlyargs, function.args.kw_defaults)]
    value = lambda node: node.value if isinstance(node, ast.Constant) and is_whole(node.value) else None
    return {argument.arg: value(default) for argument, default in pairs if default is not None}


def is_whole(value):
    return type(value) is int and abs(value) < 1 << 63


def is_sequence(value):
    return isinstance(value, (ast.Tuple, ast.List))


def bounds(tree, constants):
    """`rtol` and `atol` of a module-level `make_match_reference(...)`; None without such a call."""
    for node in tree.body:
        call = node.value if isinstance(node, ast.Assign) else None
        if isinstance(call, ast.Call) and dotted(call.func) == "make_match_reference":
            words = {word.arg: word.value for word in call.keywords}
            try:
                return {key: Scope(constants).number(words[key]) for key in ("rtol", "atol") if key in words}
            except Unknown:
                return None
    return None


class Description:
    """The contents of a file: the results of `function`, and the parameters of `forward` of the class `model`.

    `given` describes tensors of the function by name, in place of what the file says.
    """

    def __init__(self, path: Any, function: str = "", model: str = "", given: List[Tensor] = []) -> None:
        try:
            tree = ast.parse(text_of(path, LARGEST_PYTHON), str(path))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise FileError(f"cannot parse {path}: {error}") from error
        known = constants(tree)
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self.functions, self.classes = set(functions), set(classes)
        # Whole numbers of the module, parameters of the function, and those with a default: a whole number or None.
        self.constants = {name: value for name, value in known.items() if is_whole(value)}
        self.forward: "List[str] | None" = None
        self.parameters: List[str] = []
        self.defaults: "Dict[str, int | None]" = {}
        # The results in order, or why they are unknown; whether there is one and no sequence.
        self.returned: "List[Dict[str, Any]] | None" = None
        self.problem, self.single = "it is missing", False
        self.notes: List[str] = []
        self.bounds = bounds(tree, known)
        # Constants and parameters in extents, and names that the function assigns.
        self.used, self.assigned = set(), set()  # type: ignore[var-annotated]
        for node in classes[model].body if model in classes else []:
            if isinstance(node, ast.FunctionDef) and node.name == "forward":
                self.forward = parameters(node)
        if function in functions:
            self.parameters, self.defaults = parameters(functions[function]), defaults(functions[function])
            # A parameter of `forward` refers to the passed value, not to a value with the same name here.
            of_here = {one.name: one for one in given if one.name not in (self.forward or [])}
            tables = {name: {"dtype": one.dtype, "shape": one.shape, "init": one.init} for name, one in of_here.items()}
            scope = Scope(known, self.parameters, tables)
            try:
                self.returned, self.single = returned(scope, functions[function])
            except Unknown as error:
                self.problem = str(error)
                found = [node for node in ast.walk(functions[function]) if isinstance(node, ast.Return)]
                self.single = not any(is_sequence(node.value) for node in found)
            shapes = [part["tensor"]["shape"] for part in self.returned or [] if "tensor" in part]
            words = {word for shape in shapes for extent in shape for word in re.findall(r"[A-Za-z_]\w*", extent)}
            self.used = words & (set(known) | set(self.parameters))
            self.notes, self.assigned = scope.notes, set(scope.values)

    def inputs(
        self, names: "List[str] | None", given: List[Tensor], problem: str, function: str
    ) -> "tuple[List[Tensor], List[str | Tensor]]":
        """The tensors that the function returns, and the arguments of a call with its numbers as literals.

        Names are the given ones or else their own. Tensors of the command line override the parsed ones.
        """
        described = {one.name: one for one in given}

        def unknown(missing: "List[tuple[str, str]]") -> ProblemError:
            why = "; ".join(dict.fromkeys(why for why, _ in missing))
            asked = list(dict.fromkeys(f'--input "{name}=f32[EXTENT, ...]"' for _, name in missing))
            return ProblemError(
                f"{problem}: {function}: {why}; describe {'it' if len(asked) == 1 else 'them'} with {' '.join(asked)}"
            )

        if self.returned is None:
            # Either the command line describes everything, or nothing is known.
            tensors = [described[name] for name in names if name in described] if names is not None else given
            if not tensors or (names is not None and len(tensors) < len(names)):
                raise unknown([(self.problem, "NAME")])
            return list(tensors), list(tensors)
        if names is not None and len(self.returned) > len(names):
            counts = f"returns {len(self.returned)} inputs, but forward takes {len(names)} ({', '.join(names)})"
            raise ProblemError(f"{problem}: {function} {counts}")
        tensors, arguments, missing = [], [], []  # type: ignore[var-annotated]
        for at, part in enumerate(self.returned):
            own = part["name"] if part["name"] not in [None, *(one.name for one in tensors)] else f"input{at}"
            name = names[at] if names is not None else own
            made = part.get("tensor")
            if name in described or made:
                tensor = described.get(name) or Tensor(name, made["dtype"], made["shape"], made["empty"], made["init"])
                tensors.append(tensor)
                arguments.append(tensor)
            elif "number" in part:
                arguments.append(part["number"])
            else:
                asked = part["asked"]
                if asked == part["name"] or asked in (names or []):
                    asked = None
                missing.append((part["unknown"], asked or name))
        if missing:
            raise unknown(missing)
        for one in given:
            if one.name not in self.assigned and one not in tensors:
                raise ProblemError(f"{problem}: --input describes `{one.name}`, which {function} does not create")
        return tensors, arguments

"""A kernel in Triton, Gluon, Numba or CuTe DSL as its source shows it: signature, decorators, use of its parameters, and its launch.

The file is parsed, and never imported.
"""

from __future__ import annotations

import ast
import itertools
import operator
import re
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple, Union

from .problem._files import ProblemError

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
# The decorators of kernels, by the end of their dotted names.
LANGUAGES = {
    r"(^|\.)triton\.jit$": "Triton",
    r"(^|\.)gluon\.jit$": "Gluon",
    r"(^|\.)cuda\.jit$": "Numba",
    r"(^|\.)cute\.jit$": "CuTe DSL",
    r"(^|\.)cute\.kernel$": "a device function of CuTe DSL",
}
DRAFTED = ("Triton", "Gluon", "Numba", "CuTe DSL")
OPTIONS = ("num_warps", "num_stages", "maxnreg")
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
# Values of a comprehension: more are no list that somebody tunes over.
MOST_VALUES = 4096
READ, WRITTEN, ADDED = "read", "written", "added"


class UnknownValue(Exception):
    """An expression that the source does not determine."""


def statements(body: List[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those under `if` and `try` included."""
    for one in body:
        yield one
        for inner in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(one, (ast.If, ast.Try, ast.ExceptHandler, ast.With)):
                yield from statements(getattr(one, inner, []))


def called(node: ast.AST) -> str:
    """The last word of the function that an expression calls; empty if it calls none."""
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


class PythonSource:
    """A Python file: functions, kernels, and constants."""

    def __init__(self, text: str, file: str) -> None:
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            raise ProblemError(f"{file}: {error}") from error
        self.lines = text.splitlines()
        self.functions: Dict[str, Function] = {}
        self.imports: Dict[str, str] = {}
        self.assigned: Dict[str, List[ast.expr]] = {}
        # Each kernel's language, and its decorators.
        self.kernels: Dict[str, Tuple[str, List[ast.expr]]] = {}
        self.classes: Dict[str, ast.ClassDef] = {}
        for one in statements(self.tree.body):
            if isinstance(one, (ast.Import, ast.ImportFrom)):
                module = f"{one.module or ''}." if isinstance(one, ast.ImportFrom) else ""
                self.imports.update({name.asname or name.name: module + name.name for name in one.names})
            elif isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions[one.name] = one
                self.decorate(one.name, one.decorator_list)
            elif isinstance(one, ast.ClassDef):
                self.classes[one.name] = one
                call = next((own for own in one.body if isinstance(own, ast.FunctionDef) and own.name == "__call__"), None)
                if call is not None:
                    self.functions[one.name] = call
                    self.decorate(one.name, call.decorator_list)
            elif isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value is not None:
                targets = one.targets if isinstance(one, ast.Assign) else [one.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        self.assigned.setdefault(target.id, []).append(one.value)
                        # `kernel = triton.jit(kernel)`
                        if target.id in self.functions:
                            self.decorate(target.id, [call for call in ast.walk(one.value) if isinstance(call, ast.Call)])

    def decorate(self, name: str, decorators: List[ast.expr]) -> None:
        earlier = self.kernels[name][1] if name in self.kernels else []
        for one in decorators:
            dotted = ast.unparse(one.func if isinstance(one, ast.Call) else one)
            first, _, rest = dotted.partition(".")
            dotted = self.imports.get(first, first) + (f".{rest}" if rest else "")
            language = next((language for form, language in LANGUAGES.items() if re.search(form, dotted)), None)
            if language:
                self.kernels[name] = (language, earlier + decorators)
                return
        if earlier:
            self.kernels[name] = (self.kernels[name][0], earlier + decorators)

    def launched(self) -> List[str]:
        """Kernels that no other kernel calls as a function, in the order of the file."""
        inner = {
            node.func.id
            for name in self.kernels
            for node in ast.walk(self.functions[name])
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id != name
        }
        return [name for name, (language, _) in self.kernels.items() if language in DRAFTED and name not in inner]

    def host_of(self, device: str) -> Optional[str]:
        """The function under `@cute.jit` that launches a device function."""
        hosts = [name for name, (language, _) in self.kernels.items() if language == "CuTe DSL"]
        return next((name for name in hosts if any(called(one) == device for one in ast.walk(self.functions[name]))), None)

    def value(self, node: Optional[ast.AST], names: Optional[Dict[str, Any]] = None) -> Any:
        """The value of a literal, a constant of the module, or a list that is computed from such."""
        names = names or {}
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            parts = [self.value(one.value, names) if isinstance(one, ast.Starred) else [self.value(one, names)] for one in node.elts]
            return list(itertools.chain(*parts))
        if isinstance(node, ast.Dict):
            return {self.value(key, names): self.value(one, names) for key, one in zip(node.keys, node.values)}
        if isinstance(node, ast.Name):
            if node.id in names:
                return names[node.id]
            if len(self.assigned.get(node.id, [])) == 1:
                return self.value(self.assigned[node.id][0])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.value(node.operand, names)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            left, right = self.value(node.left, names), self.value(node.right, names)
            # `[0] * 10 ** 12`
            if type(left) is type(right) and (isinstance(left, (int, float)) or isinstance(node.op, ast.Add)):
                return OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.IfExp):
            try:
                return self.value(node.body if self.value(node.test, names) else node.orelse, names)
            except UnknownValue:
                return self.value(node.orelse, names)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            scopes = [names]
            for one in node.generators:
                if not isinstance(one.target, ast.Name):
                    raise UnknownValue
                scopes = [{**scope, one.target.id: item} for scope in scopes for item in self.value(one.iter, scope)]
                if len(scopes) > MOST_VALUES:
                    raise UnknownValue
            return [self.value(node.elt, scope) for scope in scopes]
        if isinstance(node, ast.Call):
            function, given = called(node), node.args
            if function == "Config":
                options = {one.arg: self.value(one.value, names) for one in node.keywords if one.arg in OPTIONS}
                own = given[0] if given else next((one.value for one in node.keywords if one.arg == "kwargs"), ast.Dict([], []))
                return {**self.value(own, names), **options}
            if function in ("list", "filter", "tuple", "int", "constexpr") and given:
                return self.value(given[-1], names)
            if not given and not node.keywords and function in self.functions:
                returns = [one for one in ast.walk(self.functions[function]) if isinstance(one, ast.Return)]
                return self.value(min(returns, key=lambda one: one.lineno).value if returns else None)
        raise UnknownValue

    def configurations(self, name: str) -> Optional[List[Dict[str, Any]]]:
        """The configurations of `@triton.autotune`: empty without the decorator, none if they cannot be read."""
        for one in self.kernels[name][1]:
            given = [word.value for word in one.keywords if word.arg == "configs"] if isinstance(one, ast.Call) else []
            if isinstance(one, ast.Call) and called(one) == "autotune" and one.args:
                given.append(one.args[0])
            if given:
                try:
                    return [dict(config) for config in self.value(given[0])]
                except (UnknownValue, TypeError, ValueError, ArithmeticError):
                    return None
        return []

    def noted_extents(self, name: str) -> Dict[str, List[str]]:
        """Extents in the comments of a kernel's parameters: `x_ptr,  # [batch, dim]`, `# shape (batch, dim)`."""
        form = r"[^#]*#.*?(?:\[|shape\s*\()\s*(\w+(?:\s*,\s*\w+)*),?\s*[\])]"
        found = {one.arg: re.match(form, self.lines[one.lineno - 1]) for one in parameters(self.functions[name])}
        return {name: re.findall(r"\w+", extents[1]) for name, extents in found.items() if extents}

    def heuristics(self, name: str) -> Dict[str, ast.expr]:
        """The parameters that `@triton.heuristics` computes."""
        found: Dict[str, ast.expr] = {}
        for one in self.kernels[name][1]:
            if isinstance(one, ast.Call) and called(one) == "heuristics" and one.args and isinstance(one.args[0], ast.Dict):
                found.update({str(getattr(key, "value", "")): value for key, value in zip(one.args[0].keys, one.args[0].values)})
        return found

    def uses(self, function: Function, seen: Tuple[str, ...] = ()) -> Dict[str, Set[str]]:
        """The use of each parameter that is a pointer or an array; those of device functions of the file are followed."""
        names = [one.arg for one in parameters(function)]
        sources = {name: name for name in names}
        uses: Dict[str, Set[str]] = {}
        # What is multiplied or compared is a number. In CuTe only operands are accesses, and other subscripts are views.
        numbers: Set[str] = set()
        operands: Set[int] = set()
        is_cute = any(language == "CuTe DSL" for language, _ in self.kernels.values())
        for node in ast.walk(function):
            if isinstance(node, ast.BinOp):
                operands.update((id(node.left), id(node.right)))
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.FloorDiv, ast.Div, ast.Mod)):
                numbers.update(one.id for one in (node.left, node.right) if isinstance(one, ast.Name))
            elif isinstance(node, ast.Compare) and not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
                numbers.update(one.id for one in (node.left, *node.comparators) if isinstance(one, ast.Name))

        def source(node: ast.AST) -> Optional[str]:
            """The parameter that an address or a view is computed from: the first one of a sum, or of a call's arguments."""
            if isinstance(node, ast.Name):
                return None if node.id in numbers and node.id in names else sources.get(node.id)
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
                return source(node.left) or source(node.right)
            if isinstance(node, ast.IfExp):
                return source(node.body) or source(node.orelse)
            if isinstance(node, ast.Subscript):
                return source(node.value)
            if isinstance(node, ast.Call) and not re.match(r"load|atomic|arange|program_id|sum|max|dot|zeros|full|make_(?!block_ptr|tensor)|\w+_like", called(node)):
                own = [node.func.value] if isinstance(node.func, ast.Attribute) else []
                return next(filter(None, map(source, [*own, *node.args, *(word.value for word in node.keywords)])), None)
            return None

        def use(node: ast.AST, how: str) -> None:
            of = source(node)
            if of is not None:
                uses.setdefault(of, set()).add(how)

        ordered = sorted((node for node in ast.walk(function) if hasattr(node, "lineno")), key=lambda node: (node.lineno, node.col_offset))
        for node in ordered:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    pairs = [(target, node.value)]
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        pairs = list(zip(target.elts, node.value.elts))
                    for left, right in pairs:
                        of = source(right)
                        if isinstance(left, ast.Name) and left.id not in names and of is not None:
                            sources[left.id] = of
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and (isinstance(node.ctx, ast.Store) or not is_cute or id(node) in operands):
                use(node, READ if isinstance(node.ctx, ast.Load) else WRITTEN)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
                use(node.target, READ)
            if not isinstance(node, ast.Call):
                continue
            word, given = called(node), node.args + [one.value for one in node.keywords if one.arg in ("pointer", "ptr")]
            owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if word == "store" and owner.endswith(("tl", "gl", "language")) and given:
                use(given[0], WRITTEN)
            elif word == "store" and owner:
                use(node.func.value, WRITTEN)  # type: ignore[attr-defined]
            elif owner.endswith("atomic") or word.startswith("atomic_"):
                use(given[0], ADDED) if given else None
            elif word in ("copy", "autovec_copy", "basic_copy") and len(given) > 1:
                # An atom comes first, if there is one.
                source_of, target = given[:2] if word != "copy" else given[1:3] if len(given) > 2 else given[:2]
                use(source_of, READ)
                use(target, WRITTEN)
            elif word == "load":
                use(given[0] if owner.endswith(("tl", "gl", "language")) and given else getattr(node.func, "value", node), READ)
            elif word in self.functions and word not in seen and len(seen) < 8:
                inner = self.functions[word]
                arguments = [one.arg for one in parameters(inner) if one.arg != "self"]
                passed = [*zip(arguments, node.args), *((one.arg or "", one.value) for one in node.keywords)]
                of_inner = self.uses(inner, (*seen, function.name, word))
                for name, argument in passed:
                    for how in of_inner.get(name, ()):
                        use(argument, how)
            elif word in ("async_copy_global_to_shared", "make_block_ptr", "make_tensor_descriptor"):
                use(given[-1 if word.startswith("async") else 0], READ) if given else None
        return uses


def parameters(function: Function) -> List[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def default(function: Function, name: str) -> Optional[ast.expr]:
    """The default of a parameter."""
    positional = [*function.args.posonlyargs, *function.args.args]
    pairs = [*zip(reversed(positional), reversed(function.args.defaults)), *zip(function.args.kwonlyargs, function.args.kw_defaults)]
    return next((value for one, value in pairs if one.arg == name), None)


class KernelLaunch:
    """The first `kernel[grid](...)` of the file, in the function around it."""

    def __init__(self, source: PythonSource, kernel: str) -> None:
        self.source, self.function = source, None
        self.arguments: Dict[str, ast.expr] = {}
        self.configuration: List[ast.expr] = []
        self.line = 0
        # Assignments of the function by name, in order: line and value.
        self.scope: Dict[str, List[Tuple[int, ast.AST]]] = {}
        # Texts of the launch that are a name of the phase, extents by tensor, and dimensions that were met.
        self.names: Dict[str, str] = {}
        self.dimensions: List[str] = []
        found: Optional[Tuple[ast.Call, Optional[Function]]] = None
        functions = [one for one in ast.walk(source.tree) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for function in [None, *functions]:
            for node in ast.walk(function or source.tree):
                of = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) else None
                if isinstance(node, ast.Call) and kernel == (of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", None)):
                    # The innermost function, since `walk` meets outer ones first.
                    if found is None or node.lineno <= found[0].lineno:
                        found = (node, function)
        if found is None:
            return
        call, self.function = found
        self.line = call.lineno
        slices = call.func.slice  # type: ignore[attr-defined]
        # Python 3.8 had `Index`; a tuple of Triton is the grid, and one of Numba has the block too.
        is_pair = isinstance(slices, ast.Tuple) and source.kernels[kernel][0] == "Numba"
        self.configuration = list(slices.elts) if is_pair else [slices]
        names, own = [one.arg for one in parameters(source.functions[kernel])], []
        for one in call.args:
            inner = one.value if isinstance(one, ast.Starred) else None
            inner = inner.body if isinstance(inner, ast.IfExp) else inner
            own += list(inner.elts) if isinstance(inner, ast.Tuple) else [one]
            if isinstance(own[-1], ast.Starred):
                own.pop()
                break
        self.arguments = {**dict(zip(names, own)), **{one.arg: one.value for one in call.keywords if one.arg}}
        for node in ast.walk(self.function or source.tree):
            if isinstance(node, ast.FunctionDef) and node is not self.function:
                self.scope.setdefault(node.name, []).append((node.lineno, node))
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self.assign(target, node.value, node.lineno)
        for one in self.scope.values():
            one.sort(key=lambda pair: pair[0])

    def assign(self, target: ast.AST, value: ast.AST, line: int) -> None:
        value = value.body if isinstance(value, ast.IfExp) else value
        if isinstance(target, ast.Name):
            self.scope.setdefault(target.id, []).append((line, value))
        elif isinstance(target, ast.Tuple):
            elements: List[ast.expr] = []
            for one in getattr(value, "elts", []):
                # `B, T, D = *x.shape, y.shape[-1]`
                count = len(target.elts) - len(value.elts) + 1 if isinstance(one, ast.Starred) else 0  # type: ignore[attr-defined]
                elements += [ast.Subscript(one.value, ast.Constant(at), ast.Load()) for at in range(count)] or [one]
            value = ast.Tuple(elements, ast.Load()) if elements else value
            for at, one in enumerate(target.elts):
                is_tuple = isinstance(value, ast.Tuple) and at < len(value.elts)
                part = value.elts[at] if is_tuple else ast.Subscript(value, ast.Constant(at), ast.Load())  # type: ignore[attr-defined]
                self.assign(one, part, line)

    def lookup(self, name: str, line: int) -> Optional[Tuple[int, ast.AST]]:
        """The value that a name has before a line, and the line of its assignment."""
        return next((pair for pair in reversed(self.scope.get(name, [])) if pair[0] < line), None)

    def extent(self, node: Optional[ast.AST]) -> Optional[Tuple[str, Optional[int]]]:
        """`x.shape[1]` and `x.size(1)` as tensor and axis; `x.numel()` and `len(x)` without an axis."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            whole_shape = self.lookup(node.value.id, self.line)
            if whole_shape and isinstance(whole_shape[1], ast.Attribute):
                node = ast.Subscript(whole_shape[1], node.slice, ast.Load())
        text = ast.unparse(node) if node is not None else ""
        axis = re.fullmatch(r"(\w+)\.(?:shape\[(-?\d+)\]|size\((-?\d+)\)|(?:size|shape)\(\)\[(-?\d+)\])", text)
        if axis:
            return axis[1], int(next(filter(None, axis.groups()[1:])))
        whole = re.fullmatch(r"(?:(\w+)\.(?:numel\(\)|size)|len\((\w+)\))", text)
        return (whole[1] or whole[2], None) if whole else None

    def dimension(self, name: str) -> str:
        if name not in self.dimensions:
            self.dimensions.append(name)
        return name

    def expression(self, node: Optional[ast.AST], line: int) -> str:
        """An expression of the launch in the language of a phase."""
        if node is None:
            raise UnknownValue
        text = ast.unparse(node)
        if text in self.names:
            return self.names[text]
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return str(node.value)
        if isinstance(node, ast.Name):
            found = self.lookup(node.id, line)
            if found is not None:
                return self.dimension(node.id) if self.extent(found[1]) else self.expression(found[1], found[0])
            try:
                constant = self.source.value(node)
                if type(constant) is int:
                    return str(constant)
            except UnknownValue:
                if self.function and node.id in [one.arg for one in parameters(self.function)]:
                    return self.dimension(node.id)
        if isinstance(node, ast.Subscript):
            key = getattr(node.slice, "value", None)
            if isinstance(key, str):
                return key
            extent = self.extent(node)
            if extent:
                return self.dimension(f"{extent[0]}_{extent[1]}".replace("-", "m"))
            of = self.lookup(node.value.id, line) if isinstance(node.value, ast.Name) else None
            if of is not None and isinstance(of[1], ast.Tuple) and isinstance(key, int) and key < len(of[1].elts):
                return self.expression(of[1].elts[key], of[0])
        if isinstance(node, ast.Call):
            word = called(node).replace("_", "").lower()
            translated = ("cdiv", "ceildiv", "divup", "min", "max", "int", "nextpowerof2")
            given = [self.expression(one, line) for one in node.args] if word in translated else []
            if word == "nextpowerof2" and given:
                return f"2 ** ceil(log2({given[0]}))"
            if word in ("min", "max"):
                return f"{word}({', '.join(given)})"
            if len(given) == 2:
                return f"({given[0]} + {given[1]} - 1) // {given[1]}"
            quotient = node.args[0] if word == "ceil" and node.args else None
            if isinstance(quotient, ast.BinOp) and isinstance(quotient.op, ast.Div):
                over, under = self.expression(quotient.left, line), self.expression(quotient.right, line)
                return f"({over} + {under} - 1) // {under}"
            if len(given) == 1 or self.extent(node):
                return given[0] if given else self.dimension("_".join(map(str, filter(None, self.extent(node) or ()))) + "_extent")
        if isinstance(node, ast.BinOp):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/", ast.Mod: "%"}.get(type(node.op))
            if sign:
                parts = (self.expression(one, line) for one in (node.left, node.right))
                return f" {sign} ".join(part if re.fullmatch(r"\w+", part) else f"({part})" for part in parts)
        raise UnknownValue

    def axes(self, node: Optional[ast.AST], line: int) -> List[str]:
        """Extents of a grid or a block."""
        if isinstance(node, ast.Name):
            found = self.lookup(node.id, line)
            if found is not None:
                return self.axes(found[1], found[0])
        if isinstance(node, ast.Lambda):
            return self.axes(node.body, line)
        if isinstance(node, ast.FunctionDef):
            returns = [one for one in ast.walk(node) if isinstance(one, ast.Return)]
            return self.axes(returns[0].value if len(returns) == 1 else None, line)
        if isinstance(node, (ast.Tuple, ast.List)):
            return [self.expression(one, line) for one in node.elts]
        return [self.expression(node, line)]

    def shape(self, tensor: ast.AST, line: int, owner: Optional[str] = None) -> Optional[List[str]]:
        """Extents of a tensor of the launch: where it is made, where its shape is unpacked, or where it is asserted. `owner` is
        the variable that the value of an expression is assigned to."""
        name = tensor.id if isinstance(tensor, ast.Name) else owner
        is_named = isinstance(tensor, ast.Name)
        found = self.lookup(name, line) if name and is_named else None
        made, line = (found[1], found[0]) if found else (None if is_named else tensor, line)
        word, given = called(made) if made is not None else "", getattr(made, "args", [])
        if isinstance(made, ast.Name):
            return self.shape(made, line)
        if word in ("empty", "zeros", "ones", "full", "new_empty", "new_zeros", "device_array", "view", "reshape") and given:
            extents = list(given[0].elts) if isinstance(given[0], (ast.Tuple, ast.List)) else given[:1] if word == "full" else given
            texts = [self.own_extent(one, line) for one in extents]
            # `x.view(-1, D)`: the first extent is unpacked elsewhere, or has no name.
            after = self.unpacked(name, line)
            texts = [after.get(at) or after.get(at - len(texts)) or one or self.unpacked(name).get(at) or (f"{name}_{at}" if len(texts) > 1 else None) for at, one in enumerate(texts)]
            if all(texts):
                return [self.names.get(one) or one if one.isdigit() or "(" in one or " " in one else self.dimension(self.names.get(one, one)) for one in texts if one]
        else:
            same = given[0] if re.fullmatch(r"\w+_like|to_device", word) and given else None
            if re.fullmatch(r"contiguous|clone|to|cuda|detach", word):
                same = made.func.value  # type: ignore[union-attr]
            known = self.shape(same, line, name) if same is not None else None
            if known:
                return known
        # `y = torch.empty_like(x)`: the extents of `y` are those of `x`.
        made_of = [(own, getattr(value, "args", [])[:1]) for own, values in self.scope.items() for _, value in values if re.fullmatch(r"\w+_like", called(value))]
        alike = [own for own, given in made_of if any(isinstance(one, ast.Name) and one.id == name for one in given)]
        axes = next(filter(None, map(self.unpacked, [name, *alike])), {})
        for node in ast.walk(self.function or self.source.tree):
            if isinstance(node, ast.Compare) and ast.unparse(node.left) == f"{name}.shape" and isinstance(node.ops[0], ast.Eq):
                right = node.comparators[0]
                try:
                    if isinstance(right, ast.Tuple):
                        return [self.expression(one, self.line) for one in right.elts]
                    of = re.fullmatch(r"(\w+)\.shape", ast.unparse(right))
                    known = self.shape(ast.Name(of[1]), self.line) if of and of[1] != name else None
                    if known:
                        return known
                except UnknownValue:
                    pass
        if axes:
            rank = max(max(axes) + 1, 2 if -1 in axes and 0 in axes else -min(axes))
            named = {at % rank: own for at, own in axes.items()}
            return [self.names.get(named[at]) or self.dimension(named[at]) if at in named else self.dimension(f"{name}_{at}") for at in range(rank)]
        return None

    def unpacked(self, tensor: Optional[str], after: int = 0) -> Dict[int, str]:
        """The names of a tensor's extents by axis, as the function unpacks them after a line."""
        values = [(own, value) for own, values in self.scope.items() for line, value in values if own != "_" and line > after]
        extents = [(own, self.extent(value)) for own, value in values]
        return {of[1]: own for own, of in extents if of and of[0] == tensor and of[1] is not None}

    def own_extent(self, node: ast.expr, line: int) -> Optional[str]:
        try:
            return self.expression(node, line)
        except UnknownValue:
            return None

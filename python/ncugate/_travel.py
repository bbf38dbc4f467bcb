"""Functions that travel to another process: by import, or with their source and the globals that they use."""

from __future__ import annotations

import __future__
import ast
import builtins
import dis
import importlib
import importlib.util
import inspect
import io
import linecache
import marshal
import os
import pickle
import sys
import textwrap
import types
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple

Step = Tuple[str, str, Any]
"""Kind, name and content of a definition: `import`, `value`, `source`, `code`, `alias`."""
MAIN = "__main__"


def plain(value: Any) -> Any:
    """The function in a decorated one: of functools, Triton or Numba."""
    while not isinstance(value, type):
        inner = (getattr(value, name, None) for name in ("__wrapped__", "fn", "py_func"))
        found = next(filter(callable, inner), None)
        if found is None:
            break
        value = found
    return value


def packed(function: Any, calls: List[Tuple[Tuple[Any, ...], Dict[str, Any]]]) -> Dict[str, Any]:
    """A function and the arguments of its calls, for `unpacked` in another process.

    Raises ValueError with the name of a global or argument that cannot be pickled.
    """
    function = plain(function)
    code = getattr(function, "__code__", None)
    if not isinstance(function, types.FunctionType) or code is None:
        raise ValueError(f"{function!r} is not a function of Python")
    main = sys.modules.get(MAIN)
    is_interactive = function.__module__ == MAIN and not hasattr(main, "__file__")
    if os.path.isfile(code.co_filename) and function.__qualname__.isidentifier() and not is_interactive:
        spec = getattr(sys.modules.get(function.__module__), "__spec__", None)
        name = spec.name if spec is not None else ""
        origin = {"module": name, "file": os.path.abspath(code.co_filename), "is_main": function.__module__ == MAIN}
        return {"origin": origin, "function": function.__name__, "calls": _Pickler.text(None, calls, "the arguments")}
    closure = inspect.getclosurevars(function).nonlocals
    sources = _Sources({**function.__globals__, **closure, function.__name__: function}, function.__module__)
    sources.add(function.__name__)
    content = _Pickler.text(sources, calls, "the arguments")
    return {"steps": sources.steps, "lines": sources.lines, "function": function.__name__, "calls": content}


class _Sources:
    """Definitions of a namespace that another process cannot import, each behind those that it uses."""

    def __init__(self, namespace: Mapping[str, Any], module: str) -> None:
        self.namespace = namespace
        self.module = module
        self.steps: List[Step] = []
        self.lines: Dict[str, str] = {}
        self.seen: Set[str] = set()

    def is_own(self, value: Any) -> bool:
        """Whether a function or class is defined where the other process cannot import it."""
        return isinstance(value, (types.FunctionType, type)) and value.__module__ == self.module == MAIN

    def add(self, name: str) -> None:
        if name in self.seen or name not in self.namespace:
            return
        self.seen.add(name)
        value = self.namespace[name]
        inner = plain(value)
        if isinstance(value, types.ModuleType):
            self.steps.append(("import", name, value.__name__))
        elif self.is_own(inner) or (isinstance(inner, types.FunctionType) and "<locals>" in inner.__qualname__):
            if inner.__name__ != name and inner is value and self.namespace.get(inner.__name__) is value:
                self.add(inner.__name__)
                self.steps.append(("alias", name, inner.__name__))
            else:
                self._define(name, inner)
        else:
            self.steps.append(("value", name, _Pickler.text(self, value, f"the global `{name}`")))

    def _define(self, name: str, value: Any) -> None:
        text, file, line = _source(value)
        if text is None or value.__name__ != name or not name.isidentifier():
            if not isinstance(value, types.FunctionType):
                raise ValueError(f"the source of the class `{name}` is unknown: define it in a file or a notebook")
            self._use(value.__code__)
            defaults = _Pickler.text(self, (value.__defaults__, value.__kwdefaults__), f"defaults of `{name}`")
            self.steps.append(("code", name, (marshal.dumps(value.__code__), defaults)))
            return
        future = getattr(getattr(value, "__code__", None), "co_flags", 0) & __future__.annotations.compiler_flag
        self._use(compile(text, file, "exec", future, dont_inherit=True))
        self.lines[file] = "".join(linecache.getlines(file))
        self.steps.append(("source", name, (text, file, line, future)))

    def _use(self, code: types.CodeType) -> None:
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_DEREF", "LOAD_CLASSDEREF"):
                self.add(str(instruction.argval))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._use(constant)


class _Pickler(pickle.Pickler):
    """Adds the definitions of classes and functions that a value refers to."""

    def __init__(self, file: io.BytesIO, sources: Optional[_Sources]) -> None:
        super().__init__(file, protocol=4)
        self.sources = sources

    def persistent_id(self, value: Any) -> None:
        if self.sources is not None and self.sources.is_own(value):
            self.sources.add(value.__qualname__.split(".")[0])

    @classmethod
    def text(cls, sources: Optional[_Sources], value: Any, what: str) -> bytes:
        file = io.BytesIO()
        try:
            cls(file, sources).dump(value)
        except ValueError:
            raise
        except Exception as error:
            raise ValueError(f"{what} cannot go to another process: {error}; create it inside of the function") from error
        return file.getvalue()


def _source(value: Any) -> Tuple[Optional[str], str, int]:
    """Text, file and first line of a definition; no text if it is unknown."""
    try:
        file = inspect.getsourcefile(value) or ""
        lines, first = inspect.getsourcelines(value)
    except (OSError, TypeError):
        # Python knows no file of a class in a notebook.
        for file, entry in reversed(list(linecache.cache.items()) if isinstance(value, type) else []):
            text = "".join(entry[2]) if len(entry) > 2 else ""
            try:
                body = ast.parse(text).body if f"class {value.__name__}" in text and not os.path.exists(file) else []
            except SyntaxError:
                continue
            for node in body:
                if isinstance(node, ast.ClassDef) and node.name == value.__name__:
                    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                    return "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + "\n", file, first
        return None, "", 0
    text = textwrap.dedent("".join(lines))
    try:
        is_definition = isinstance(ast.parse(text).body[0], (ast.FunctionDef, ast.ClassDef))
    except (SyntaxError, IndexError):
        is_definition = False
    return (text if is_definition else None), file, first


def unpacked(request: Mapping[str, Any]) -> Tuple[Callable[..., Any], List[Tuple[Tuple[Any, ...], Dict[str, Any]]]]:
    """The function and the arguments of its calls."""
    module = _imported(request["origin"]) if "origin" in request else _rebuilt(request)
    return getattr(module, request["function"]), pickle.loads(request["calls"])


def _imported(origin: Mapping[str, Any]) -> types.ModuleType:
    name, file = origin["module"], origin["file"]
    try:
        spec = importlib.util.find_spec(name) if name else None
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.origin is not None and os.path.exists(spec.origin) and os.path.samefile(spec.origin, file):
        module = importlib.import_module(name)
    else:
        name = os.path.splitext(os.path.basename(file))[0]
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            sys.exit(f"{file} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    if origin["is_main"]:
        # arguments whose class is in the program itself
        sys.modules[MAIN] = module
    return module


def _rebuilt(request: Mapping[str, Any]) -> types.ModuleType:
    module = sys.modules[MAIN] = types.ModuleType(MAIN)
    # As in a program: libraries look for it in the globals of their caller.
    setattr(module, "__builtins__", builtins)
    for file, text in request["lines"].items():
        if not os.path.exists(file):
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    for kind, name, content in request["steps"]:
        if kind == "source":
            text, file, line, future = content
            exec(compile("\n" * (line - 1) + text, file, "exec", future, dont_inherit=True), module.__dict__)
        elif kind == "code":
            code, defaults = content
            positional, keyword = pickle.loads(defaults)
            function = _function(marshal.loads(code), module.__dict__, name)
            function.__defaults__, function.__kwdefaults__ = positional, keyword
            setattr(module, name, function)
        else:
            values = {"import": importlib.import_module, "alias": module.__dict__.get, "value": pickle.loads}
            setattr(module, name, values[kind](content))  # type: ignore[operator]
    return module


def _function(code: types.CodeType, namespace: Dict[str, Any], name: str) -> types.FunctionType:
    """A function whose free variables are globals by now."""
    cells = tuple(types.CellType(namespace.get(free)) for free in code.co_freevars)
    return types.FunctionType(code, namespace, name, None, cells)

"""Compiles Python kernels for ncugate, with the compilers of this Python. It needs no GPU.

    python3 ncugate_compile.py --version            prints one JSON object: the versions of Python and of the compilers' packages
    python3 ncugate_compile.py REQUEST              compiles the kernels of the JSON file REQUEST; prints one JSON object per kernel

A compiler is a module next to this one: `takes` tests whether a function is one of its kernels, `compiled` returns machine code or PTX,
the launch, and the kernel's symbol if it differs from the function's name.
"""

import ast
import importlib.metadata
import importlib.util
import inspect
import json
import os
import re
import sys
import traceback

import ncugate_cute
import ncugate_numba
import ncugate_triton
from ncugate_import import forget, loaded, named, place, unloaded
from ncugate_sources import sources, watch

COMPILERS = (ncugate_triton, ncugate_numba, ncugate_cute)
# Packages of the compilers, and further packages that influence the code.
PACKAGES = {
    "triton": (),
    "numba-cuda": ("numba", "llvmlite", "nvidia-nvvm", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"),
    "nvidia-cutlass-dsl": tuple(f"nvidia-cutlass-dsl-libs-{part}" for part in ("base", "core", "cu12", "cu13")),
}


def version(package):
    """The version of a package; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def versions():
    names = [name for package, parts in PACKAGES.items() if version(package) for name in (package, *parts)]
    found = {name: version(name) for name in names}
    return {"python": sys.version.split()[0], "packages": {name: own for name, own in found.items() if own}}


class ImportFailed(Exception):
    """A module cannot be imported, whatever the variant. A second attempt in this process would find a part of its package."""


class ValueRefused(Exception):
    """A module cannot be imported with a variant's values of its globals."""


def module(path):
    """The module in a file, which is imported once."""
    try:
        found = loaded(path)
    except (Exception, SystemExit) as error:
        raise ImportFailed(reason(error)) from error
    sys.modules[place(path)[1]] = found  # and not a copy for an earlier variant
    return found


def reason(error):
    """Why an import failed, and a hint."""
    hint = "a file that runs or times its kernels needs `if __name__ == \"__main__\":` around that"
    if isinstance(error, ModuleNotFoundError):
        hint = f"install `{error.name}` for {sys.executable}, or name another Python with `[build] python`"
    elif isinstance(error, ImportError):
        hint = f"the packages of {sys.executable} do not fit together, or one needs a GPU to be imported"
    return f"{type(error).__name__}: {error}; hint: {hint}"


def copied(path, values):
    """A further module of a file that assigns `values` to globals: they have the values of the variant, and so has what the
    file computes from them."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read(), path)
    for name, value in values.items():
        statement = assigned(tree, name)
        if statement is None:
            raise TypeError(
                f"{name}: not a parameter of the function, an option of its compiler, or a global that the module "
                f"assigns exactly once outside of functions, as `{name} = ...`"
            )
        statement.value = ast.Constant(value)
    ast.fix_missing_locations(tree)
    found = unloaded(path)
    try:
        exec(compile(tree, path, "exec"), found.__dict__)
    except Exception as error:
        given = ", ".join(f"{name} = {value}" for name, value in values.items())
        raise ValueRefused(f"importing `{path}` with {given} failed: {type(error).__name__}: {error}") from error
    return found


def assigned(tree, name):
    """The only statement of a module that assigns a global; None if there is none or several."""

    def targets(statement):
        return statement.targets if isinstance(statement, ast.Assign) else [statement.target]

    kinds = (ast.Assign, ast.AnnAssign, ast.AugAssign)
    statements = [
        statement
        for statement in ast.walk(tree)
        if isinstance(statement, kinds)
        and any(isinstance(part, ast.Name) and part.id == name for target in targets(statement) for part in ast.walk(target))
    ]
    own = [statement for statement in statements if statement in tree.body]
    plain = len(own) == 1 and not isinstance(own[0], ast.AugAssign) and [type(target) for target in targets(own[0])] == [ast.Name]
    return own[0] if plain else None


def made(thing, name, constants):
    """The result of a function or class that is not itself a kernel, called with the parameters that it takes by name; and the others."""
    taken = inspect.signature(thing).parameters
    own = {key: value for key, value in constants.items() if key in taken}
    try:
        inspect.signature(thing).bind(**own)
    except TypeError as error:
        raise TypeError(
            f"`{name}` is not a kernel under @triton.jit, @cuda.jit or @cute.jit, and does not return one with "
            f"the variant's parameters ({', '.join(own) or 'none matches'}): {error}"
        ) from None
    return thing(**own), {key: value for key, value in constants.items() if key not in own}


def is_of_import(error):
    """Whether a factory failed because it imports a module that is absent or fails. An ImportError that the factory raises itself
    has no name, and generated text has no file: these refuse one variant."""
    frames = (frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__))
    is_absent = isinstance(error, ImportError) and error.name is not None
    return is_absent or any(code.co_name == "<module>" and os.path.isfile(code.co_filename) for code in frames)


def kernel(unit, values):
    """The module, the kernel with its compiler, and the unused parameters."""
    try:
        return imported(unit, values)
    except Exception:
        if not ncugate_numba.deferred():  # Numba compiles a kernel with a signature at its definition, for the GPU of the machine
            raise
        forget(unit["source"])
        return imported(unit, values)


def imported(unit, values):
    path, name = unit["source"], unit["function"]
    found = copied(path, values) if values else module(path)
    thing = getattr(found, name, None)
    if thing is None:
        raise AttributeError(f"{path} has no `{name}`")
    constants = {key: named(value) for key, value in unit["constants"] if key not in values}
    compiler = next((compiler for compiler in COMPILERS if compiler.takes(thing)), None)
    if compiler is None and (inspect.isfunction(thing) or inspect.isclass(thing)):
        try:
            thing, constants = made(thing, name, constants)
        except (Exception, SystemExit) as error:
            if is_of_import(error):
                raise ImportFailed(reason(error)) from error
            raise RuntimeError(reason(error)) if isinstance(error, SystemExit) else error from None
        compiler = next((compiler for compiler in COMPILERS if compiler.takes(thing)), None)
        name = f"{name}(...)"
    if compiler is None:
        raise TypeError(f"`{name}` is a {type(thing).__name__}, not a kernel under @triton.jit, @cuda.jit or @cute.jit")
    return found, thing, compiler, constants


def compiled(request, unit):
    found, thing, compiler, constants = kernel(unit, {})
    known = compiler.parameters(thing)
    if known is not None:
        # A name that only the launch uses, such as the threads of a block, is neither known nor a global.
        own = known | set(vars(found)) | set(getattr(inspect.unwrap(thing), "__globals__", ()))
        unused = {name for name in constants if name in unit["launched"] and name not in own}
        unit = {**unit, "constants": [(name, value) for name, value in unit["constants"] if name not in unused]}
        constants = {name: value for name, value in constants.items() if name not in unused}
    values = {} if known is None else {name: value for name, value in constants.items() if name not in known}
    if values:
        found, thing, compiler, constants = kernel(unit, values)
    if unit["entries"] and compiler is not ncugate_triton:
        raise TypeError("`kernel.constexprs` needs a kernel of Triton or Gluon; sweep the constants of others, with `where` for their shapes")
    code, launch, symbol = compiler.compiled(thing, unit, constants, request)
    is_text = isinstance(code, str)
    with open(unit["code"], "wb") as out:
        out.write(code.encode() if is_text else code)
    form = "ptx" if is_text else "cubin"
    return {"unit": unit["unit"], "form": form, "launch": launch, "symbol": symbol, **sources(found)}


def attempt(request, unit):
    try:
        return compiled(request, unit)
    except Exception as error:
        is_own = isinstance(error, (ImportFailed, ValueRefused))
        text = str(error) if is_own else "".join(traceback.format_exception_only(type(error), error))
        text = re.sub("\x1b\\[[0-9;]*m", "", text.strip())  # colours
        return {"unit": unit["unit"], "error": text, "import_failed": isinstance(error, ImportFailed)}


def main(path):
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))  # modules of kernels are not searched here
    with open(path) as file:
        request = json.load(file)
    watch()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of a module during its import is not an answer
    units = request["units"]
    processes = min(request["processes"], len(units))

    def say(answer):
        out.write(json.dumps(answer) + "\n")
        out.flush()

    if processes <= 1:
        for unit in units:
            say(attempt(request, unit))
        return
    import concurrent.futures
    import multiprocessing

    if importlib.util.find_spec("triton"):
        import triton.compiler  # noqa: F401  (imported once, before the processes are forked)

    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(processes, mp_context=context) as pool:
        started = [pool.submit(attempt, request, unit) for unit in units]
        for done in concurrent.futures.as_completed(started):
            if done.exception() is None:  # a crashed process has none: its kernels are compiled again, one at a time
                say(done.result())


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print(json.dumps(versions()))
    else:
        main(sys.argv[1])

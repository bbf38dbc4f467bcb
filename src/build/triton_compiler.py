"""Compiles kernels with the Triton that this Python has, for ncugate. It needs neither a GPU nor PyTorch.

    python3 triton_compiler.py --version            prints one JSON object: the versions of Python and Triton
    python3 triton_compiler.py REQUEST              compiles what the JSON file REQUEST asks for; prints a JSON object a kernel
"""

import importlib.metadata
import importlib.util
import json
import os
import sys
import traceback

OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion"}


def versions():
    try:
        return {"python": sys.version.split()[0], "triton": importlib.metadata.version("triton")}
    except importlib.metadata.PackageNotFoundError:
        return {"python": sys.version.split()[0], "triton": None}


def module(path):
    """The module in a file, with the folder of the file on the path as `python3 FILE` has it."""
    folder, name = os.path.split(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    stem = os.path.splitext(name)[0]
    spec = importlib.util.spec_from_file_location(stem, path)
    found = importlib.util.module_from_spec(spec)
    sys.modules[stem] = found
    spec.loader.exec_module(found)
    return found


def own_function(fn):
    """The kernel behind decorators such as `triton.autotune` and `triton.heuristics`."""
    decorators = []
    while not hasattr(fn, "arg_names") or not hasattr(fn, "params"):
        decorators.append(type(fn).__name__)
        fn = getattr(fn, "fn", None)
        if fn is None:
            raise TypeError("it is not a function under @triton.jit")
    if decorators:
        raise TypeError(f"it is decorated with {', '.join(decorators)}: sweep the parameters in the phase instead")
    return fn


def sources(found):
    """Files of the modules that were imported from the folder of the kernel or from the working directory."""
    roots = tuple(os.path.join(os.path.realpath(root), "") for root in (os.getcwd(), os.path.dirname(found.__file__)))
    files = {os.path.realpath(found.__file__)}
    for other in [module for name, module in sys.modules.items() if name != "__main__"]:
        path = getattr(other, "__file__", None)
        if path and os.path.realpath(path).startswith(roots) and "site-packages" not in path:
            files.add(os.path.realpath(path))
    return sorted(files)


def source(fn, unit):
    """What Triton compiles: a type for each parameter that is passed, a value for each that is not."""
    from triton.compiler import ASTSource

    constants = {name: value for name, value in unit["constants"] if name in fn.arg_names}
    options = {name: value for name, value in unit["constants"] if name not in fn.arg_names}
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise TypeError(
            f"{', '.join(unknown)}: neither a parameter of {fn.__name__}({', '.join(fn.arg_names)}) nor an option; "
            f"options: {', '.join(sorted(OPTIONS))}"
        )
    passed = [parameter for parameter in fn.params if parameter.name not in constants]
    missing = [parameter.name for parameter in passed if parameter.is_constexpr]
    if missing:
        raise TypeError(f"{', '.join(missing)}: a constexpr without a value; give it as a parameter of the sweep or variant")
    if len(passed) != len(unit["signature"]):
        names = ", ".join(parameter.name for parameter in passed)
        raise TypeError(f"`args` has {len(unit['signature'])} values for the {len(passed)} parameters that are passed ({names})")
    signature = {parameter.name: "constexpr" for parameter in fn.params if parameter.name in constants}
    attributes = {}
    for parameter, text in zip(passed, unit["signature"]):
        name, _, divisor = text.partition(":")
        signature[parameter.name] = name
        if divisor and not parameter.do_not_specialize and not parameter.do_not_specialize_on_alignment:
            attributes[(parameter.num,)] = [["tt.divisibility", int(divisor)]]
    signature = {name: signature[name] for name in fn.arg_names}
    return ASTSource(fn=fn, signature=signature, constexprs=constants, attrs=attributes), options


def compiled(request, unit):
    import triton
    from triton.backends.compiler import GPUTarget

    found = module(unit["source"])
    fn = getattr(found, unit["function"], None)
    if fn is None:
        raise AttributeError(f"{unit['source']} has no `{unit['function']}`")
    ast, options = source(own_function(fn), unit)
    kernel = triton.compile(ast, target=GPUTarget("cuda", request["capability"], 32), options=options)
    about = kernel.metadata
    for name in ("launch_cooperative_grid", "launch_pdl"):
        if getattr(about, name, False):
            raise ValueError(f"the kernel asks for {name}, which ncugate does not launch")
    if getattr(about, "num_ctas", 1) != 1:
        raise ValueError("num_ctas is not 1: clusters of Triton kernels are not launched by ncugate")
    with open(unit["cubin"], "wb") as out:
        out.write(kernel.asm["cubin"])
    return {
        "unit": unit["unit"],
        "entry": about.name,
        "threads": 32 * about.num_warps,
        "dynamic_shared": about.shared,
        "workspace": [getattr(about, "global_scratch_size", 0) or 0, getattr(about, "profile_scratch_size", 0) or 0],
        "files": sources(found),
    }


def attempt(request, unit):
    try:
        return compiled(request, unit)
    except Exception as error:
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
        return {"unit": unit["unit"], "error": text}


def main(path):
    with open(path) as file:
        request = json.load(file)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a module prints while it is imported is not an answer
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

    import triton.compiler  # noqa: F401  (imported once, before the processes are forked)

    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(processes, mp_context=context) as pool:
        started = [pool.submit(attempt, request, unit) for unit in units]
        for done in concurrent.futures.as_completed(started):
            if done.exception() is None:  # a process that a kernel took down has none: it is tried by itself again
                say(done.result())


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print(json.dumps(versions()))
    else:
        main(sys.argv[1])

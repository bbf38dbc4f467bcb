"""Compiles a function under `@triton.jit` or `@gluon.jit` for ncugate. It needs neither a GPU nor PyTorch."""

import re

OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion"}


def takes(thing):
    """Whether it is a kernel of Triton, also under decorators such as `triton.autotune` and `triton.heuristics`."""
    return type(thing).__module__.split(".")[0] == "triton"


def parameters(thing):
    """Names that a variant's parameters bind to. None: `compiled` reports unknown names."""
    return None


def own_function(fn):
    """The kernel under decorators such as `triton.autotune`, which choose constexprs at a launch: here the phase gives them all."""
    while not hasattr(fn, "arg_names") or not hasattr(fn, "params"):
        fn = getattr(fn, "fn", None)
        if fn is None:
            raise TypeError("it is not a function under @triton.jit")
    return fn


def source(fn, unit, constants):
    """Triton's input: a type for each passed parameter, a value for each constexpr."""
    if getattr(fn, "is_gluon", bool)():
        from triton.experimental.gluon._runtime import GluonASTSource as ASTSource
    else:
        from triton.compiler import ASTSource

    constexprs = {name: value for name, value in constants.items() if name in fn.arg_names}
    # A name that only the launch uses, such as the number of parts of a sum, is neither known nor a global.
    unused = set(unit["launched"]) - OPTIONS - set(fn.fn.__globals__)
    options = {name: value for name, value in constants.items() if name not in (*fn.arg_names, *unused)}
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise TypeError(
            f"{', '.join(unknown)}: neither a parameter of {fn.__name__}({', '.join(fn.arg_names)}) nor an option; "
            f"options: {', '.join(sorted(OPTIONS))}"
        )
    passed = [parameter for parameter in fn.params if parameter.name not in constexprs]
    missing = [parameter.name for parameter in passed if parameter.is_constexpr]
    if missing:
        raise TypeError(
            f"{', '.join(missing)}: a constexpr without a value; add it as a parameter of the sweep or variant, "
            "or to [kernel.constexprs] if it follows the shape, also if a decorator chooses it at a launch"
        )
    if len(passed) != len(unit["signature"]):
        names = ", ".join(parameter.name for parameter in passed)
        raise TypeError(f"`args` has {len(unit['signature'])} values, but {len(passed)} parameters are passed ({names})")
    signature = {parameter.name: "constexpr" for parameter in fn.params if parameter.name in constexprs}
    attributes = {}
    for parameter, text, argument in zip(passed, unit["signature"], unit["launches"][0]["args"]):
        name, _, divisor = text.partition(":")
        signature[parameter.name] = name
        if argument["name"] == "nullptr":  # `None`, as Triton's own launcher has it, and no parameter of the machine code
            signature[parameter.name] = "constexpr"
            constexprs[parameter.name] = None
        if divisor and not parameter.do_not_specialize and not parameter.do_not_specialize_on_alignment:
            attributes[(parameter.num,)] = [["tt.divisibility", int(divisor)]]
    signature = {name: signature[name] for name in fn.arg_names}
    return ASTSource(fn=fn, signature=signature, constexprs=constexprs, attrs=attributes), options


def compiled(fn, unit, constants, request):
    """The machine code, the launch that the compiler determines, and the kernel's symbol."""
    decided = [key for key in unit["given"] if key != "grid"]
    if decided:
        raise TypeError(f"Triton's compiler determines `{'`, `'.join(decided)}`; remove {'it' if len(decided) == 1 else 'them'}")
    if "grid" not in unit["given"]:
        raise TypeError("Triton's compiler does not determine the grid; add `grid`")
    if not unit["entries"]:
        kernel, launch, _ = compilation(fn, unit, constants, request)
        return kernel.asm["cubin"], launch, kernel.metadata.name
    parts = {entry["entry"]: compilation(fn, {**unit, **entry}, {**constants, **dict(entry["constants"])}, request) for entry in unit["entries"]}
    fusions = {options.get("enable_fp_fusion") for *_, options in parts.values()}
    if len(fusions) > 1:
        raise ValueError("enable_fp_fusion is an option of the whole cubin; it cannot follow the shape")
    from triton.compiler.compiler import make_backend

    kernel, _, options = next(iter(parts.values()))
    backend, target = make_backend(kernel.metadata.target), request["capability"]
    ptx = merged({entry: (part.metadata.name, part.asm["ptx"]) for entry, (part, *_) in parts.items()})
    cubin = backend.make_cubin(ptx, {}, backend.parse_options(dict(options)), target)
    return cubin, {"entries": {entry: launch for entry, (_, launch, _) in parts.items()}}, None


def merged(parts):
    """One PTX module of several, which each have one kernel: {its entry here: (its name there, PTX)}."""
    heads, bodies, files = set(), [], {}
    for entry, (name, ptx) in parts.items():
        head, size, body = re.split(r"^(\.address_size .*\n)", ptx, maxsplit=1, flags=re.M)
        heads.add(head + size)
        body = re.split(r"^\s*\.section\b", body, maxsplit=1, flags=re.M)[0]  # sections of a module are only for debuggers
        own = dict(re.findall(r"^\s*\.file\s+(\d+)\s+(.*)", body, flags=re.M))
        body = re.sub(r"^\s*\.file\s.*", "", body, flags=re.M)
        number = {at: files.setdefault(path, len(files) + 1) for at, path in own.items()}
        body = re.sub(r"^(\s*\.loc\s+)(\d+)", lambda found: f"{found[1]}{number[found[2]]}", body, flags=re.M)
        variable = r"^(?:\.(?:extern|visible|weak)\s+)?\.(?:global|const|shared)\s[^;=\n]*?([\w$]+)(?:\[\d*\])*\s*[;=]"
        for symbol in [name, *re.findall(variable, body, flags=re.M), *re.findall(r"^(?:\.visible\s+|\.weak\s+)?\.func\s[^;{]*?([\w$]+)\(", body, flags=re.M)]:
            renamed = entry if symbol == name else f"{symbol}_{entry}"
            body = re.sub(rf"(?<![\w$%.]){re.escape(symbol)}(?=_param_\d|(?![\w$]))", renamed, body)
        bodies.append(body)
    if len(heads) != 1:
        raise ValueError(f"Triton compiled the values for different targets: {'; '.join(sorted(heads))}")
    return heads.pop() + "".join(bodies) + "".join(f"\t.file\t{at} {path}\n" for path, at in files.items())


def compilation(fn, unit, constants, request):
    """Triton's kernel, the launch that the compiler determines, and the options."""
    import triton
    from triton.backends.compiler import GPUTarget

    ast, options = source(own_function(fn), unit, constants)
    if options.get("num_warps", 4) not in (1, 2, 4, 8, 16, 32):
        raise ValueError(f"num_warps is {options['num_warps']}, expected a power of two from 1 to 32")
    kernel = triton.compile(ast, target=GPUTarget("cuda", request["capability"], 32), options=options)
    about = kernel.metadata
    for name in ("launch_cooperative_grid", "launch_pdl"):
        if getattr(about, name, False):
            raise ValueError(f"the kernel needs {name}, which ncugate does not support")
    if getattr(about, "num_ctas", 1) != 1:
        raise ValueError("num_ctas must be 1; ncugate does not launch clusters of Triton kernels")
    launch = {
        "threads": 32 * about.num_warps,
        "dynamic_shared": about.shared,
        "workspace": [getattr(about, "global_scratch_size", 0) or 0, getattr(about, "profile_scratch_size", 0) or 0],
    }
    return kernel, launch, options

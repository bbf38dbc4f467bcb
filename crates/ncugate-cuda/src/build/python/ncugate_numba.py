"""Compiles a function under `@cuda.jit` of Numba for ncugate. It needs numba-cuda with NVVM and NVRTC, and no GPU."""

import inspect
import re
import sys

OPTIONS = {"fastmath", "max_registers", "launch_bounds", "opt"}
TYPES = {
    "fp64": "float64", "fp32": "float32", "fp16": "float16",
    "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
    "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "i1": "boolean", "u1": "boolean",
}  # fmt: skip


def takes(thing):
    """Whether it is a kernel of `@cuda.jit`."""
    return type(thing).__module__.split(".")[0] == "numba" and hasattr(thing, "py_func")


def parameters(thing):
    """Names that a variant's parameters bind to; the others are globals of the module."""
    return OPTIONS


def deferred():
    """Keeps signatures of `@cuda.jit("...")` instead of compiling for them, which needs a GPU. False if it already does, or
    if Numba is not installed."""
    if "numba.cuda" not in sys.modules:
        return False
    from numba.cuda.dispatcher import CUDADispatcher

    def kept(self, signature):
        self.ncugate_signatures = [*getattr(self, "ncugate_signatures", []), signature]

    if hasattr(CUDADispatcher, "ncugate_deferred"):
        return False
    CUDADispatcher.ncugate_deferred = True
    CUDADispatcher.compile = kept
    CUDADispatcher.disable_compile = lambda self, val=True: None
    return True


def element(name):
    """Numba's type for a type in Triton's notation."""
    from numba import types

    known = TYPES.get(name)
    if known is None:
        raise TypeError(f"Numba has no {name}; a Numba kernel takes {', '.join(sorted(set(TYPES.values())))}")
    return getattr(types, known)


def argument_type(text, place):
    """The type of an argument: a buffer is a contiguous array of the buffer's axes."""
    from numba import types

    name = text.partition(":")[0]
    if not name.startswith("*"):
        return element(name)
    if place.get("extents") is None:
        raise TypeError(f"argument {place['name']} is a part of a buffer; Numba takes only whole buffers")
    return types.Array(element(name[1:]), len(place["extents"]), "C")


def argument_types(thing, unit):
    """The types that the kernel is compiled for: its own signature if it has one, which must match the arguments."""
    from numba import types

    places = unit["launches"][0]["args"]
    given = [argument_type(text, place) for text, place in zip(unit["signature"], places)]
    names = list(inspect.signature(thing.py_func).parameters)
    if len(names) != len(given):
        raise TypeError(f"`args` has {len(given)} values, but the kernel has {len(names)} parameters ({', '.join(names)})")
    written = getattr(thing, "ncugate_signatures", None) or list(getattr(thing, "signatures", None) or [])
    if not written:
        return given
    from numba.core import sigutils

    def fits(asked, own):
        if isinstance(asked, types.Array):
            return isinstance(own, types.Array) and (asked.ndim, asked.dtype) == (own.ndim, own.dtype)
        if isinstance(asked, types.CPointer):
            return isinstance(own, types.Array) and asked.dtype == own.dtype
        return asked == own

    for signature in written:
        asked, _ = sigutils.normalize_signature(signature)
        if len(asked) == len(given) and all(map(fits, asked, given)):
            return list(asked)
    raise TypeError(f"the arguments ({', '.join(map(str, given))}) match no signature of the kernel: {', '.join(map(str, written))}")


def passed(types_of, place, at):
    """Numba's form of an argument: an array is two pointers to its owner, number and size of elements, pointer, extents, strides."""
    from numba import types

    if not isinstance(types_of, types.Array):
        return [{"given": at}]

    def whole(value):
        return {"whole": {"bytes": 8, "value": value}}

    size, extents, strides = place["element_bytes"], place["extents"], []
    step = size
    for extent in reversed(extents):
        strides.insert(0, step)
        step *= extent
    return [whole(0), whole(0), whole(step // size), whole(size), {"given": at}, *map(whole, extents), *map(whole, strides)]


def compiled(thing, unit, constants, request):
    """PTX with the function's name for its entry, and the arguments at each shape."""
    from numba import cuda

    missing = [key for key in ("grid", "block") if key not in unit["given"]]
    if missing:
        raise TypeError(f"a Numba kernel does not determine its launch; add `{'` and `'.join(missing)}`")
    options = {**thing.targetoptions, **constants}
    if options.get("device"):
        raise TypeError("it is a device function; use a kernel")
    if options.get("link"):
        raise TypeError("kernels linked with other files (`link`) are not supported")
    kinds = argument_types(thing, unit)
    debug = bool(options.get("debug"))
    asked = {"debug": debug, "lineinfo": not debug, "fastmath": bool(options.get("fastmath")), "opt": options.get("opt", True)}
    if options.get("launch_bounds") is not None:
        asked["launch_bounds"] = options["launch_bounds"]
    capability = divmod(request["capability"], 10)
    ptx, _ = cuda.compile(thing.py_func, tuple(kinds), device=False, abi="numba", cc=capability, output="ptx", **asked)
    entries = re.findall(r"\.entry\s+([\w$]+)", ptx)
    if len(entries) != 1:
        raise ValueError(f"the PTX has {len(entries)} entries, expected one")
    ptx = re.sub(rf"(?<![\w$]){re.escape(entries[0])}(?=_param_\d|(?![\w$]))", unit["function"], ptx)
    if options.get("max_registers"):
        ptx = re.sub(r"(\.entry\s+[\w$]+\s*\([^)]*\))", rf"\1\n.maxnreg {int(options['max_registers'])}", ptx, count=1)
    shapes = [
        {
            "shape": launch["shape"],
            "args": [part for at, (kind, place) in enumerate(zip(kinds, launch["args"])) for part in passed(kind, place, at)],
        }
        for launch in unit["launches"]
    ]
    return ptx, {"shapes": shapes}, None

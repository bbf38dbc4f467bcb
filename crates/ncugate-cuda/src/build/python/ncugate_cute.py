"""Compiles a function under `@cute.jit` of CuTe DSL for ncugate. It needs nvidia-cutlass-dsl, and no GPU.

The function is host code: it computes the grid, the block and the kernel's arguments, and launches. Its machine code runs here, on
the CPU, with invalid addresses, and its launches are recorded.
"""

import ctypes
import inspect
import mmap
import re
import sys
import tempfile

OPTIONS = {"opt_level", "ptxas_options"}
TYPES = {
    "fp64": "Float64", "fp32": "Float32", "fp16": "Float16", "bf16": "BFloat16", "fp8e4nv": "Float8E4M3FN", "fp8e5": "Float8E5M2",
    "i64": "Int64", "i32": "Int32", "i16": "Int16", "i8": "Int8",
    "u64": "Uint64", "u32": "Uint32", "u16": "Uint16", "u8": "Uint8", "i1": "Boolean", "u1": "Boolean",
}  # fmt: skip
# Attributes of a launch (cudaLaunchAttributeID): a cooperative one, the blocks of a cluster, a programmatic one.
COOPERATIVE, CLUSTER, PROGRAMMATIC = 2, 4, 6
# Functions of the CUDA runtime that the host code calls before a launch; they return success and do nothing.
CALLED = (
    "_cuKernelGetAttribute", "_cudaDeviceGetAttribute", "_cudaFuncSetAttribute", "_cudaGetDevice",
    "_cudaKernelSetAttributeForDevice", "_cudaLibraryGetKernel", "_cudaLibraryLoadData", "_cuTensorMapEncodeTiled",
    "_cudaLaunchKernel", "_cudaMalloc", "_cudaMallocAsync", "_cudaFree", "_cudaFreeAsync", "_cudaMemcpy", "_cudaMemcpyAsync",
    "_cudaMemset", "_cudaMemsetAsync", "_cudaStreamSynchronize", "_cudaDeviceSynchronize", "_cudaGetDeviceCount", "_cudaSetDevice",
    "_cudaOccupancyMaxActiveBlocksPerMultiprocessor", "_cuLibraryGetGlobal", "_cudaLibraryGetGlobal",
)  # fmt: skip


def decorated(thing):
    """The function with the attributes that a decorator of CuTe DSL sets: for a callable object, its `__call__`."""
    if inspect.ismethod(thing):
        return thing.__func__
    return thing if inspect.isfunction(thing) else getattr(type(thing), "__call__", None)


def kind(thing):
    """`jit` or `kernel`; None for other functions."""
    function = decorated(thing)
    if inspect.isclass(thing) or not hasattr(getattr(function, "__wrapped__", None), "_dsl_object"):
        own = getattr(function, "_decorator_kind", None)
        return own if hasattr(function, "_dsl_cls") and not inspect.isclass(thing) else None
    return getattr(function, "_decorator_kind", "jit")


def takes(thing):
    """Whether CuTe DSL compiles it."""
    return "cutlass" in sys.modules and kind(thing) is not None


def signature(thing):
    """Its parameters, without `self`."""
    function = inspect.unwrap(decorated(thing))
    names = list(inspect.signature(function, eval_str=False).parameters.values())
    return names if inspect.isfunction(thing) else names[1:]


def parameters(thing):
    """Names that a variant's parameters bind to; the others are globals of the module."""
    return OPTIONS | {parameter.name for parameter in signature(thing)}


def annotation(parameter):
    """The last name of an annotation, such as `Pointer`, `Constexpr`, `CUstream`."""
    asked = parameter.annotation
    text = asked.__name__ if isinstance(asked, type) else str(asked)
    text = re.sub(r"^(?:typing\.)?Optional\[(.*)\]$|\s*\|\s*None$", r"\1", text)
    return text.split("[")[0].split(".")[-1].strip("'>")


class DLTensor(ctypes.Structure):
    """DLManagedTensor of DLPack (https://dmlc.github.io/dlpack/latest/c_api.html)."""

    _fields_ = [
        ("data", ctypes.c_uint64), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]  # fmt: skip


class Buffer:
    """A contiguous buffer at a GPU address that is never read."""

    alive = []

    def __init__(self, address, bits, extents):
        axes = len(extents)
        strides = [1] * axes
        for axis in reversed(range(axes - 1)):
            strides[axis] = strides[axis + 1] * extents[axis + 1]
        shape, steps = (ctypes.c_int64 * axes)(*extents), (ctypes.c_int64 * axes)(*strides)
        pointers = (ctypes.addressof(shape), ctypes.addressof(steps))
        unsigned, cuda = 1, (ctypes.c_int32 * 2)(2, 0)
        self.tensor = DLTensor(address, cuda, axes, unsigned, bits, 1, *pointers, 0, None, None)
        Buffer.alive.append((self.tensor, shape, steps))  # the capsule owns nothing

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return (2, 0)


def base(at, run):
    """Address of an argument; the difference between the two runs is unique to the argument."""
    return ((at + 1) << 40) + (((at + 1) ** 3 + 7) << 24) * run


def is_static(unit, at):
    """Whether a buffer has the same extents at every shape, which are then part of the code."""
    return len({tuple(launch["args"][at]["extents"]) for launch in unit["launches"]}) == 1


def leading_axis(unit, at):
    """The last axis of a buffer with several elements at a shape. Axes after it have stride 1 too."""
    extents = [launch["args"][at]["extents"] for launch in unit["launches"]]
    several = [axis for axis, sizes in enumerate(zip(*extents)) if max(sizes) > 1]
    return several[-1] if several else max(0, len(extents[0]) - 1)


def argument(unit, at, place, parameter, run):
    """An argument in the form that the compiled function takes."""
    import cutlass
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack, make_ptr

    is_null = place["name"] == "nullptr"
    if is_null and annotation(parameter) != "Pointer":
        return None
    name = unit["signature"][at].partition(":")[0]
    known = TYPES.get(name.removeprefix("*"))
    if known is None:
        raise TypeError(f"argument {place['name']} is a {name}; CuTe DSL takes only buffers and numbers")
    dtype = getattr(cutlass, known)
    if not name.startswith("*"):
        return dtype(place["value"])
    address = 0 if is_null else base(at, run)
    if annotation(parameter) == "Pointer":
        align = 16 if unit["signature"][at].endswith(":16") else max(1, dtype.width // 8)
        return make_ptr(dtype, address, cute.AddressSpace.gmem, assumed_align=align)
    if place.get("extents") is None:
        raise TypeError(f"argument {place['name']} is a part of a buffer; declare `{parameter.name}` as cute.Pointer")
    extents = place["extents"] or [1]
    tensor = from_dlpack(Buffer(address, 8 * place["element_bytes"], extents), assumed_align=16)
    tensor.element_type = dtype
    return tensor if is_static(unit, at) else tensor.mark_layout_dynamic(leading_dim=leading_axis(unit, at))


def arguments(unit, launch, names, constants, run):
    """All arguments of a call, with the values of those in `args`."""
    from cuda.bindings.driver import CUstream

    passed = iter(enumerate(launch["args"]))
    values = []
    for parameter in names:
        if parameter.name in constants:
            if annotation(parameter) != "Constexpr":
                raise TypeError(f"{parameter.name}: a parameter that is not a cutlass.Constexpr is passed at launch; add it to `args`")
            values.append(constants[parameter.name])
        elif annotation(parameter) == "CUstream":
            values.append(CUstream(0))
        elif annotation(parameter) == "Constexpr":
            if parameter.default is inspect.Parameter.empty:
                raise TypeError(f"{parameter.name}: a Constexpr without a value; add it as a parameter of the sweep or variant")
            values.append(parameter.default)
        else:
            at, place = next(passed, (None, None))
            if place is None:
                raise TypeError(f"`args` has {len(launch['args'])} values, but none for `{parameter.name}`")
            values.append(argument(unit, at, place, parameter, run))
    more = [place["name"] for _, place in passed]
    if more:
        raise TypeError(f"`args` has {len(more)} values too many for the function: {', '.join(more)}")
    return values


def named(entry):
    """Makes the compiler give the kernel the phase's name for it. A second kernel keeps a different name, and is refused later."""
    from cutlass.base_dsl.dsl import BaseDSL

    own = getattr(BaseDSL, "ncugate_own_name", None) or getattr(BaseDSL, "_customize_generated_name", None)
    if own is None:
        return
    BaseDSL.ncugate_own_name = own

    def name(self, default, options, unique_suffix=None):
        return own(self, default, options, unique_suffix) if unique_suffix is None else entry if unique_suffix == 0 else f"{entry}_{unique_suffix}"

    BaseDSL._customize_generated_name = name


def parameter_sizes(ptx, entry):
    """Bytes of each parameter of an entry."""
    entries = re.findall(r"\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?", ptx)
    if [name for name, _ in entries] != [entry]:
        raise ValueError(f"expected one kernel named {entry}; the code has {', '.join(name for name, _ in entries) or 'none'}")
    sizes = []
    for text in re.findall(r"\.param\s+([^,]*)", entries[0][1]):
        array = re.search(r"\[(\d+)\]", text)
        bits = int(re.search(r"\.(?:[bsuf](\d+)|pred)\b", text).group(1) or 8)
        sizes.append(bits // 8 * (int(array.group(1)) if array else 1))
    return sizes


class Stack:
    """A stack with known content, so that unwritten bytes (such as padding of structs) are recognised."""

    BYTES = 4 << 20

    def __init__(self):
        self.memory = mmap.mmap(-1, self.BYTES)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.libc = ctypes.CDLL(None)
        self.attributes = ctypes.create_string_buffer(256)
        self.libc.pthread_attr_init(self.attributes)
        size = ctypes.c_size_t(self.BYTES)
        if self.libc.pthread_attr_setstack(self.attributes, ctypes.c_void_p(self.address), size):
            raise RuntimeError("cannot create a thread with a separate stack")

    def call(self, code, argument, fill):
        """Calls `void code(void*)` in a thread whose stack is filled with a byte."""
        ctypes.memset(self.address, fill, self.BYTES)
        thread = ctypes.c_ulong()
        created = self.libc.pthread_create(
            ctypes.byref(thread), self.attributes, ctypes.c_void_p(code), ctypes.c_void_p(argument)
        )
        if created or self.libc.pthread_join(thread, None):
            raise RuntimeError("cannot run the host code in a thread")


class Config(ctypes.Structure):
    """Launch configuration (cudaLaunchConfig_t)."""

    _fields_ = [
        ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3), ("dynamic_shared", ctypes.c_uint64),
        ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint32),
    ]  # fmt: skip


class Host:
    """The compiled host code, with a runtime that launches nothing."""

    def __init__(self, function, sizes):
        from cutlass._mlir.execution_engine import ExecutionEngine

        self.function, self.sizes, self.launches, self.calls = function, sizes, [], []
        self.stack = Stack()
        self.engine = ExecutionEngine(function.ir_module, opt_level=2, shared_libs=[])
        self.kept = []
        self.register("_cudaLaunchKernelEx", self.launch, 3)
        for name in CALLED:
            self.register(name, lambda *_, name=name: self.calls.append(name) or 0, 3)
        self.code = self.engine.raw_lookup("_mlir_ciface_" + function.function_name)
        if not self.code:
            raise RuntimeError("cannot run the host code, because it calls unknown functions; see the compiler's message")

    def register(self, name, call, count):
        call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * count)(call)
        self.kept.append(call)
        self.engine.raw_register_runtime(name, ctypes.cast(call, ctypes.c_void_p))

    def launch(self, config, _kernel, arguments):
        config = ctypes.cast(config, ctypes.POINTER(Config)).contents
        attributes = {}
        for at in range(config.count):
            place = config.attributes + 72 * at
            words = (ctypes.c_uint32 * 3).from_address(place + 8)
            number = ctypes.c_uint32.from_address(place).value
            attributes[number] = list(words)[: 3 if number == CLUSTER else 1]
        pointers = ctypes.cast(arguments, ctypes.POINTER(ctypes.c_void_p)) if self.sizes else []
        values = [ctypes.string_at(pointers[at], size) for at, size in enumerate(self.sizes)]
        self.launches.append((list(config.grid), list(config.block), config.dynamic_shared, attributes, values))
        return 0

    def defined(self, values):
        """The launches of a call; unwritten bytes of arguments are 0."""
        *first, one = self.run(values, 0)
        *second, other = self.run(values, 0xA5)
        if first != second:
            raise TypeError("the host function launches with uninitialised values")
        return *first, [bytes(a if a == b else 0 for a, b in zip(*pair)) for pair in zip(one, other)]

    def run(self, values, fill):
        """The launches of a call."""
        # The pointers' targets live as long as these two lists.
        owners, adapted = self.function.execution_args.generate_execution_args(tuple(values), {})
        status = ctypes.c_int32(0)
        pointers = [getattr(owner, "value", owner) for owner in owners] + [ctypes.addressof(status)]
        packed = (ctypes.c_void_p * len(pointers))(*pointers)
        self.launches.clear(), self.calls.clear()
        self.stack.call(self.code, ctypes.addressof(packed), fill)
        del owners, adapted
        if self.calls:
            raise TypeError(f"the host function calls {', '.join(sorted(set(self.calls)))}, which ncugate does not support")
        if status.value or len(self.launches) != 1:
            raise TypeError(f"the host function launches {len(self.launches)} kernels (status {status.value}), expected one")
        return self.launches[0]


def attributes(found):
    """The blocks of a cluster; other launch attributes are refused."""
    if found.get(COOPERATIVE, [0])[0]:
        raise TypeError("cooperative launches are not supported")
    if found.get(PROGRAMMATIC, [0])[0]:
        raise TypeError("programmatic dependent launches are not supported")
    others = set(found) - {COOPERATIVE, CLUSTER, PROGRAMMATIC}
    if others:
        raise TypeError(f"the launch has unsupported attributes (cudaLaunchAttributeID {', '.join(map(str, sorted(others)))})")
    return found.get(CLUSTER) or [1, 1, 1]


def parts(first, second, places):
    """An argument of the kernel from its bytes in two runs: a value that moved with the address of a buffer is a pointer into it."""
    moved = {base(at, 1) - base(at, 0): at for at in range(len(places))}
    found, at = [], 0
    while at < len(first):
        size = 8 if at % 8 == 0 and len(first) - at >= 8 else 4 if len(first) - at >= 4 else 1
        one, two = (int.from_bytes(data[at : at + size], "little") for data in (first, second))
        if size == 8 and one == two and len(first) > 8:
            size = 4
            one = two = int.from_bytes(first[at : at + size], "little")
        if one == two:
            found.append({"whole": {"bytes": size, "value": one}})
        else:
            buffer = moved.get(two - one)
            offset = -1 if buffer is None else one - base(buffer, 0)
            if size != 8 or buffer is None or not 0 <= offset < places[buffer]["bytes"]:
                raise TypeError("the host function computes an argument from an address, but the argument is not a pointer into a buffer")
            found.append({"into": {"argument": buffer, "bytes": offset}})
        at += size
    return found[0] if len(found) == 1 else {"struct": found}


def same(unit, launch, said):
    """Refuses a phase whose launch differs from that of the host function."""
    for key in unit["given"]:
        if launch[key] != said[key]:
            raise TypeError(
                f"the phase has {key} = {launch[key]} at shape {launch['shape']}, but the host function launches with {said[key]}; "
                f"remove `{key}`"
            )


def launched(host, unit, launch, names, constants):
    """The launch at a shape."""
    runs = [host.defined(dynamic(unit, launch, names, constants, run)) for run in (0, 1)]
    (grid, block, dynamic_shared, found, values), again = runs
    if (grid, block, dynamic_shared) != again[:3]:
        raise TypeError("the launch depends on the addresses of buffers")
    said = {"grid": grid, "block": block, "cluster": attributes(found), "dynamic_shared": dynamic_shared}
    same(unit, launch, said)
    arguments = [parts(one, two, launch["args"]) for one, two in zip(values, again[4])]
    return {"shape": launch["shape"], "launched": said, "args": arguments}


def dynamic(unit, launch, names, constants, run):
    """The arguments of a call that are not part of the code."""
    values = arguments(unit, launch, names, constants, run)
    is_constant = [annotation(parameter) == "Constexpr" for parameter in names]
    return [value for value, constant in zip(values, is_constant) if not constant]


def compiled(thing, unit, constants, request):
    """The machine code, and the launch at each shape."""
    from cutlass import cute

    if kind(thing) == "kernel":
        raise TypeError("it is a @cute.kernel; use the @cute.jit function that launches it")
    names = signature(thing)
    options = {name: value for name, value in constants.items() if name in OPTIONS and name not in {p.name for p in names}}
    constants = {name: value for name, value in constants.items() if name not in options}
    named(unit["function"])
    arch = request["arch"]
    if arch[-1].isdigit() and request["capability"] >= 90:
        arch += "a"  # as CuTe DSL sets it for the GPU of the machine
    text = f"--gpu-arch={arch} --keep-cubin --keep-ptx --generate-line-info"
    text += "".join(f" --{name.replace('_', '-')}={value}" for name, value in options.items())
    with tempfile.TemporaryDirectory() as folder:
        values = arguments(unit, unit["launches"][0], names, constants, 0)
        function = cute.compile(thing, *values, options=f"{text} --dump-dir={folder}")
        cubin, ptx = function.artifacts.CUBIN, function.artifacts.PTX
    host = Host(function, parameter_sizes(ptx, unit["function"]))
    return cubin, {"shapes": [launched(host, unit, launch, names, constants) for launch in unit["launches"]]}, None

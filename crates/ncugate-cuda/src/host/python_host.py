"""Runs Python functions over tensors for ncugate, inside its worker process.

    python3 python_host.py JOB ENTRY PYTHONPATH [PRELOAD]

JOB is the worker's job; until it exists, PRELOAD lists the functions that it will call. ENTRY is the address of a C function
in this process. That function does the whole job, and calls back here to launch a variant that is a Python function: once
eagerly, then while it captures a CUDA graph. Only that function allocates, fills and compares buffers, replays graphs and
measures time.
"""

import contextlib
import ctypes
import importlib
import inspect
import json
import os
import sys
import threading
import traceback

from ncugate_import import loaded

ABSENT = 2
FAILED = 1
TYPES = {
    "f64": ("<f8", "float64"),
    "f32": ("<f4", "float32"),
    "f16": ("<f2", "float16"),
    "bf16": ("<i2", "bfloat16"),
    "fp8-e4m3": ("|u1", "float8_e4m3fn"),
    "fp8-e5m2": ("|u1", "float8_e5m2"),
    "i64": ("<i8", "int64"),
    "u64": ("<u8", "uint64"),
    "i32": ("<i4", "int32"),
    "u32": ("<u4", "uint32"),
    "i16": ("<i2", "int16"),
    "u16": ("<u2", "uint16"),
    "bool": ("|b1", "bool"),
    "i8": ("|i1", "int8"),
    "u8": ("|u1", "uint8"),
}


class Absent(Exception):
    """A requirement of the function is missing on this machine."""


class Array:
    """A buffer, as `__cuda_array_interface__` describes it."""

    def __init__(self, address, extents, typestr):
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": tuple(extents),
            "strides": None,
            "typestr": typestr,
            "stream": None,
        }


def module(path):
    """The module in a file."""
    try:
        return loaded(path)
    except ImportError as error:
        raise Absent(f"cannot import {path}: {error}") from error


class Function:
    """A variant's function, with the names of its parameters."""

    def __init__(self, path, name, params):
        self.call = getattr(module(path), name, None)
        if self.call is None:
            raise AttributeError(f"{path} has no `{name}`")
        if inspect.isclass(self.call):
            self.call = self.call()
        self.params = params
        try:
            parameters = inspect.signature(self.call).parameters.values()
        except (TypeError, ValueError) as error:
            raise TypeError(f"the parameters of `{name}` are unknown: {error}") from error
        self.names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self.required = [
            p.name
            for p in parameters
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY, p.POSITIONAL_ONLY) and p.default is p.empty
        ]
        unused = sorted(set(params) - set(self.names))
        if unused:
            raise TypeError(f"`{name}` takes no {', '.join(unused)}, but the phase has these parameters")


class Host:
    """The functions of a job."""

    def __init__(self, path):
        self.path = path
        # Imports during the job.
        self.importing = None
        self.read = None
        self.loaded = {}
        self.tensors = {}
        self.streams = {}
        self.pools = []
        self.open_pool = None
        # The last result for each output. Results of a graph must keep their address; results of earlier calls are free.
        self.kept = {}

    def finish_imports(self):
        if self.importing is not None:
            self.importing.join()
            self.importing = None

    @property
    def job(self):
        """The job, which can arrive after the interpreter has started."""
        if self.read is None:
            with open(self.path) as file:
                self.read = json.load(file)
        return self.read

    @property
    def shapes(self):
        return self.job["shapes"]

    @property
    def kernels(self):
        return self.job["kernels"]

    def function(self, number):
        if number not in self.loaded:
            about = self.kernels[number]["function"]
            self.loaded[number] = Function(about["file"], about["name"], dict(about["params"]))
        return self.loaded[number]

    def array(self, buffer, address):
        typestr, name = TYPES[buffer["dtype"]]
        array = Array(address, buffer["extents"], typestr)
        torch = sys.modules.get("torch")
        if torch is None:
            return array
        tensor = torch.as_tensor(array, device="cuda")
        return tensor if tensor.dtype == getattr(torch, name) else tensor.view(getattr(torch, name))

    def values(self, number, addresses):
        """Buffers, dimensions and scalars of a shape, by name. Buffers at the same addresses are the same objects."""
        key = (number, addresses)
        if key not in self.tensors:
            shape = self.shapes[number]
            values = {name: extent for name, extent in shape["dims"]}
            values.update(shape["scalars"])
            for buffer, address in zip(shape["buffers"], addresses):
                values[buffer["name"]] = self.array(buffer, address)
            self.tensors[key] = values
        return self.tensors[key]

    @contextlib.contextmanager
    def stream(self, address):
        """Makes the stream the current one of libraries that have such. It is the default stream of the thread."""
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        with contextlib.ExitStack() as stack:
            if cupy is not None:
                stack.enter_context(cupy.cuda.Stream.ptds)
            if torch is not None:
                if address not in self.streams:
                    self.streams[address] = torch.cuda.ExternalStream(address)
                stack.enter_context(torch.cuda.stream(self.streams[address]))
            yield

    def launch(self, number, shape, addresses, stream):
        """Calls a function; returns the address and bytes of the result for each buffer, or 0 for a result in place."""
        function = self.function(number)
        values = self.values(shape, addresses)
        missing = [name for name in function.required if name not in values and name not in function.params]
        if missing:
            raise TypeError(f"`{', '.join(missing)}` is not a buffer, dimension, scalar or parameter")
        arguments = {name: values[name] for name in function.names if name in values}
        arguments.update(function.params)
        buffers = self.shapes[shape]["buffers"]
        varying = [buffer["name"] for buffer in buffers if buffer.get("partial")]
        if varying:
            raise TypeError(f"the extents of {', '.join(varying)} depend on parameters, which a function does not have")
        outputs = [(at, buffer) for at, buffer in enumerate(buffers) if buffer["role"] == "output"]
        with self.stream(stream):
            returned = self.without_gradients(function.call, arguments)
            found = self.results(returned, [buffer["name"] for _, buffer in outputs], arguments)
            places = [(0, 0)] * len(buffers)
            for (at, buffer), result in zip(outputs, found):
                if result is not None:
                    places[at] = self.place(result, buffer, addresses[at])
        return places

    @staticmethod
    def without_gradients(call, arguments):
        torch = sys.modules.get("torch")
        if torch is None:
            return call(**arguments)
        with torch.no_grad():
            return call(**arguments)

    @staticmethod
    def results(returned, names, arguments):
        """A result for each output; None if the function wrote into the given buffer."""
        if returned is None:
            absent = [name for name in names if name not in arguments]
            if absent:
                raise TypeError(f"it returns nothing, and takes no parameter {', '.join(absent)} to write to")
            return [None] * len(names)
        if isinstance(returned, dict):
            unknown = sorted(set(returned) - set(names))
            if unknown:
                raise TypeError(f"it returns {', '.join(unknown)}, which is not an output")
            return [returned.get(name) for name in names]
        found = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if len(found) != len(names):
            raise TypeError(f"it returns {len(found)} results for {len(names)} outputs ({', '.join(names)})")
        return found

    def place(self, result, buffer, address):
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(result, torch.Tensor):
            # A subclass could compute its values on access, outside the timed region.
            if type(result) is not torch.Tensor:
                raise TypeError(f"it returns a {type(result).__name__}, expected a plain torch.Tensor")
            wanted = getattr(torch, TYPES[buffer["dtype"]][1])
            if not result.is_cuda or result.dtype != wanted or list(result.shape) != buffer["extents"]:
                raise TypeError(
                    f"it returns {result.dtype} {list(result.shape)} on {result.device} for output {buffer['name']}; "
                    f"{wanted} {buffer['extents']} on the GPU is expected"
                )
            result = result.contiguous()
            where, size = result.data_ptr(), result.numel() * result.element_size()
        else:
            about = getattr(result, "__cuda_array_interface__", None)
            if about is None:
                raise TypeError(f"it returns a {type(result).__name__}, which is not an array on the GPU")
            typestr = TYPES[buffer["dtype"]][0]
            if list(about["shape"]) != buffer["extents"] or about["typestr"] != typestr or about.get("strides"):
                raise TypeError(f"it returns {about['typestr']} {list(about['shape'])} for output {buffer['name']}")
            where, size = about["data"][0], int(typestr[2:])
            for extent in buffer["extents"]:
                size *= extent
        self.kept[address] = result
        return (0, 0) if where == address else (where, size)

    def begin_graph(self):
        """From here on, allocations belong to a graph."""
        torch = sys.modules.get("torch")
        self.kept = {}
        if torch is None:
            return
        pool = torch.cuda.MemPool()
        self.open_pool = torch.cuda.use_mem_pool(pool)
        self.open_pool.__enter__()
        self.pools.append((pool, self.kept))

    def end_graph(self):
        if self.open_pool is not None:
            self.open_pool.__exit__(None, None, None)
            self.open_pool = None
        self.kept = {}

    def software(self, number):
        self.function(number)
        versions = {"python": sys.version.split()[0]}
        for name in ("torch", "triton", "numpy", "cupy", "jax", "numba"):
            version = getattr(sys.modules.get(name), "__version__", None)
            if version is not None:
                versions[name] = str(version)
        return json.dumps(versions)


def said(error):
    lines = traceback.format_exception_only(type(error), error)
    text = "".join(lines).strip()
    last = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in last if frame.filename != __file__]
    return f"{text} ({os.path.basename(own[-1].filename)}:{own[-1].lineno})" if own else text


def preload(functions):
    """Imports modules early. A failed import is reported at the call."""
    for where, name in functions:
        try:
            call = getattr(module(where), name, None)
            if hasattr(call, "_torchdynamo_orig_callable"):
                # torch.compile imports its compiler with the first call
                importlib.import_module("torch._inductor.compile_fx")
        except BaseException:  # noqa: BLE001, S110
            pass


def main(job, entry, path, ahead=None):
    if path:
        os.environ["PYTHONPATH"] = path
        sys.path[1:1] = path.split(os.pathsep)
    host = Host(job)
    if ahead is not None:
        with open(ahead) as file:
            ahead = json.load(file)
        if ahead["imports"] == "during_job":
            # The foreign function below releases the interpreter's lock.
            host.importing = threading.Thread(target=preload, args=(ahead["functions"],), daemon=True)
            host.importing.start()
        else:
            preload(ahead["functions"])

    def answer(work, message, capacity):
        try:
            host.finish_imports()
            text = work()
            status = 0
        except (Absent, ImportError) as error:
            status, text = ABSENT, str(error)
        except BaseException as error:  # noqa: BLE001  (every failure is the variant's result)
            status, text = FAILED, said(error)
        if text:
            data = text.encode("utf-8", "replace")[: capacity - 1]
            ctypes.memmove(message, data + b"\0", len(data) + 1)
        return status

    def launch(number, shape, count, addresses, stream, places, sizes, message, capacity):
        def work():
            found = host.launch(number, shape, tuple(addresses[at] for at in range(count)), stream)
            for at, (place, size) in enumerate(found):
                places[at], sizes[at] = place, size

        return answer(work, message, capacity)

    def graph(begins, message, capacity):
        return answer(host.begin_graph if begins else host.end_graph, message, capacity)

    def software(number, message, capacity):
        return answer(lambda: host.software(number), message, capacity)

    u64s = ctypes.POINTER(ctypes.c_uint64)
    text = ctypes.c_void_p
    number, size = ctypes.c_int32, ctypes.c_uint64
    launches = ctypes.CFUNCTYPE(number, number, number, number, u64s, size, u64s, u64s, text, number)(launch)
    graphs = ctypes.CFUNCTYPE(number, number, text, number)(graph)
    versions = ctypes.CFUNCTYPE(number, number, text, number)(software)
    run = ctypes.CFUNCTYPE(number, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(entry)
    callbacks = [ctypes.cast(callback, ctypes.c_void_p) for callback in (launches, graphs, versions)]
    run(*callbacks)
    sys.stdout.flush()
    # Finalization of libraries can crash; everything has been reported.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])

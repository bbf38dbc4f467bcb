"""A phase from a PyTorch function: the function is the baseline on the GPU and, in float64, the reference on the CPU.

`ncugate init MODULE:FUNCTION` calls this module, which prints the files of the phase as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any, Dict, List, Optional, Tuple

from ._toml import _value as quoted
from ._toml import project_root
from .problem._files import FileError, ProblemError, print_files
from .problem._phase import DTYPES, is_identifier, moved_bytes

# Seconds for the import of PyTorch, and the function in float64 on the CPU.
LIMIT = 600
# Names of dimensions, in the order in which extents appear, and extents of the small shape: primes, so that every tile has a tail.
DIMENSIONS = dict(zip("MNKLPQRS", (37, 53, 29, 43, 31, 47, 23, 41)))
# Functions of an element, by PyTorch's names, as CUDA C++ over the float `v`.
ELEMENTWISE = {
    "abs": "fabsf(v)",
    "cos": "cosf(v)",
    "elu": "v > 0.0f ? v : expm1f(v)",
    "erf": "erff(v)",
    "exp": "expf(v)",
    "gelu": "0.5f * v * (1.0f + erff(v * 0.70710678f))",
    "leaky_relu": "v > 0.0f ? v : 0.01f * v",
    "log": "logf(v)",
    "neg": "-v",
    "relu": "fmaxf(v, 0.0f)",
    "rsqrt": "rsqrtf(v)",
    "sigmoid": "1.0f / (1.0f + expf(-v))",
    "silu": "v / (1.0f + expf(-v))",
    "sin": "sinf(v)",
    "sqrt": "sqrtf(v)",
    "square": "v * v",
    "tanh": "tanhf(v)",
}
# A relative error that a correct kernel stays below: some roundings of the type, and more of f32 for sums in another order.
RELATIVE = {"f64": 1e-10, "f32": 1e-4, "f16": 4e-3, "bf16": 1.6e-2, "fp8-e4m3": 0.125, "fp8-e5m2": 0.25}
# The multiple of the drafted `atol` that a sum of products needs, if one rounding moves each of its inputs: for normal inputs the largest of a
# million elements moves by five standard deviations, and the deviation is `sqrt(2)` unit roundoffs of the root mean square, whatever the
# length of the sum is. Other types have room for it.
SUMS = {"f16": 2, "bf16": 4}
C_TYPES = {
    "f64": "double",
    "f32": "float",
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "fp8-e4m3": "__nv_fp8_e4m3",
    "fp8-e5m2": "__nv_fp8_e5m2",
    **{f"i{bits}": f"int{bits}_t" for bits in (64, 32, 16, 8)},
    "u8": "uint8_t",
    "bool": "bool",
}
HEADERS = {"f16": "cuda_fp16.h", "bf16": "cuda_bf16.h", "fp8-e4m3": "cuda_fp8.h", "fp8-e5m2": "cuda_fp8.h"}


class Input:
    """An input of the command line: `4096x8192`, or `weight=8192`."""

    def __init__(self, text: str) -> None:
        name, equals, extents = text.rpartition("=")
        self.name = name if equals else None
        if not re.fullmatch(r"[1-9]\d{0,17}(x[1-9]\d{0,17})*", extents) or (equals and not is_identifier(name)):
            raise ProblemError(f"`{text}` is not a shape; write extents such as 4096x8192, or weight=8192")
        self.extents = [int(one) for one in extents.split("x")]


def literal(text: str) -> Tuple[str, str]:
    """An argument that is not a tensor: `dim=-1`."""
    name, _, value = text.partition("=")
    if not is_identifier(name) or not value:
        raise ProblemError(f"`{text}` is not an argument; write NAME=LITERAL, such as dim=-1")
    return name, value


class Buffer:
    """A buffer of the phase; of an output the root mean square, the smallest over the shapes."""

    def __init__(self, name: str, dtype: str, shape: List[str], scale: Optional[float] = None) -> None:
        self.name, self.dtype, self.shape, self.scale = name, dtype, shape, scale

    def line(self, content: str) -> str:
        """Its line in the phase."""
        shape = ", ".join(f'"{extent}"' for extent in self.shape or ["1"])
        if self.scale is not None:
            more = ', role = "output"'
        else:
            more = ", init = { uniform = { low = 0.5, high = 3 } }" if content == "positive" else ""
        return f'{self.name} = {{ dtype = "{self.dtype}", shape = [{shape}]{more} }}\n'


class TorchFunction:
    """A function to make a phase of, called once."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.given, self.dtype, self.backward, self.python = args.function, args.dtype, args.backward, args.python
        self.module, _, self.function = args.function.rpartition(":")
        self.folder: Optional[pathlib.Path] = None
        if self.module.endswith(".py"):
            file = pathlib.Path(self.module)
            if not file.is_file():
                raise FileError(f"cannot read {file}: no such file")
            self.folder, self.module = file.resolve().parent, file.stem
        # Arguments by position come first in a call.
        self.inputs = sorted(map(Input, args.shapes), key=lambda one: one.name is not None)
        self.literals = [literal(text) for text in args.arguments]
        self.output = pathlib.Path(args.output or f"{self.function.replace('.', '_')}.toml")
        self.stem = self.output.stem
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", self.stem):
            raise ProblemError(f"`{self.stem}` is not a name of a phase; choose another file with --output")
        extents = dict.fromkeys(extent for one in self.inputs for extent in one.extents if extent > 1)
        # Equal extents are one dimension; further ones stay numbers.
        self.dimensions = {extent: name for extent, name in zip(extents, DIMENSIONS)} or {1: "M"}
        self.named = f"{self.module}:{self.function}"
        # Without the suffix, `tanh` would be the function of CUDA.
        self.entry = f"{self.function.replace('.', '_')}_kernel"

    def small(self, extents: List[int]) -> List[int]:
        """The same extents at the small shape."""
        return [min(DIMENSIONS[self.dimensions[one]], one) if one in self.dimensions else one for one in extents]

    def shape(self, extents: List[int]) -> List[str]:
        return [self.dimensions[one] if one > 1 and one in self.dimensions else str(one) for one in extents]

    def failed(self, what: str) -> ProblemError:
        return ProblemError(f"{self.named}: {what}")

    def call(self) -> Dict[str, Any]:
        """The names of the inputs, and the results at the given and the small extents."""
        request = {
            "folder": self.folder and str(self.folder),
            "module": self.module,
            "function": self.function,
            "names": [one.name for one in self.inputs],
            "arguments": self.literals,
            "dtype": next(torch for torch, (own, _) in DTYPES.items() if own == self.dtype),
            "backward": self.backward,
            "sizes": [[one.extents for one in self.inputs], [self.small(one.extents) for one in self.inputs]],
        }
        python = self.python or "python3"
        program = (pathlib.Path(__file__).resolve().parent / "_torch_call.py").read_text(encoding="utf-8")
        command = [python, "-c", program, json.dumps(request)]
        try:
            ended = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self.failed(
                f"cannot run `{python}`: {getattr(error, 'strerror', None) or 'it takes too long'}; use --python"
            ) from error
        if ended.returncode != 0:
            lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
            raise self.failed(f"{lines[-1] if lines else f'status {ended.returncode}'} (called by `{python}`)")
        try:
            return dict(json.loads(ended.stdout))
        except ValueError as error:
            raise self.failed(f"unexpected output of `{python}`: {error}") from error

    def files(self) -> List[Tuple[str, str]]:
        """The phase, the Python file and the kernel, with their texts."""
        called = self.call()
        given, small = called["sizes"]

        def extents(results: Dict[str, Any]) -> List[List[int]]:
            return [one["extents"] for one in results["outputs"] + results["gradients"]]

        # The small shape is left out if the named extents of a result are others there.
        if small is not None and (
            all(self.small([extent]) == [extent] for extent in self.dimensions)
            or list(map(self.small, extents(given))) != extents(small)
        ):
            small = None
        names = called["names"]
        outputs = ["output"] if len(given["outputs"]) == 1 else [f"output{at}" for at in range(len(given["outputs"]))]
        buffers = [Buffer(name, self.dtype, self.shape(one.extents)) for name, one in zip(names, self.inputs)]

        def made(name: str, kind: str, at: int) -> Buffer:
            result = given[kind][at]
            if result["dtype"] not in DTYPES:
                raise self.failed(f"`{name}` has the type {result['dtype']}")
            scale = min([result["scale"], *([small[kind][at]["scale"]] if small else [])])
            return Buffer(name, DTYPES[result["dtype"]][0], self.shape(result["extents"]), scale)

        if self.backward:
            for at, name in enumerate(outputs):
                upstream = made(f"grad_{name}", "outputs", at)
                upstream.scale = None
                buffers.append(upstream)
        buffers += [made(name, "outputs", at) for at, name in enumerate(outputs)]
        buffers += [made(f"grad_{name}", "gradients", at) for at, (name, _) in enumerate(zip(names, given["gradients"]))]
        taken = set(self.dimensions.values())
        for one in buffers:
            if one.name in taken:
                raise self.failed(f"`{one.name}` cannot be the name of a buffer here; wrap the function in another one")
            taken.add(one.name)
        python, kernel = self.output.with_name(f"{self.stem}_torch.py"), self.output.with_suffix(".cu")
        formula = self.formula(buffers)
        return [
            (str(self.output), self.phase_text(python, kernel, buffers, called["content"], small is not None, formula)),
            (str(python), self.python_text(called, given, outputs)),
            (str(kernel), self.kernel_text(buffers, formula)),
        ]

    def formula(self, buffers: List[Buffer]) -> Optional[str]:
        """The formula of an element, if the function has one and is called with its input alone."""
        if self.literals or self.backward or not self.module.startswith("torch") or len(buffers) != 2:
            return None
        same = buffers[0].shape == buffers[1].shape and buffers[0].dtype == buffers[1].dtype
        return ELEMENTWISE.get(self.function) if same and self.dtype in ("f32", "f16", "bf16") else None

    def phase_text(
        self,
        python: pathlib.Path,
        kernel: pathlib.Path,
        buffers: List[Buffer],
        content: str,
        has_small: bool,
        formula: Optional[str],
    ) -> str:
        root = project_root(pathlib.Path(os.path.abspath(self.output)).parent)

        def named(path: pathlib.Path) -> str:
            """A path as the phase writes it: relative to its root if it is inside."""
            for inner in (pathlib.Path(os.path.abspath(path)), path.resolve()):
                for base in (root, root.resolve()):
                    if base == inner or base in inner.parents:
                        return str(inner.relative_to(base))
            return str(path.resolve())

        call = quoted(f"{named(python)}:call")
        build = [f"python = {quoted(self.python)}\n"] if self.python else []
        build += [f"pythonpath = [{quoted(named(self.folder))}]\n"] if self.folder else []
        moved = moved_bytes((next(size for own, size in DTYPES.values() if own == one.dtype), one.shape) for one in buffers)
        about = "# CHECK: minimum bytes that a launch moves: every input read once, every output written once.\n"

        def dims(of: Any) -> str:
            return ", ".join(f"{name} = {of(extent)}" for extent, name in self.dimensions.items())

        small = dims(lambda extent: self.small([extent])[0])
        if formula:
            elements = " * ".join(buffers[0].shape) or "1"
            mark, grid = "CHECK", f"({elements} + 255) // 256"
            args = f'"{buffers[0].name}", "{buffers[1].name}", {{ value = "{elements}", type = "i64" }}'
        else:
            mark, grid = "FILL", "1"
            args = ", ".join(f'"{name}"' for name in [*(one.name for one in buffers), *self.dimensions.values()])
        return "".join(
            [
                f"# Written by `ncugate init {self.named}`. Lines with CHECK are guesses: compare them with your application.\n#\n",
                f'#     ncugate check {self.output} --arch sm_90\n#     ncugate run {self.output}\n\n[phase]\nname = "{self.stem}"\n',
                "".join(["\n[build]\n", *build]) if build else "",
                f"\n[workload]\nseeds = [0, 1, 2]\n# In float64 on the CPU.\nreference = {{ python = {call}, timeout_s = 600 }}\n",
                tolerance(buffers),
                f"{about}bytes = {quoted(moved)}\n" if moved else "",
                "\n[workload.shapes]\n",
                f"# Sizes with tails: checked, never timed.\nragged = {{ {small} }}\n" if has_small else "",
                f'given = {{ {dims(lambda extent: extent)} }}\n\n[bench]\nshapes = ["given"]\n\n[profile]\nshapes = ["given"]\n',
                "\n[workload.buffers]\n",
                *(one.line(content) for one in buffers),
                f'\n[kernel]\nsource = {quoted(named(kernel))}\nentry = "{self.entry}"\n# {mark}: blocks of the grid, and threads of a block.\n',
                f'grid = ["{grid}"]\nblock = [256]\nargs = [{args}]\n\n# The function on the GPU, timed in the same rounds.\n',
                f'[[baseline]]\nname = "torch"\npython = {call}\n\n',
                '[[gate]]\nrequire = "correct == 1"\n\n[[gate]]\nrequire = \'speedup("torch") > 1\'\n',
            ]
        )

    def python_text(self, called: Dict[str, Any], given: Dict[str, Any], outputs: List[str]) -> str:
        # A method or an attribute is found at the call.
        function = f"from {self.module} import {self.function} as function"
        if "." in self.function:
            function = f"import {self.module}\n\nfunction = {self.module}.{self.function}"
        inputs, count = called["names"], called["by_position"]
        upstream = [f"grad_{name}" for name in outputs] if self.backward else []
        words = [
            *inputs[:count],
            *(f"{name}={name}" for name in inputs[count:]),
            *(f"{name}={value}" for name, value in self.literals),
        ]
        call = f"function({', '.join(words)})"

        def group(names: List[str]) -> str:
            return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"

        def result(text: str, at: int) -> str:
            """A phase has a tensor without axes as one element."""
            return text if given["outputs"][at]["extents"] else f"{text}.reshape(1)"

        if not self.backward:
            body = f"    return {result(call, 0) if given['single'] else call}\n"
        else:
            assigned = outputs[0] if given["single"] else group(outputs)
            shaped = group([f"{grad}.reshape({name}.shape)" for grad, name in zip(upstream, outputs)])
            returned = ", ".join(f"{result(name, at)}.detach()" for at, name in enumerate(outputs))
            body = (
                f"    {group(inputs)} = (one.detach().requires_grad_() for one in {group(inputs)})\n"
                "    # One thread: allocations of another would not belong to a graph.\n"
                "    with torch.enable_grad(), torch.autograd.set_multithreading_enabled(False):\n"
                f"        {assigned} = {call}\n"
                f"        gradients = torch.autograd.grad({group(outputs)}, {group(inputs)}, {shaped})\n"
                f"    return ({returned}, *gradients)\n"
            )
        doc = f"{self.named}, as the phase calls it: the baseline on the GPU, and in float64 on the CPU the reference."
        parameters = ", ".join(f"{name}: torch.Tensor" for name in [*inputs, *upstream])
        return f'"""{doc}"""\n\nimport torch\n{function}\n\n\ndef call({parameters}):\n{body}'

    def kernel_text(self, buffers: List[Buffer], formula: Optional[str]) -> str:
        headers = dict.fromkeys(HEADERS[one.dtype] for one in buffers if one.dtype in HEADERS)
        pointers = [f"{'const ' if one.scale is None else ''}{C_TYPES[one.dtype]}* __restrict__ {one.name}" for one in buffers]
        head = f"// The candidate of {self.output}.\n#include <cstdint>\n" + "".join(f"#include <{name}>\n" for name in headers)
        if formula is None:
            parameters = ", ".join([*pointers, *(f"int {name}" for name in self.dimensions.values())])
            fill = "// FILL: write the outputs. Until then, the check finds elements that were never written."
            return f'{head}\n{fill}\nextern "C" __global__ void {self.entry}({parameters})\n{{\n}}\n'
        return (
            f'{head}\nextern "C" __global__ void {self.entry}({", ".join([*pointers, "long long elements"])})\n{{\n'
            "    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
            f"    if (at < elements) {{\n        const float v = static_cast<float>({buffers[0].name}[at]);\n"
            f"        {buffers[1].name}[at] = static_cast<{C_TYPES[self.dtype]}>({formula});\n    }}\n}}\n"
        )


def number(value: float) -> str:
    """A number of a tolerance: `4e-3` with one digit."""
    return re.sub(r"e\+?(-?)0?(\d)", r"e\1\2", f"{value:.0e}")


def tolerance(buffers: List[Buffer]) -> str:
    """`atol` and `rtol` of the outputs; integers are equal."""
    # Half of the root mean square: a larger bound would accept an output that is off by twice `rtol`.
    bounds = {
        one.name: f"atol = {number(RELATIVE[one.dtype] * one.scale / 2)}, rtol = {RELATIVE[one.dtype]!r}"
        for one in buffers
        if one.scale is not None and one.dtype in RELATIVE
    }
    if not bounds:
        return "tolerance = { max_abs = 0 }\n"
    first, *_ = bounds.values()
    others = ", ".join(f"{name} = {{ {bound} }}" for name, bound in bounds.items() if bound != first)
    others = f", outputs = {{ {others} }}" if others else ""
    dtype = next((one.dtype for one in buffers if one.scale is not None and one.dtype in SUMS), None)
    sums = ""
    if dtype is not None:
        sums = (
            f"# Sums of {dtype} products, such as gradients of weights, move further with one rounding of their inputs: if\n"
            f"# `ncugate check` or a run calls one ill-conditioned, give it {SUMS[dtype]} times the atol.\n"
        )
    about = "# CHECK: a relative bound for the type, and half of it times the root mean square of the output.\n"
    return f'{about}{sums}tolerance = {{ {first}, ill_conditioned = "inconclusive"{others} }}\n'


def main(words: Optional[List[str]] = None) -> int:
    """Prints the files as JSON; returns the exit status."""
    parser = argparse.ArgumentParser(prog="ncugate init", allow_abbrev=False)
    parser.add_argument("function")
    for option in ("--output", "--python"):
        parser.add_argument(option)
    parser.add_argument("--shape", dest="shapes", action="append", default=[])
    parser.add_argument("--arg", dest="arguments", action="append", default=[])
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--backward", action="store_true")
    args = parser.parse_args(words)
    return print_files(args.function, lambda: TorchFunction(args).files())


if __name__ == "__main__":
    sys.exit(main())

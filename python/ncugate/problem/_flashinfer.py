"""FlashInfer-Trace: `definitions/**/*.json`, `workloads/**/*.jsonl` and `solutions/**/*.json` of a folder.

Fields have the names of flashinfer-bench's documents, and those of SOL-ExecBench; others are skipped.
"""

from __future__ import annotations

import argparse
import array
import json
import os
import pathlib
import re
import struct
from typing import Any, Dict, List, Tuple

from ._calls import literals, module, with_axes
from ._files import FileError, ProblemError, field, text_of, texts
from ._phase import DTYPES, Candidate, Problem, Target, Tensor, distinct, is_float, is_identifier

PYTHON = ("python", "pytorch", "triton", "tilelang", "cutedsl", "cute_dsl", "cutile", "cudnn_frontend")
# Compiled languages with their binding: of flashinfer-bench, and of SOL-ExecBench.
COMPILED = {"cuda": "tvm-ffi", "cpp": "tvm-ffi", **dict.fromkeys(("cuda_cpp", "cutlass", "cudnn", "cublas"), "torch")}
BUILT_BY = {"torch": "PyTorch's extension loader", "tvm-ffi": "TVM-FFI"}
COMPILED_FILES = (".cu", ".cpp", ".cc", ".c", ".cuh", ".h", ".hpp")
# flashinfer-bench's `ResolvedEvalConfig`, and of `moe` its `eval_config.yaml`.
BOUND = {"atol": 1e-2, "rtol": 1e-2}
SUM_NOTE = (
    "errors up to atol + rtol * |expected| are allowed; flashinfer-bench allows the larger of the two. The phase also bounds rel_l2"
)
# The dimension that distinguishes workloads with different numbers.
WORKLOAD = "WORKLOAD"


def documents(root: pathlib.Path, folder: str, ending: str) -> List[Tuple[pathlib.Path, Any]]:
    """The JSON texts of a folder and its subfolders, sorted by path; one a line of JSON Lines."""
    found = []
    for where, folders, files in os.walk(root / folder, onerror=_refused):
        folders.sort()
        for path in sorted(pathlib.Path(where, name) for name in files if name.endswith(ending)):
            text = text_of(path)
            try:
                found += [(path, json.loads(one)) for one in ([text] if ending == ".json" else text.split("\n")) if one.strip()]
            except (ValueError, RecursionError) as error:
                raise ProblemError(f"{path}: not JSON: {error}") from error
    return found


def _refused(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise FileError(f"cannot read {error.filename}: {error.strerror}") from error


def imported(args: argparse.Namespace, target: Target) -> Problem:
    """The problem of a definition, with its workloads and solutions."""
    root = pathlib.Path(args.folder)
    definitions = {field(path, one, "name", str): (path, one) for path, one in documents(root, "definitions", ".json")}
    if not definitions:
        raise ProblemError(f"{root}: it is not a folder of FlashInfer-Trace: it has no definitions/**/*.json")
    if args.definition is None and len(definitions) > 1:
        raise ProblemError(f"{root}: select one of its definitions with --definition: {', '.join(definitions)}")
    name = args.definition or next(iter(definitions))
    if name not in definitions:
        raise ProblemError(f"{root}: it has no definition `{name}`; known: {', '.join(definitions)}")
    path, definition = definitions[name]
    operation = field(path, definition, "op_type", str, "")
    if operation == "sampling":
        what = "it is a sampling operation with random outputs, but a phase compares every element with one expected value"
        raise ProblemError(f"{name}: {what}")
    workloads = workloads_of(root, name, args.workloads)
    scalars, differ = scalars_of(path, definition, workloads, name)
    sizes = sizes_of(path, definition, workloads, differ, name)
    tensors = tensors_of(path, definition, workloads, target, name)
    inputs = list(field(path, definition, "inputs", dict))
    files: "Dict[str, str | bytes]" = stored_tensors(root, tensors, workloads, sizes, name)
    files["definition.py"] = field(path, definition, "reference", str)
    files["reference.py"] = reference(inputs, tensors, scalars)
    notes: List[str] = []
    candidates = candidates_of(root, name, args.solutions, inputs, tensors, scalars, files, notes)
    notes.append(SUM_NOTE)
    notes += [
        f"the constraint `{one}` is not checked; the workloads must satisfy it" for one in texts(path, definition, "constraints")
    ]
    plain = {shape: json.dumps(one, separators=(",", ":"), ensure_ascii=False) for shape, one in zip(sizes, workloads)}
    return Problem(
        format="flashinfer",
        name=name,
        title=field(path, definition, "description", str, "") or name,
        sizes=sizes,
        timed=list(sizes),
        tensors=tensors,
        tolerance={**BOUND, "mismatches": 0.05} if operation == "moe" else BOUND,
        reference="reference.py:reference",
        eager="reference.py:eager",
        candidates=candidates,
        files=files,
        notes=notes,
        scalars=scalars,
        imported={"workloads": plain},
    )


def workloads_of(root: pathlib.Path, definition: str, chosen: List[str]) -> List[Dict[str, Any]]:
    """The workloads of a definition; a line with a solution is a result."""
    own = []
    for path, line in documents(root, "workloads", ".jsonl"):
        # The format's first version wrote an empty name for a missing solution.
        if field(path, line, "definition", str) == definition and not field(path, line, "solution", str, ""):
            workload = field(path, line, "workload", dict)
            for key, kind in (("uuid", str), ("axes", dict), ("inputs", dict)):
                field(path, workload, key, kind)
            own.append(workload)
    for name in chosen:
        if name not in (workload["uuid"] for workload in own):
            raise ProblemError(f"{definition}: it has no workload {name}")
    kept = [workload for workload in own if not chosen or workload["uuid"] in chosen]
    if not kept:
        raise ProblemError(f"{definition}: it has no workload, but a phase needs a shape")
    return kept


def dtype_of(path: pathlib.Path, name: str, spec: Any, problem: str) -> str:
    dtype = field(path, spec, "dtype", str)
    if dtype not in DTYPES:
        raise ProblemError(f"{problem}: `{name}` has the type {dtype}, which a phase does not support")
    return str(dtype)


def scalars_of(path: pathlib.Path, definition: Any, workloads: List[Any], problem: str) -> "Tuple[Dict[str, Dict[str, str]], bool]":
    """Numbers passed by value, and whether one differs between workloads."""
    found, differ = {}, False
    for name, spec in field(path, definition, "inputs", dict).items():
        if field(path, spec, "shape", list, None) is not None:
            continue
        values = []
        for workload in workloads:
            given = workload["inputs"].get(name)
            value = given.get("value") if isinstance(given, dict) and given.get("type") == "scalar" else None
            if not isinstance(value, (int, float)):
                raise ProblemError(f"{problem}: workload {workload['uuid']} has no value for `{name}`")
            # As expressions have numbers: true is 1, and an exponent has no sign and no zeros.
            values.append(re.sub(r"e\+?(-?)0*", r"e\1", repr(int(value) if isinstance(value, bool) else value)))
        *others, last = values
        cases = "".join(f"{value} if {WORKLOAD} == {at} else " for at, value in enumerate(others, 1))
        is_same = set(values) == {last}
        differ |= not is_same
        found[name] = {"type": DTYPES[dtype_of(path, name, spec, problem)][0], "value": last if is_same else cases + last}
    return found, differ


def sizes_of(path: pathlib.Path, definition: Any, workloads: List[Any], differ: bool, problem: str) -> Dict[str, Dict[str, int]]:
    """A shape for each workload."""
    sizes = {}
    for at, workload in enumerate(workloads, 1):
        dims = {}
        for name, axis in field(path, definition, "axes", dict).items():
            is_const = field(path, axis, "type", str) == "const"
            extent = field(path, axis, "value", int) if is_const else workload["axes"].get(name)
            if type(extent) is not int or extent < 1:
                what = f"axis `{name}` of workload {workload['uuid']} is {extent}, but an extent must be at least 1"
                if extent is None:
                    what = f"workload {workload['uuid']} has no value for axis `{name}`"
                raise ProblemError(f"{problem}: {what}; choose others with --workload")
            dims[name] = extent
        sizes[f"w{at}"] = {**dims, WORKLOAD: at} if differ else dims
    return sizes


def tensors_of(path: pathlib.Path, definition: Any, workloads: List[Any], target: Target, problem: str) -> List[Tensor]:
    """Inputs with a shape, then outputs."""
    found = []
    for key in ("inputs", "outputs"):
        for name, spec in field(path, definition, key, dict).items():
            shape = field(path, spec, "shape", list, None)
            if shape is None and key == "inputs":
                continue
            if shape is None:
                raise ProblemError(f"{problem}: output `{name}` is a returned number, but a phase compares buffers")
            tensor = Tensor(name, dtype_of(path, name, spec, problem), texts(path, spec, "shape"), key == "outputs")
            if key == "inputs":
                tensor.init = init_of(tensor, workloads, target, problem)
            found.append(tensor)
    return found


def init_of(tensor: Tensor, workloads: List[Any], target: Target, problem: str) -> Any:
    """How an input is filled: flashinfer-bench's distribution, or files."""
    kinds = {(workload["inputs"].get(tensor.name) or {}).get("type") for workload in workloads}
    if kinds == {"safetensors"}:
        return {"npy": target.path("{{ shape }}-{{ buffer }}.npy")}
    if kinds != {"random"}:
        what = (
            f"input `{tensor.name}` is random in one workload and stored in another; select workloads of one kind with --workload"
        )
        raise ProblemError(f"{problem}: {what}")
    if tensor.dtype == "bool":
        return {"mask": 0.5}
    bound = {"int8": 128, "int16": 1024, "int32": 1024, "int64": 1024}.get(tensor.dtype)
    return None if bound is None else {"uniform": {"low": -bound - 0.5, "high": bound - 0.5}}


def stored_tensors(
    root: pathlib.Path, tensors: List[Tensor], workloads: List[Any], sizes: Dict[str, Any], problem: str
) -> Dict[str, Any]:
    """Tensors of safetensors files, as NumPy files for each shape."""
    files = {}
    for (shape, dims), workload in zip(sizes.items(), workloads):
        for tensor in tensors:
            given = workload["inputs"].get(tensor.name) or {}
            if tensor.is_output or given.get("type") != "safetensors":
                continue
            unknown = [axis for axis in tensor.shape if axis not in dims]
            if unknown:
                raise ProblemError(f"{problem}: `{tensor.name}` has an undeclared axis `{unknown[0]}`")
            name = field(root, given, "path", str)
            if name.startswith("/") or ".." in name.split("/"):
                raise ProblemError(f"{problem}: `{tensor.name}` names the file {name}, which is outside the folder")
            extents = [dims[axis] for axis in tensor.shape] or [1]
            files[f"{shape}-{tensor.name}.npy"] = npy_of(root / name, field(root, given, "tensor_key", str), tensor.dtype, extents)
    return files


def npy_of(path: pathlib.Path, key: str, dtype: str, extents: List[int]) -> bytes:
    """A tensor of a safetensors file as a NumPy file.

    A safetensors file is eight bytes with the length of a JSON header, the header, and elements in C order. bf16 and FP8, which NumPy does
    not have, become float32.
    """
    own = {
        **{f"F{bits}": f"float{bits}" for bits in (64, 32, 16)},
        **{f"I{bits}": f"int{bits}" for bits in (64, 32, 16, 8)},
        **{"BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "U8": "uint8", "BOOL": "bool"},
    }
    try:
        if not path.is_file():
            raise FileError(f"cannot read {path}: no such file")
        with open(path, "rb") as file:
            size, length = os.fstat(file.fileno()).st_size, int.from_bytes(file.read(8), "little")
            if length > 100_000_000 or 8 + length > size:
                raise ProblemError(f"{path}: it is not a safetensors file")
            header = json.loads(file.read(length))
            entry = field(path, header, key, dict)
            kind, shape = field(path, entry, "dtype", str), field(path, entry, "shape", list) or [1]
            start, end = field(path, entry, "data_offsets", list)
            expected = DTYPES[dtype][1]
            for extent in extents:
                expected *= extent
            if own.get(kind) != dtype or shape != extents or end - start != expected or start < 0 or 8 + length + end > size:
                raise ProblemError(f"{path}: tensor `{key}` is {kind} {shape}, but the definition has {DTYPES[dtype][0]} {extents}")
            file.seek(8 + length + start)
            data = file.read(expected)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise ProblemError(f"{path}: its header: {error}") from error
    if dtype == "bfloat16":
        data = array.array("I", [half << 16 for half in array.array("H", data)]).tobytes()
    elif dtype.startswith("float8"):
        known = [struct.pack("<f", value) for value in map(e5m2 if dtype == "float8_e5m2" else e4m3, range(256))]
        data = b"".join(known[byte] for byte in data)
    size = 4 if dtype in ("bfloat16", "float8_e4m3fn", "float8_e5m2") else DTYPES[dtype][1]
    letter = "f" if is_float(dtype) else {"uint8": "u", "bool": "b"}.get(dtype, "i")
    head = f"{{'descr': '{'|' if size == 1 else '<'}{letter}{size}', 'fortran_order': False, 'shape': ({''.join(f'{n}, ' for n in extents)}), }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def e5m2(byte: int) -> float:
    """The upper half of a float16."""
    return float(struct.unpack("<e", bytes((0, byte)))[0])


def e4m3(byte: int) -> float:
    sign, exponent, fraction = -1.0 if byte & 128 else 1.0, byte >> 3 & 15, byte & 7
    if byte & 127 == 127:
        return float("nan")
    return sign * ((8 + fraction) * 2.0 ** (exponent - 10) if exponent else fraction * 2.0**-9)


def arguments(inputs: List[str], tensors: List[Tensor], scalars: Dict[str, Any], how: Any) -> str:
    """Arguments of the definition's functions, in its order."""
    by_name = {one.name: one for one in tensors}

    def number(name: str) -> str:
        kind = scalars[name]["type"]
        return f"{'bool' if kind == 'bool' else 'float' if kind[0] in 'fb' else 'int'}({name})"

    return ", ".join(number(name) if name in scalars else how(by_name[name]) for name in inputs)


def reference(inputs: List[str], tensors: List[Tensor], scalars: Dict[str, Any]) -> str:
    given = arguments(inputs, tensors, scalars, lambda one: f"given({json.dumps(one.name)}, {one.name})")
    body = (
        f"def reference({', '.join(inputs)}):\n    return results(definition.run({given}))\n\n\n"
        f"def eager({', '.join(inputs)}):\n    return results(definition.run({arguments(inputs, tensors, scalars, with_axes)}))\n"
    )
    doc = (
        "Calls `run` of definition.py, the reference of a definition of FlashInfer-Trace, with ncugate's inputs.\n\n"
        "`reference` returns the expected outputs, on the CPU and in the types of the definition; `eager` is the baseline.\n"
        "Inputs are tensors if the definition imports PyTorch, else NumPy arrays.\n"
    )
    outputs = [one for one in tensors if one.is_output]
    return module(doc, ["import sys", "", "import definition"], tensors, outputs, ["definition"], body)


class Solution:
    """A solution with its build and call settings."""

    def __init__(self, path: pathlib.Path, table: Any) -> None:
        spec = field(path, table, "spec", dict)
        self.name, self.definition = field(path, table, "name", str), field(path, table, "definition", str)
        self.sources = {
            field(path, one, "path", str): field(path, one, "content", str) for one in field(path, table, "sources", list)
        }
        self.languages = [one for one in [field(path, spec, "language", str, None)] if one] + texts(path, spec, "languages")
        binding = field(path, spec, "binding", str, None)
        kinds = {binding or COMPILED[one] if one in COMPILED else "python" if one in PYTHON else None for one in self.languages}
        # How it is called: "python", or the binding of compiled sources; None if a language is unknown or incompatible with another.
        self.kind = kinds.pop() if len(kinds) == 1 else None
        if self.kind not in ("python", *BUILT_BY):
            self.kind = None
        self.entry = field(path, spec, "entry_point", str)
        self.file, _, self.function = self.entry.partition("::")
        self.takes_outputs = field(path, spec, "destination_passing_style", bool, True)
        self.needs = texts(path, spec, "dependencies")
        options = field(path, spec, "compile_options", dict, None)
        self.flags = options and {
            "extra_cflags": texts(path, options, "cflags"),
            "extra_cuda_cflags": texts(path, {"cuda_cflags": ["-O3", "--use_fast_math"], **options}, "cuda_cflags"),
            "extra_ldflags": texts(path, {"ld_flags": ["-lcuda"], **options}, "ld_flags"),
        }

    def refusal(self, kept: "List[Solution]") -> "str | None":
        """Why a phase cannot call it in addition to the kept ones."""
        if self.kind is None:
            return f"its language is `{', '.join(self.languages)}`, which ncugate does not support (docs/problems.md)"
        if "::" not in self.entry:
            return f"its entry point `{self.entry}` is not FILE::FUNCTION"
        if not is_identifier(self.function):
            return f"its entry `{self.function}` is not a function of a module"
        if self.file not in self.sources:
            return f"its entry file `{self.file}` is not among its sources"
        for path in self.sources:
            if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*", path):
                return f"its source `{path}` is not in the same folder as the others"
            if self.kind != "python" and not path.endswith(COMPILED_FILES):
                return f"its source `{path}` is neither C++ nor CUDA"
        # Python identifies modules by name alone: files of two solutions with the same import name would be one module.
        for other in kept:
            shared = [path for path in self.sources if path in other.sources]
            if self.kind == other.kind == "python" and shared and max(len(self.sources), len(other.sources)) > 1:
                return f"it and `{other.name}` both have a module {shared[0]}; import them one at a time with --solution"
        return None

    def calls(self, variant: str, inputs: List[str], tensors: List[Tensor], scalars: Dict[str, Any]) -> str:
        """The file with its entry."""
        outputs = [one for one in tensors if one.is_output]
        taken = outputs if self.takes_outputs else []
        given = ", ".join([arguments(inputs, tensors, scalars, with_axes), *map(with_axes, taken)])
        name = json.dumps(f"ncugate_solution_{variant.replace('-', '_')}")
        if self.kind == "python":
            imports, part = ["import importlib.util", "import pathlib", "import sys"], "solution"
            entry = f"entry({json.dumps(self.file)}, {json.dumps(self.function)}, {name})"
        else:
            imports, part = ["import hashlib", "import pathlib"], "extension"
            flags = repr({key: tuple(words) for key, words in self.flags.items()}) if self.flags else "{}"
            entry = f"extension({literals(self.sources)}, {json.dumps(self.function)}, {name}, {json.dumps(self.kind)}, {flags})"
        # It gets tensors if PyTorch is installed, whether or not it imports PyTorch.
        imports += ["", "try:", "    import torch  # noqa: F401", "except ImportError:", "    pass"]
        call = f"ENTRY({given})" if self.takes_outputs else f"return results(ENTRY({given}))"
        parameters = ", ".join([*inputs, *(one.name for one in taken)])
        body = f"ENTRY = {entry}\n\n\ndef solution({parameters}):\n    {call}\n"
        doc = f"Calls {self.function} of {self.file}, a solution of FlashInfer-Trace, with ncugate's buffers."
        return module(doc, imports, tensors, outputs, [part], body)


def candidates_of(
    root: pathlib.Path,
    definition: str,
    chosen: List[str],
    inputs: List[str],
    tensors: List[Tensor],
    scalars: Dict[str, Any],
    files: "Dict[str, str | bytes]",
    notes: List[str],
) -> List[Candidate]:
    """The solutions that a phase can call, with their files. An excluded one is a note, or an error if it was named."""
    own = [
        one
        for one in (Solution(path, table) for path, table in documents(root, "solutions", ".json"))
        if one.definition == definition
    ]
    for name in chosen:
        if name not in (one.name for one in own):
            raise ProblemError(f"{definition}: it has no solution `{name}`")
    kept: List[Solution] = []
    for one in own:
        if chosen and one.name not in chosen:
            continue
        why = one.refusal(kept)
        if why is None:
            kept.append(one)
        elif chosen:
            raise ProblemError(f"{definition}: solution `{one.name}`: {why}")
        else:
            notes.append(f"solution `{one.name}` is omitted: {why}")
    found = []
    for one, variant in zip(kept, distinct(one.name for one in kept)):
        if one.kind in BUILT_BY:
            by = BUILT_BY[one.kind]
            notes.append(f"{by} compiles solution `{one.name}` at its first call, which needs nvcc, ninja and a C++ compiler")
        if one.needs:
            notes.append(f"solution `{one.name}` needs {', '.join(one.needs)} in the Python of [build]")
        files.update({f"{variant}/{path}": content for path, content in one.sources.items()})
        file = f"{variant}/ncugate_{variant.replace('-', '_')}.py"
        files[file] = one.calls(variant, inputs, tensors, scalars)
        found.append(Candidate(variant, one.name, file, "solution"))
    return found

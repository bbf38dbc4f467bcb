"""KernelBench: `Model`, `get_inputs` and `get_init_inputs` in one file, `ModelNew` in another."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import re

from ._calls import module, passed, typed, with_axes
from ._describe import Description
from ._files import ProblemError, text_of
from ._phase import Candidate, Problem, Tensor, distinct, is_float, plain_name

# The type of a problem, and KernelBench's tolerance for it.
PRECISIONS = {"fp32": ("float32", 1e-4), "fp16": ("float16", 1e-2), "bf16": ("bfloat16", 1e-2)}
NOTES = [
    "Model and ModelNew have the weights that PyTorch draws on the CPU after torch.manual_seed(42)",
    "the reference is Model in float32 on the CPU; integer inputs stay integers, but KernelBench converts them to floats",
    "the phase also bounds rel_l2, because zeros can be within atol and rtol if the expected values are small",
]


def imported(args: argparse.Namespace) -> Problem:
    """The problem of a file, with its solutions."""
    name = pathlib.Path(args.problem).stem
    given, outputs = args.inputs, [dataclasses.replace(one, is_output=True, init=None) for one in args.returns]
    described = Description(args.problem, "get_inputs", "Model", given)
    for needed in ("get_inputs", "get_init_inputs"):
        if needed not in described.functions:
            raise ProblemError(f"{name}: it is not a problem of KernelBench: it has no function `{needed}`")
    if described.forward is None:
        raise ProblemError(f"{name}: it has no class `Model` with `forward`")
    inputs, arguments = described.inputs(described.forward, given, name, "get_inputs")
    if not outputs:
        what = 'the outputs of forward are unknown without running it; describe each with --returns "y=f32[EXTENT, ...]"'
        raise ProblemError(f"{name}: {what}")
    dtype, bound = PRECISIONS[args.precision]
    for one in inputs:
        if is_float(one.dtype) and one not in given:
            one.dtype = dtype
    tensors = [*inputs, *outputs]
    words = {word for one in tensors for extent in one.shape for word in re.findall(r"\w+", extent)} | described.used
    # A placeholder if no extent is named.
    dims = {key: extent for key, extent in described.constants.items() if extent >= 1 and key in words} or {"ONE": 1}
    files, candidates = {"problem.py": text_of(args.problem)}, []
    stems = [pathlib.Path(path).stem for path in args.solutions]
    for path, stem, variant in zip(args.solutions, stems, distinct(stems)):
        if "ModelNew" not in Description(path).classes:
            raise ProblemError(f"{path}: it has no class `ModelNew`")
        function = f"solution_{variant.replace('-', '_')}"
        files[f"{function}.py"] = text_of(path)
        candidates.append(Candidate(variant, stem, "calls.py", function))
    files["calls.py"] = calls(tensors, arguments, dtype, candidates)
    return Problem(
        format="kernelbench",
        name=name,
        title=plain_name(name).replace("_", " ").strip(),
        sizes={"problem": dims},
        timed=["problem"],
        tensors=tensors,
        tolerance={"atol": bound, "rtol": bound},
        reference="calls.py:reference",
        eager="calls.py:eager",
        candidates=candidates,
        files=files,  # type: ignore[arg-type]
        notes=[*NOTES, *described.notes],
    )


def calls(tensors: "list[Tensor]", arguments: "list[str | Tensor]", dtype: str, candidates: "list[Candidate]") -> str:
    inputs = [one for one in tensors if not one.is_output]
    parameters = ", ".join(one.name for one in inputs)
    on_host = ", ".join(passed(arguments, lambda one: f"on_host({json.dumps(one.name)}, {one.name})"))
    direct = ", ".join(passed(arguments, with_axes))
    body = (
        f'def reference({typed(inputs)}):\n    model = made("problem", "Model", "cpu")\n    with torch.no_grad():\n'
        f"        return results(model.to(PRECISION).to(torch.float32)({on_host}))\n\n\n"
        f'def eager({parameters}):\n    return results(on_gpu("problem", "Model")({direct}))\n'
    )
    for one in candidates:
        body += f'\n\ndef {one.function}({parameters}):\n    return results(on_gpu("{one.function}", "ModelNew")({direct}))\n'
    doc = (
        "Calls Model of problem.py and ModelNew of the solutions, of KernelBench, with ncugate's inputs.\n\n"
        "`reference` returns the expected outputs, on the CPU; `eager` is the baseline.\n"
    )
    imports = ["import importlib.util", "import pathlib", "import sys", "", "import torch", "", f"PRECISION = torch.{dtype}"]
    return module(doc, imports, tensors, [one for one in tensors if one.is_output], ["model"], body)

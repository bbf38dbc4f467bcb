"""gpu-mode: `task.yml` with shapes, tests and ranking, and next to it `reference.py` with `generate_input` and `ref_kernel`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import re
from typing import Any, Dict, List, Tuple

from ._calls import Argument, module, passed, typed, with_axes
from ._describe import Description
from ._files import FileError, ProblemError, field, named_file, text_of
from ._phase import Candidate, Problem, Tensor, distinct, is_identifier

# Limits on a task: some thousand cases.
MOST_PARTS, MOST_LEVELS = 100_000, 64
# The defaults of `make_match_reference`: rtol and atol.
DEFAULT_BOUNDS = {"rtol": 1e-5, "atol": 1e-8}
UNUSED = ("test_timeout", "benchmark_timeout", "ranked_timeout", "gpus", "milestones")


def task_of(path: str) -> Dict[str, Any]:
    """The table of a task. An alias is refused, because it can expand beyond its text."""
    try:
        import yaml
    except ImportError:
        raise FileError("tasks of gpu-mode are YAML: pip install 'ncugate[problem]'") from None
    text, parts, level = text_of(path), 0, 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1
                raise ProblemError(f"{path}: line {line} has a YAML alias (`*name`); write its value instead")
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            parts += 1
            if parts > MOST_PARTS or level > MOST_LEVELS:
                raise ProblemError(f"{path}: it has more than {MOST_PARTS} parts or {MOST_LEVELS} levels")
        task = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ProblemError(f"{path}: {error}") from error
    if not isinstance(task, dict):
        raise ProblemError(f"{path}: it is not a YAML table")
    return task


def imported(args: argparse.Namespace) -> Problem:
    """The problem of a task, with its submissions."""
    path, folder = args.task, pathlib.Path(args.task).parent
    task, name = task_of(path), folder.resolve().name or "task"
    if task.get("lang", "py") != "py":
        raise ProblemError(f"{name}: its language is `{task['lang']}`; only `py` is supported")
    notes: List[str] = []
    sources = own_files(task, path, folder)
    reference = sources["reference.py"][1]
    described = Description(reference, "generate_input", "", args.inputs)
    for needed in ("generate_input", "ref_kernel"):
        if needed not in described.functions:
            raise ProblemError(f"{reference}: it has no function `{needed}`")
    sizes, timed = shapes(task, described, name, notes)
    tensors, arguments = tensors_of(args, described, name)
    files: "Dict[str, str | bytes]" = {own: text_of(source) for own, (_, source) in sources.items()}
    copied = [word for word, _ in sources.values()]
    candidates = submissions(args.solutions, folder, name, files, copied)
    files["calls.py"] = calls(tensors, arguments, described.single, not args.returns, candidates)
    notes = [*(f"{one} is copied" for one in copied), *notes]
    notes.append("ncugate draws the inputs with its own seeds, from the distributions of `generate_input`")
    notes += described.notes
    ranking = task.get("ranking_by")
    if ranking not in (None, "last", "mean", "geom"):
        raise ProblemError(f"{name}: its `ranking_by` is {worded(ranking)}, expected last, mean or geom")
    if ranking is not None:
        notes.append(
            f"ranking_by = {ranking}: `ncugate problem export gpumode` ranks by it; the phase selects at the last benchmark and judges "
            "the gate at all"
        )
    notes += [f"`{key}` has no counterpart in the phase" for key in UNUSED if key in task]
    return Problem(
        format="gpumode",
        name=name,
        title=name,
        sizes=sizes,
        timed=timed,
        tensors=tensors,
        tolerance=tolerance(args, described, name),
        reference="calls.py:reference_answer",
        eager="calls.py:eager",
        candidates=candidates,
        files=files,
        notes=notes,
        imported={} if ranking is None else {"ranking": ranking},
    )


def tolerance(args: argparse.Namespace, described: Description, problem: str) -> Dict[str, float]:
    """The bounds of the command line or of `reference.py`."""
    if args.rtol is not None:
        return {"rtol": args.rtol, "atol": args.atol}
    if described.bounds is None:
        raise ProblemError(f"{problem}: reference.py does not compare with make_match_reference; set --rtol and --atol")
    return {**DEFAULT_BOUNDS, **described.bounds}


def own_files(task: Dict[str, Any], path: str, folder: pathlib.Path) -> Dict[str, Tuple[str, pathlib.Path]]:
    """The files that the task lists, by the names of their imports, without the submission and the program that measures."""
    config = field(path, task, "config", dict, {})
    main = field(path, config, "main", str, "eval.py")
    found = {}
    for entry in field(path, task, "files", list, []):
        name, source = field(path, entry, "name", str), field(path, entry, "source", str)
        if source == "@SUBMISSION@" or name == main:
            continue
        if "/" in name or name in ("", ".", "..", "calls.py") or "\0" in name + source:
            raise ProblemError(f"{path}: the name of file `{name}` conflicts with the phase's own files")
        found[name] = source, named_file(path, folder, source)
    if "reference.py" not in found:
        found["reference.py"] = "reference.py", named_file(path, folder, "reference.py")
    return found


def shapes(
    task: Dict[str, Any], described: Description, problem: str, notes: List[str]
) -> "Tuple[Dict[str, Dict[str, int]], List[str]]":
    """Shapes of the tests, which are checked, and of the benchmarks, which are also timed."""
    sizes: Dict[str, Dict[str, int]] = {}
    timed: List[str] = []
    for key, word in (("tests", "test"), ("benchmarks", "benchmark")):
        for at, case in enumerate(field(problem, task, key, list, []), 1):
            name = f"{word}{at}"
            try:
                dims = dims_of(case, described)
            except ValueError as error:
                notes.append(f"{name} is omitted: {error}")
                continue
            # A size that was already listed is timed under its first name.
            shape = next((known for known, size in sizes.items() if size == dims), name)
            sizes[shape] = dims
            if key == "benchmarks" and shape not in timed:
                timed.append(shape)
    if not timed:
        raise ProblemError(f"{problem}: no benchmark can be a shape ({'; '.join(notes)})")
    # The objective is read at the last shape.
    sizes[timed[-1]] = sizes.pop(timed[-1])
    return sizes, timed


def dims_of(case: Any, described: Description) -> Dict[str, int]:
    """The dimensions of a case: every parameter of `generate_input` except the seed, because a phase has its own seeds."""
    if not isinstance(case, dict):
        raise ValueError("it is not a table")
    dims = {}
    for name in described.parameters:
        value = case.get(name)
        if name == "seed":
            continue
        if name not in case and name in described.defaults:
            default = described.defaults[name]
            dims.update({name: default} if default is not None and default >= 1 else {})
        elif name not in case:
            raise ValueError(f"it has no `{name}`, which generate_input needs")
        elif type(value) is not int or not 1 <= value < 1 << 63:
            raise ValueError(f"its {name} is {worded(value)}, but a dimension must be a whole number above 0")
        else:
            dims[name] = value
    for key in case:
        if key != "seed" and key not in described.parameters:
            raise ValueError(f"it has `{key}`, which generate_input does not take")
    if not dims:
        raise ValueError("it has no whole number that could be a dimension")
    return dims


def worded(value: Any) -> str:
    if isinstance(value, str):
        return f"`{value}`"
    return str(value).lower() if isinstance(value, (bool, int, float)) else "of another kind"


def tensors_of(args: argparse.Namespace, described: Description, problem: str) -> "Tuple[List[Tensor], List[Argument]]":
    """Tensors in the order of `generate_input`, then returned outputs; and the kernel's arguments."""
    tensors, arguments = described.inputs(None, args.inputs, problem, "generate_input")
    for name in sorted(described.used - set(described.parameters)):
        what = f"an extent of generate_input is the constant `{name}` of reference.py; use --input with its value"
        raise ProblemError(f"{problem}: {what}")
    is_passed = any(one.is_output for one in tensors)
    if is_passed and args.returns:
        raise ProblemError(f"{problem}: generate_input allocates the outputs (torch.empty); remove --returns")
    if not is_passed and not args.returns:
        what = 'the outputs of ref_kernel are unknown without running it; describe them with --returns "y=f32[EXTENT, ...]"'
        raise ProblemError(f"{problem}: {what}")
    return [*tensors, *(dataclasses.replace(one, is_output=True, init=None) for one in args.returns)], arguments


def submissions(
    given: List[str], folder: pathlib.Path, problem: str, files: "Dict[str, str | bytes]", copied: List[str]
) -> List[Candidate]:
    """The submissions as candidates, each in a separate file next to the task's."""
    if not given and not (folder / "submission.py").is_file():
        raise ProblemError(f"{problem}: submission.py is missing next to it; give the submission with --solution")
    paths = [pathlib.Path(path) for path in given] or [folder / "submission.py"]
    stems = [path.stem for path in paths]
    found = []
    for path, stem, variant in zip(paths, stems, distinct(stems)):
        if "custom_kernel" not in Description(path).functions:
            raise ProblemError(f"{path}: it has no function `custom_kernel`")
        name = f"submitted_{variant.replace('-', '_')}"
        files[f"{name}.py"] = text_of(path)
        copied.append(str(path))
        found.append(Candidate(variant, stem, "calls.py", name))
    return found


def calls(tensors: List[Tensor], arguments: List[Argument], single: bool, is_passed: bool, candidates: List[Candidate]) -> str:
    """`is_passed`: `generate_input` allocates the outputs, which the kernel gets with its inputs; else it returns them."""
    inputs, outputs = [one for one in tensors if not one.is_output], [one for one in tensors if one.is_output]

    def data(words: List[str]) -> str:
        return words[0] if single and len(words) == 1 else "(" + " ".join(word + "," for word in words) + ")"

    def on_host(one: Tensor) -> str:
        name = json.dumps(one.name)
        return (
            f"room({name}, ({''.join(extent + ', ' for extent in one.shape)}))" if one.is_output else f"typed({name}, {one.name})"
        )

    words = [word for one in outputs if is_passed for extent in one.shape for word in re.findall(r"\w+", extent)]
    dims = dict.fromkeys(word for word in words if is_identifier(word))
    parameters = ", ".join(one.name for one in (tensors if is_passed else inputs))
    direct, host = data(passed(arguments, with_axes)), data(passed(arguments, on_host))
    body = (
        f"def reference_answer({', '.join([typed(inputs), *dims] if inputs else dims)}):\n    with torch.no_grad():\n"
        f'        return results(module("reference").ref_kernel({host}))\n\n\n'
        f'def eager({parameters}):\n    return results(module("reference").ref_kernel({direct}))\n'
    )
    for one in candidates:
        body += f'\n\ndef {one.function}({parameters}):\n    return results(module("{one.function}").custom_kernel({direct}))\n'
    doc = (
        "Calls ref_kernel of reference.py and custom_kernel of the submissions, of gpu-mode, with ncugate's inputs.\n\n"
        "`reference_answer` returns the expected outputs, on the CPU; `eager` is the baseline.\n"
    )
    imports = ["import importlib", "import pathlib", "import sys", "", "import torch"]
    return module(doc, imports, tensors, outputs, ["kernel"], body)

"""`ncugate problem`: imports and exports."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import List, NoReturn, Optional

from .._binary import NcugateError
from . import _export, _flashinfer, _gpumode, _kernelbench
from ._files import FileError, ProblemError
from ._phase import Target, Tensor

THRESHOLDS = [0.0, 0.5, 0.8, 1.0, 1.5, 2.0]


def tensor(text: str) -> Tensor:
    try:
        return Tensor.given(text)
    except ProblemError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class Parser(argparse.ArgumentParser):
    """Errors are a line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; `{self.prog} --help` lists the options\n")


def parser() -> Parser:
    """The command line."""
    root = Parser(prog="ncugate problem", description="Convert from and to FlashInfer-Trace, KernelBench and gpu-mode.")
    groups = root.add_subparsers(dest="group", required=True)

    def command(group: "argparse._SubParsersAction[Parser]", name: str, about: str) -> Parser:
        return group.add_parser(name, help=about, description=f"{about}.", allow_abbrev=False)

    imports = groups.add_parser("import", help="Create a phase from another project's problem").add_subparsers(dest="kind", required=True)
    flashinfer = command(imports, "flashinfer", "Import a definition of FlashInfer-Trace with its workloads and solutions")
    flashinfer.add_argument("folder", metavar="DIR", help="folder with definitions, workloads and solutions")
    flashinfer.add_argument("--definition", metavar="NAME", help="definition, if the folder has several")
    flashinfer.add_argument("--solution", dest="solutions", metavar="NAME", action="append", default=[], help="solution (repeatable) [default: all that a phase can call]")
    flashinfer.add_argument("--workload", dest="workloads", metavar="UUID", action="append", default=[], help="workload (repeatable) [default: all]")
    kernelbench = command(imports, "kernelbench", "Import a problem of KernelBench with its solutions")
    kernelbench.add_argument("problem", metavar="PROBLEM.py", help="file with Model, get_inputs and get_init_inputs")
    kernelbench.add_argument("--solution", dest="solutions", metavar="FILE.py", action="append", required=True, help="file with ModelNew (repeatable)")
    kernelbench.add_argument("--precision", choices=list(_kernelbench.PRECISIONS), default="fp32", help="type of the problem, with KernelBench's tolerance for it [default: fp32]")
    gpumode = command(imports, "gpumode", "Import a task of gpu-mode with its submissions")
    gpumode.add_argument("task", metavar="TASK.yml", help="task file")
    gpumode.add_argument("--solution", dest="solutions", metavar="FILE.py", action="append", default=[], help="file with custom_kernel (repeatable) [default: submission.py next to the task]")
    for bound in ("rtol", "atol"):
        gpumode.add_argument(f"--{bound}", metavar="NUMBER", type=float, help="tolerance of an element, if reference.py does not state it")
    for one in (kernelbench, gpumode):
        one.add_argument("--input", dest="inputs", metavar="NAME=TYPE[EXTENT,...]", type=tensor, action="append", default=[], help="input that the file does not declare (repeatable): mask=bool[N, 64]:{ mask = 0.5 }")
        one.add_argument("--returns", dest="outputs", metavar="NAME=TYPE[EXTENT,...]", type=tensor, action="append", default=[], help="result that the file does not declare, in order (repeatable): y=f32[N, 64], or [] for a scalar")
    for one in (flashinfer, kernelbench, gpumode):
        one.add_argument("-o", "--output", metavar="PHASE.toml", required=True, help="phase file to write; its other files go to the folder PHASE next to it")
        one.add_argument("--format", choices=["text", "json"], default="text", help="format of standard output")

    exports = groups.add_parser("export", help="Export results in another project's format").add_subparsers(dest="kind", required=True)
    for name, about in (
        ("flashinfer", "Export traces of FlashInfer-Trace: one JSON line per candidate and shape"),
        ("gpumode", "Export the ranking of gpu-mode: one score per submission"),
    ):
        one = command(exports, name, about)
        one.add_argument("run", metavar="RUN", help="run: a folder, an id, a phase (its newest run), or latest")
        one.add_argument("-o", "--output", metavar="FILE", help="file to write, overwritten if it exists [default: standard output]")
    score = command(exports, "fast-p", "Compute KernelBench's score over the latest run of every phase")
    score.add_argument("profiles", metavar="DIR", nargs="?", default="profiles", help="folder of runs")
    score.add_argument("--threshold", dest="thresholds", metavar="P", type=float, action="append", help="speedup threshold (repeatable)")
    score.add_argument("-o", "--output", metavar="FILE", help="file to write, overwritten if it exists [default: standard output]")
    return root


def import_problem(args: argparse.Namespace) -> None:
    """Writes the phase and its files, and lists what was converted and omitted."""
    target = Target(args.output)
    if args.kind == "flashinfer":
        problem = _flashinfer.imported(args, target)
    else:
        problem = (_kernelbench if args.kind == "kernelbench" else _gpumode).imported(args)
    listed = target.write(problem.text(target), problem.files)
    shapes, candidates = len(listed["checked"]), len(listed["candidates"])
    if args.format == "json":
        print(json.dumps({"phase": args.output, "shapes": shapes, "candidates": candidates, "notes": problem.notes}))
        return
    counts = [f"{count} {word}{'' if count == 1 else 's'}" for count, word in ((shapes, "shape"), (candidates, "candidate"))]
    lines = [f"{args.output}: {', '.join(counts)}", *(f"  note: {note}" for note in problem.notes)]
    print("\n".join([*lines, f"  nothing was executed; `ncugate check {args.output}` calls the reference"]))


def export(args: argparse.Namespace) -> None:
    """Writes the requested format."""
    if args.kind == "fast-p":
        text = _export.fast_p(args.profiles, args.thresholds or THRESHOLDS)
    else:
        text = (_export.traces if args.kind == "flashinfer" else _export.ranking)(args.run)
    if args.output is None:
        sys.stdout.write(text)
        return
    try:
        temporary = f"{args.output}.new"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, args.output)
    except OSError as error:
        raise FileError(f"cannot write {args.output}: {error.strerror}") from error


def main(words: Optional[List[str]] = None) -> int:
    """Returns the exit status: 0, 2 for a problem or command line that is wrong, 3 for a file or tool that fails."""
    args = parser().parse_args(words)
    if len({getattr(args, bound, None) is None for bound in ("rtol", "atol")}) > 1:
        parser().error("--rtol and --atol belong together")
    try:
        import_problem(args) if args.group == "import" else export(args)
        sys.stdout.flush()
        return 0
    except (ProblemError, NcugateError) as error:
        message, status = str(error).removeprefix("error: "), error.status
    except (AttributeError, KeyError, TypeError, UnicodeError) as error:
        message, status = f"the problem does not match its format: {error!r}", 2
    except (OSError, RecursionError, MemoryError) as error:
        message, status = str(error) or type(error).__name__, 3
    print(f"error: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())

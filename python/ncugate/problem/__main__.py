"""`ncugate problem`: imports and exports."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, List, NoReturn, Optional

from .._binary import NcugateError
from . import _export, _flashinfer, _gpumode, _kernelbench
from ._files import FileError, ProblemError, replace
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


OUTPUT = "file to write, overwritten if it exists [default: standard output]"


def repeated(command: Parser, name: str, metavar: str, about: str, **how: Any) -> None:
    """An option that may be given several times: `--input` as `inputs`."""
    dest = name.strip("-").rstrip("s") + "s"
    command.add_argument(name, dest=dest, metavar=metavar, action="append", default=[], help=f"{about} (repeatable)", **how)


def parser() -> Parser:
    """The command line."""
    root = Parser(prog="ncugate problem", description="Convert from and to FlashInfer-Trace, KernelBench and gpu-mode.")
    groups = root.add_subparsers(dest="group", required=True)
    imports = groups.add_parser("import", help="create a phase from another project's problem").add_subparsers(
        dest="kind", required=True
    )
    exports = groups.add_parser("export", help="export results in another project's format").add_subparsers(
        dest="kind", required=True
    )

    one = imports.add_parser("flashinfer", help="a definition of FlashInfer-Trace with its workloads and solutions")
    one.add_argument("folder", metavar="DIR", help="folder with definitions, workloads and solutions")
    one.add_argument("--definition", metavar="NAME", help="definition, if the folder has several")
    repeated(one, "--solution", "NAME", "solution [default: all that a phase can call]")
    repeated(one, "--workload", "UUID", "workload [default: all]")
    one = imports.add_parser("kernelbench", help="a problem of KernelBench with its solutions")
    one.add_argument("problem", metavar="PROBLEM.py", help="file with Model, get_inputs and get_init_inputs")
    repeated(one, "--solution", "FILE.py", "file with ModelNew", required=True)
    about = "type of the problem, with KernelBench's tolerance for it [default: fp32]"
    one.add_argument("--precision", choices=list(_kernelbench.PRECISIONS), default="fp32", help=about)
    one = imports.add_parser("gpumode", help="a task of gpu-mode with its submissions")
    one.add_argument("task", metavar="TASK.yml", help="task file")
    repeated(one, "--solution", "FILE.py", "file with custom_kernel [default: submission.py next to the task]")
    for bound in ("rtol", "atol"):
        one.add_argument(
            f"--{bound}", metavar="NUMBER", type=float, help="tolerance of an element, if reference.py does not state it"
        )
    for name, one in imports.choices.items():
        if name != "flashinfer":
            form, result = "mask=bool[N, 64]:{ mask = 0.5 }", "y=f32[N, 64], or [] for a scalar"
            repeated(one, "--input", "NAME=TYPE[EXTENT,...]", f"input that the file does not declare: {form}", type=tensor)
            repeated(
                one, "--returns", "NAME=TYPE[EXTENT,...]", f"result that the file does not declare, in order: {result}", type=tensor
            )
        about = "phase file to write; its other files go to the folder PHASE next to it"
        one.add_argument("-o", "--output", metavar="PHASE.toml", required=True, help=about)
        one.add_argument("--format", choices=["text", "json"], default="text", help="format of standard output")

    for name, about in (
        ("flashinfer", "traces: a JSON line per candidate and shape"),
        ("gpumode", "the ranking: a score per submission"),
    ):
        one = exports.add_parser(name, help=about)
        one.add_argument("run", metavar="RUN", help="run: a folder, an id, a phase (its newest run), or latest")
    one = exports.add_parser("fast-p", help="KernelBench's score over the latest run of every phase")
    one.add_argument("profiles", metavar="DIR", nargs="?", default="profiles", help="folder of runs")
    repeated(one, "--threshold", "P", "speedup threshold", type=float)
    for one in exports.choices.values():
        one.add_argument("-o", "--output", metavar="FILE", help=OUTPUT)
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
        replace(args.output, text)
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

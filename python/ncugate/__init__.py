"""ncugate for Python: the program in the wheel, and its results as types and Arrow tables."""

from ._binary import NcugateError, binary
from ._kernel import Buffer, Phase, kernel
from ._profile import LaunchTable, annotate, profile
from ._result import Gate, RunResult, Verdict, judge, run
from ._table import ArrowTable, load_launches, load_run, read_report

__all__ = [
    "ArrowTable",
    "Buffer",
    "Gate",
    "LaunchTable",
    "NcugateError",
    "Phase",
    "RunResult",
    "Verdict",
    "annotate",
    "binary",
    "judge",
    "kernel",
    "load_launches",
    "load_run",
    "profile",
    "read_report",
    "run",
]

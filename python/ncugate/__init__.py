"""ncugate for Python: the program in the wheel, and its results as types and Arrow tables."""

from ._binary import NcugateError, binary
from ._kernel import Buffer, Phase, kernel
from ._profile import annotate, profile
from ._result import Gate, RunResult, Verdict, judge, run
from ._table import ArrowTable, LaunchTable, Table, load_launches, load_run, read_detail, read_report, read_rules

__version__: str


def __getattr__(name: str) -> str:
    if name == "__version__":
        from ._binary import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ArrowTable",
    "Buffer",
    "Gate",
    "LaunchTable",
    "NcugateError",
    "Phase",
    "RunResult",
    "Table",
    "Verdict",
    "__version__",
    "annotate",
    "binary",
    "judge",
    "kernel",
    "load_launches",
    "load_run",
    "profile",
    "read_detail",
    "read_report",
    "read_rules",
    "run",
]

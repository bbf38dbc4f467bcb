"""A pytest fixture: every verdict except a pass fails the test, with its reason."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ._binary import PathLike
from ._result import RunResult, judge, run


@pytest.fixture
def ncugate_gate() -> Callable[..., RunResult]:
    """Runs a phase, or judges a run or recording (`profile=`), and fails the test unless every required gate passes.

    `ncugate_gate("phase.toml", source="recorded")` takes the options of `ncugate.run`; with `profile=PATH` those of `ncugate.judge`. An
    inconclusive verdict fails too. Returns the result.
    """

    def gate(config: PathLike, **options: Any) -> RunResult:
        __tracebackhide__ = True
        profile = options.pop("profile", None)
        result = run(config, **options) if profile is None else judge(config, profile, **options)
        if not result.passed:
            pytest.fail(result.explanation(), pytrace=False)
        return result

    return gate

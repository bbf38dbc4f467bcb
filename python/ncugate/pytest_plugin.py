"""The pytest plugin: each gate of a phase is a test, and a fixture judges a phase in a test.

A phase is a test file if it is named on the command line or matches the ini option `ncugate_phases`.
"""

from __future__ import annotations

import fnmatch
import os
import pathlib
import re
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import pytest

from . import _toml
from ._binary import NcugateError, PathLike
from ._result import NO_GPU, RunResult, Verdict, judge, run

SETTINGS: Tuple[Tuple[str, str, Any, str], ...] = (
    ("ncugate_phases", "args", [], "globs of phase files whose gates are tests, relative to the ini file"),
    ("ncugate_source", "string", "auto", "where measurements of these phases come from: auto, gpu or recorded"),
    ("ncugate_without_gpu", "string", "fail", "what a phase is without a GPU: fail or skip"),
)
Outcome = Tuple[Optional[RunResult], Optional[NcugateError]]
_OUTCOMES = pytest.StashKey[Dict[Any, Outcome]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, kind, default, text in SETTINGS:
        parser.addini(name, text, type=kind, default=default)  # type: ignore[arg-type]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_OUTCOMES] = {}
    allowed = {"ncugate_without_gpu": ("fail", "skip"), "ncugate_source": ("auto", "gpu", "recorded")}
    for name, values in allowed.items():
        if config.getini(name) not in values:
            raise pytest.UsageError(f"{name} is {config.getini(name)!r}; it is one of {', '.join(values)}")


def pytest_collect_file(file_path: pathlib.Path, parent: pytest.Collector) -> Optional[pytest.Collector]:
    config = parent.config
    if file_path.suffix != ".toml":
        return None
    is_listed = any(fnmatch.fnmatch(str(file_path), str(config.rootpath / glob)) for glob in config.getini("ncugate_phases"))
    is_named = parent.session.isinitpath(file_path) and re.search(r"^\[phase\]", file_path.read_text(encoding="utf-8"), re.MULTILINE)
    return PhaseFile.from_parent(parent, path=file_path) if is_listed or is_named else None


class PhaseFile(pytest.File):
    """A phase. Its gates are judged in one run."""

    def collect(self) -> Iterator[pytest.Item]:
        try:
            tables = _toml.read(self.path.read_text(encoding="utf-8"))
            gates = tables.get("gate", [])
            names = [gate.get("name") or gate.get("require") for gate in gates]
        except (ValueError, AttributeError, TypeError):
            names = []  # the program explains what is wrong with the file
        yield VerdictItem.from_parent(self, name="verdict")
        for name in dict.fromkeys(map(str, names)):
            yield GateItem.from_parent(self, name=name)

    def result(self) -> RunResult:
        return _judged(self.config, self.path, {"source": self.config.getini("ncugate_source")})


class _PhaseItem(pytest.Item):
    def result(self) -> RunResult:
        assert isinstance(self.parent, PhaseFile)
        return self.parent.result()

    def reportinfo(self) -> Tuple[pathlib.Path, Optional[int], str]:
        return self.path, None, f"{self.path.name}: {self.name}"

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, NcugateError) else super().repr_failure(excinfo, style)


class VerdictItem(_PhaseItem):
    """The verdict on a phase, which more than its gates decides."""

    def runtest(self) -> None:
        _require_pass(self.result())


class GateItem(_PhaseItem):
    """A gate. An advisory one that does not pass is an expected failure."""

    def runtest(self) -> None:
        result = self.result()
        gates = [gate for gate in result.gates if gate.name == self.name]
        if not gates:
            pytest.fail(f"{result.phase}: gate `{self.name}` was not judged: {result.reason}", pytrace=False)
        failed = [gate for gate in gates if gate.verdict is not Verdict.PASS]
        # Gates of a recording that is shown without a GPU may pass, but nothing was measured.
        if not failed and not result.has_no_gpu:
            return
        text = "\n".join([*(f"{result.phase}: {gate.explanation()}" for gate in failed or gates), f"  {result.cause}"])
        if all(gate.level == "advisory" for gate in failed or gates):
            pytest.xfail(text)
        pytest.fail(text, pytrace=False)


def _judged(config: pytest.Config, phase: pathlib.Path, options: Dict[str, Any]) -> RunResult:
    """The result of a phase, judged once a session under the same options. Raises NcugateError; skips as the ini option says."""
    outcomes = config.stash[_OUTCOMES]
    key = (str(phase), repr(sorted(options.items())))
    if key not in outcomes:
        given = dict(options)
        profile = given.pop("profile", None)
        try:
            outcomes[key] = (run(phase, **given) if profile is None else judge(phase, profile, **given)), None
        except NcugateError as error:
            outcomes[key] = None, error
    result, failure = outcomes[key]
    has_no_gpu = NO_GPU in str(failure) if result is None else result.has_no_gpu
    if has_no_gpu and config.getini("ncugate_without_gpu") == "skip":
        pytest.skip(str(failure) if result is None else result.cause)
    if result is None:
        raise failure or NcugateError(3)
    return result


def _require_pass(result: RunResult) -> None:
    if not result.passed:
        pytest.fail(result.explanation(), pytrace=False)


@pytest.fixture
def ncugate_gate(request: pytest.FixtureRequest) -> Callable[..., RunResult]:
    """Runs a phase, or judges a run or recording (`profile=`), and fails the test unless every required gate passes.

    `ncugate_gate("phase.toml", source="recorded")` takes the options of `ncugate.run`; with `profile=PATH` those of `ncugate.judge`.
    Paths are relative to the test's file. A session judges a phase once under the same options. An inconclusive verdict fails too.
    Returns the result.
    """
    folder = request.path.parent

    def gate(config: PathLike, **options: Any) -> RunResult:
        __tracebackhide__ = True
        for name in ("profile", "profiles", "reports"):
            if options.get(name) is not None:
                options[name] = folder / options[name]
        text = ""
        try:
            result = _judged(request.config, folder / config, options)
        except NcugateError as error:
            text = f"{os.fsdecode(config)}: status {error.status}\n{error}"
        if text:
            # outside of the handler, so that pytest does not print the error twice
            pytest.fail(text, pytrace=False)
        _require_pass(result)
        return result

    return gate

"""A judged phase."""

from __future__ import annotations

import enum
import html
import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._binary import NcugateError, PathLike, call, positional
from ._table import ArrowTable, load_launches, load_run


class Verdict(str, enum.Enum):
    """The verdict on a gate, variant or phase. Inconclusive is not a pass."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Gate:
    """A gate with its verdict."""

    name: str
    require: str
    level: str
    verdict: Verdict
    reason: str
    measured: Optional[float]
    limit: Optional[float]
    unit: Optional[str]


@dataclass(frozen=True)
class RunResult:
    """The result of a phase."""

    phase: str
    run: str
    status: int
    """The status of the program: 0 all required gates passed, 1 one failed, 4 inconclusive."""
    verdict: Verdict
    reason: str
    selected: Optional[str]
    """The id of the selected variant."""
    gates: Tuple[Gate, ...]
    warnings: str = ""
    """Standard error of the program."""
    results: Dict[str, Any] = field(default_factory=dict, repr=False)
    """The whole `results.json`; `ncugate tools schema --results` describes it."""
    profiles: str = "profiles"
    """The folder of runs."""

    @property
    def folder(self) -> str:
        """The folder of the run. A judged recording lies elsewhere: pass its own folder to `load_run`."""
        return os.path.join(self.profiles, self.phase, self.run)

    def table(self) -> ArrowTable:
        """All measurements, as `load_run` gives them: a row a variant and shape."""
        return load_run(self.folder)

    def launches(self, metrics: Sequence[str] = ()) -> ArrowTable:
        """A row a profiled launch, as `load_launches` gives them."""
        return load_launches(self.folder, metrics)

    @property
    def passed(self) -> bool:
        """Whether all required gates passed: by the status and by the results."""
        return self.status == 0 and self.verdict is Verdict.PASS

    def explanation(self) -> str:
        """The reason, and every gate that does not pass."""
        lines = [f"{self.phase}: {self.verdict}: {self.reason}"]
        lines += [f"  {gate.verdict}  {gate.name}: {gate.reason}" for gate in self.gates if gate.verdict is not Verdict.PASS]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def cell(text: object) -> str:
            return f"<td>{html.escape(str(text))}</td>"

        rows = "".join(
            f"<tr>{cell(gate.name)}{cell(gate.require)}{cell(gate.level)}{cell(gate.verdict)}{cell(gate.reason)}</tr>"
            for gate in self.gates
        )
        head = "".join(f"<th>{name}</th>" for name in ("gate", "requirement", "level", "verdict", "reason"))
        title = f"<p><b>{html.escape(self.phase)}: {self.verdict}</b>. {html.escape(self.reason)}</p>"
        selected = f"<p>selected: <code>{html.escape(self.selected)}</code></p>" if self.selected else ""
        return f"{title}{selected}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def run(
    config: PathLike,
    *,
    source: str = "auto",
    against: Optional[str] = None,
    profiles: Optional[PathLike] = None,
    reports: Optional[PathLike] = None,
    arguments: Sequence[str] = (),
) -> RunResult:
    """Measures a phase and judges it: `ncugate run CONFIG`.

    `source` is `auto`, `gpu` or `recorded`; `arguments` are appended to the command line. A failing or inconclusive phase is a
    result. Raises NcugateError if nothing could be judged (status 2 or 3).
    """
    words: List[PathLike] = ["run", positional(config), f"--source={source}"]
    return _judged(words, against, profiles, reports, arguments)


def judge(
    config: PathLike,
    profile: PathLike,
    *,
    against: Optional[str] = None,
    profiles: Optional[PathLike] = None,
    reports: Optional[PathLike] = None,
    arguments: Sequence[str] = (),
) -> RunResult:
    """Judges a run, a recording or an ncu report by a phase: `ncugate gate CONFIG PATH`. Otherwise like `run`."""
    words: List[PathLike] = ["gate", positional(config), positional(profile)]
    return _judged(words, against, profiles, reports, arguments)


def _judged(
    words: List[PathLike],
    against: Optional[str],
    profiles: Optional[PathLike],
    reports: Optional[PathLike],
    arguments: Sequence[str],
) -> RunResult:
    words += ["--format", "json"]
    for option, value in (("--against", against), ("--profiles", profiles), ("--reports", reports)):
        if value is not None:
            words.append(f"{option}={os.fsdecode(value)}")
    ended = call([*words, *arguments])
    said = ended.stderr.decode("utf-8", "replace").strip()
    if ended.returncode not in (0, 1, 4):
        raise NcugateError(ended.returncode, said)
    try:
        results = json.loads(ended.stdout)
        return _result(ended.returncode, said, results, os.fsdecode(profiles) if profiles is not None else "profiles")
    except (ValueError, KeyError, TypeError) as error:
        raise NcugateError(ended.returncode, f"the results cannot be read ({error})\n{said}".strip()) from error


def _result(status: int, said: str, results: Dict[str, Any], profiles: str) -> RunResult:
    verdict = Verdict(results["verdict"])
    if (status == 0) != (verdict is Verdict.PASS):
        # a recording shown because no GPU could measure passes with its gates, but is not a pass here
        verdict = Verdict.INCONCLUSIVE if verdict is Verdict.PASS else verdict
    gates = tuple(
        Gate(
            name=gate["name"],
            require=gate["require"],
            level=gate["level"],
            verdict=Verdict(gate["verdict"]),
            reason=gate["reason"],
            measured=gate.get("measured"),
            limit=gate.get("limit"),
            unit=gate.get("unit"),
        )
        for gate in results["gates"]
    )
    return RunResult(
        phase=results["phase"],
        run=results["run"],
        status=status,
        verdict=verdict,
        reason=results["reason"],
        selected=results["selected"],
        gates=gates,
        warnings=said,
        results=results,
        profiles=profiles,
    )

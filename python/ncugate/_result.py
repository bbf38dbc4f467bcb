"""A judged phase."""

from __future__ import annotations

import enum
import html
import json
import os
import pathlib
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from ._binary import NcugateError, PathLike, call, is_shown, output, positional
from ._table import LaunchTable, Metrics, Table, load_launches, load_run, metric_options, read_report
from ._toml import project_root

NO_GPU = "no GPU to measure on"
"""Text of the program's message if nothing can be measured."""
LAUNCHES = re.compile(r"launch(?:es)? (?P<launches>[\d, ]+) of (?P<report>[^,]+)")
"""The launches of a variant of a judged report."""
STAGE = re.compile(r": \d+ of \d+ (after|in) ")
"""A line of progress."""
NANOSECONDS = {"us": 1e3, "ns": 1.0}


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

    def explanation(self) -> str:
        """Verdict, level, name and reason in a line."""
        return f"{self.verdict} ({self.level})  {self.name}: {self.reason}"


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
    evidence: Optional[str] = None
    """The judged run, recording or report; None for a run that was measured now."""
    config: Optional[str] = None
    """The phase file."""

    @property
    def folder(self) -> str:
        """The folder of the run or recording. Raises NcugateError for a judged report, and for a folder that is not there."""
        for folder in self._folders():
            try:
                manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if manifest.get("run") == self.run and manifest.get("phase") == self.phase:
                return str(folder)
        raise NcugateError(3, f"no folder of run {self.run} in {os.path.join(self.profiles, self.phase)}")

    def _folders(self) -> Iterator[pathlib.Path]:
        if self.evidence is not None:
            yield pathlib.Path(self.evidence)
        yield pathlib.Path(self.profiles, self.phase, self.run)
        recording = re.search(r'^recording\s*=\s*["\'](.+?)["\']', str(self.results.get("config", "")), re.MULTILINE)
        if recording and self.config is not None:
            yield project_root(pathlib.Path(self.config).parent) / recording.group(1)
        phase = pathlib.Path(self.profiles, self.phase)
        yield from sorted(phase.iterdir()) if phase.is_dir() else ()

    @property
    def _report(self) -> Optional[str]:
        """The judged report, if it is one."""
        return self.evidence if self.evidence is not None and os.path.isfile(self.evidence) else None

    def table(self, *, units: Optional[str] = None) -> Table:
        """All measurements, as `load_run` gives them: a row a variant and shape, repeats combined as gates see them."""
        if self._report is None:
            return load_run(self.folder, units=units)
        sizes = {name: NANOSECONDS.get(metric["unit"], 1.0) for name, metric in self.results["metrics"].items()}
        rows = []
        for variant in self.results["variants"]:
            for shape, measured in variant["shapes"].items():
                row = {"variant": variant["id"], "shape": shape, **variant["params"], "standing": variant["standing"]}
                values = {name: value * sizes.get(name, 1.0) for name, value in measured["values"].items() if value is not None}
                rows.append({**row, **{name: values.get(name) for name in measured["values"] if name not in row}})
        named = {name: "ns" if metric["unit"] in NANOSECONDS else metric["unit"] for name, metric in self.results["metrics"].items()}
        return _with_units(LaunchTable(rows, named), units)

    def launches(self, metrics: Metrics = (), *, units: Optional[str] = None) -> Table:
        """A row a profiled launch, as `load_launches` gives them; launches of a judged report that no variant matches have no variant."""
        if self._report is None:
            return load_launches(self.folder, metrics, units=units)
        report = self._report
        matched: Dict[Tuple[str, int], Tuple[str, str]] = {}
        for variant in self.results["variants"]:
            found = LAUNCHES.search(variant.get("build") or "")
            for launch in found["launches"].split(",") if found else ():
                for shape in variant["shapes"]:
                    matched[os.path.basename(found["report"]) if found else "", int(launch)] = (variant["id"], shape)
        options = ["--wide", *metric_options(metrics)]
        counts: Dict[Tuple[Optional[str], Optional[str], str], int] = {}
        rows = []
        for row in json.loads(output(["export", positional(report), "--to", "json", *options])):
            variant, shape = matched.get((os.path.basename(row["report"]), row["launch"]), (None, None))
            repeat = None
            if variant is not None:
                key = (variant, shape, row["kernel"])
                repeat = counts[key] = counts.get(key, -1) + 1
            rows.append({"variant": variant, "shape": shape, "repeat": repeat, **row})
        return _with_units(LaunchTable(rows, read_report(report, metrics, wide=True).units), units)

    @property
    def passed(self) -> bool:
        """Whether all required gates passed: by the status and by the results."""
        return self.status == 0 and self.verdict is Verdict.PASS

    @property
    def has_no_gpu(self) -> bool:
        """Whether nothing was measured because this machine has no GPU."""
        return NO_GPU in self.warnings

    @property
    def cause(self) -> str:
        """Messages of the program, such as why nothing was measured; without one, the reason of the verdict."""
        said = [line for line in self.warnings.splitlines() if line and not STAGE.search(line)]
        return "; ".join(said) or self.reason

    def explanation(self) -> str:
        """The reason, every gate that does not pass with its level, and the cause."""
        lines = [f"{self.phase}: {self.verdict}: {self.reason}"]
        lines += [f"  {gate.explanation()}" for gate in self.gates if gate.verdict is not Verdict.PASS]
        return "\n".join([*lines, *([f"  {self.cause}"] if self.cause != self.reason else [])])

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


def _with_units(table: LaunchTable, units: Optional[str]) -> LaunchTable:
    if units not in (None, "columns"):
        raise ValueError(f'units is None or "columns", not {units!r}')
    return table.with_unit_names() if units else table


def run(
    config: PathLike,
    *,
    source: str = "auto",
    against: Optional[str] = None,
    profiles: Optional[PathLike] = None,
    reports: Optional[PathLike] = None,
    arguments: Sequence[str] = (),
    timeout: Optional[float] = None,
    progress: Optional[bool] = None,
) -> RunResult:
    """Measures a phase and judges it: `ncugate run CONFIG`.

    `source` is `auto`, `gpu` or `recorded`; `arguments` are appended to the command line. After `timeout` seconds the run is ended;
    running again continues it. `progress` prints stages to standard error, by default on a terminal and in a notebook. A failing or
    inconclusive phase is a result. Raises NcugateError if nothing could be judged (status 2 or 3).
    """
    words: List[PathLike] = ["run", positional(config), f"--source={source}"]
    return _judged(words, config, None, against, profiles, reports, arguments, timeout, progress)


def judge(
    config: PathLike,
    profile: PathLike,
    *,
    against: Optional[str] = None,
    profiles: Optional[PathLike] = None,
    reports: Optional[PathLike] = None,
    arguments: Sequence[str] = (),
    timeout: Optional[float] = None,
    progress: Optional[bool] = None,
) -> RunResult:
    """Judges a run, a recording or an ncu report by a phase: `ncugate gate CONFIG PATH`. Otherwise like `run`."""
    words: List[PathLike] = ["gate", positional(config), positional(profile)]
    return _judged(words, config, profile, against, profiles, reports, arguments, timeout, progress)


def _judged(
    words: List[PathLike],
    config: PathLike,
    profile: Optional[PathLike],
    against: Optional[str],
    profiles: Optional[PathLike],
    reports: Optional[PathLike],
    arguments: Sequence[str],
    timeout: Optional[float],
    progress: Optional[bool],
) -> RunResult:
    words += ["--format", "json"]
    for option, value in (("--against", against), ("--profiles", profiles), ("--reports", reports)):
        if value is not None:
            words.append(f"{option}={os.fsdecode(value)}")
    ended = call([*words, *arguments], timeout=timeout, progress=is_shown(progress))
    said = ended.stderr.decode("utf-8", "replace").strip()
    if ended.returncode not in (0, 1, 4):
        raise NcugateError(ended.returncode, said)
    # absolute, so that the result can be used from another folder
    evidence = os.path.abspath(os.fsdecode(profile)) if profile is not None else None
    places = {
        "profiles": os.path.abspath(os.fsdecode(profiles) if profiles is not None else "profiles"),
        "config": os.path.abspath(os.fsdecode(config)),
        "evidence": evidence if evidence is not None and os.path.exists(evidence) else None,
    }
    try:
        return _result(ended.returncode, said, json.loads(ended.stdout), places)
    except (ValueError, KeyError, TypeError) as error:
        raise NcugateError(ended.returncode, f"the results cannot be read ({error})\n{said}".strip()) from error


def _result(status: int, said: str, results: Dict[str, Any], places: Dict[str, Any]) -> RunResult:
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
        **places,
    )

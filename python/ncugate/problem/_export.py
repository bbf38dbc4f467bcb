"""Results of a run in the formats of FlashInfer-Trace and gpu-mode, and KernelBench's score of many runs."""

from __future__ import annotations

import hashlib
import json
import math
import os
import pathlib
import sys
from typing import Any, Dict, List, Optional

from .._binary import NcugateError, output, positional
from ._files import ProblemError

STATUSES = {
    "timed": "PASSED",
    "wrong": "INCORRECT_NUMERICAL",
    "cheats": "INCORRECT_NUMERICAL",
    "not_built": "COMPILE_ERROR",
    "timed_out": "TIMEOUT",
}


def evaluations(run: str) -> Dict[str, Any]:
    """A run as ncugate judges it: each candidate at each shape."""
    found: Dict[str, Any] = json.loads(output(["problem", "export", "evaluations", positional(run)]))
    return found


def noted(run: Dict[str, Any], more: List[str]) -> None:
    for note in [*run["omitted"], *more]:
        print(f"note: {note}", file=sys.stderr)


def mean_ms(samples: Optional[List[float]]) -> Optional[float]:
    """Mean of samples in microseconds."""
    return sum(samples) / len(samples) / 1e3 if samples else None


def traces(path: str) -> str:
    """A line of JSON for each solution and timed workload."""
    run = evaluations(path)
    problem, lines, untimed = run["imported"] or {}, [], []
    for shape, dims in run["shapes"].items():
        if shape not in run["timed"]:
            untimed.append(f"shape {shape} is omitted: it is checked, but not timed")
            continue
        for candidate in run["candidates"]:
            trace = {
                "definition": problem.get("problem", run["phase"]),
                "workload": workload(run, shape, dims),
                "solution": candidate["solution"],
                "evaluation": evaluation(run, candidate, shape),
            }
            lines.append(json.dumps(trace) + "\n")
    noted(run, untimed)
    return "".join(lines)


def workload(run: Dict[str, Any], shape: str, dims: Dict[str, int]) -> Any:
    """The workload as it was imported, else one made from the shape."""
    stored = (run["imported"] or {}).get("workloads", {}).get(shape)
    try:
        if stored is not None:
            return json.loads(stored)
    except ValueError:
        pass
    axes = json.dumps(dims, separators=(",", ":"))
    digest = hashlib.sha256(f"{run['phase']} {shape} {axes}".encode()).hexdigest()
    uuid = "-".join(digest[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
    return {"uuid": uuid, "axes": dims, "inputs": {name: {"type": "random"} for name in run["inputs"]}}


def evaluation(run: Dict[str, Any], candidate: Dict[str, Any], shape: str) -> Dict[str, Any]:
    case = candidate["cases"][shape]
    log = [f"ncugate {run['ncugate']} run {run['run']}", *([case["reason"]] if case["reason"] else [])]
    correctness: Optional[Dict[str, Any]] = None
    performance: Optional[Dict[str, Any]] = None
    if case["status"] in ("timed", "wrong", "cheats"):
        found = case["differences"] or {}
        # The relative error is not measured.
        correctness = {"max_relative_error": "NaN", "max_absolute_error": found.get("max_abs", "NaN")}
        if found:
            correctness["extra"] = {"rel_l2": found["rel_l2"], "compared": found["compared"], "nonfinite": found["nonfinite"]}
    if (latency := mean_ms(case["samples_us"])) is not None:
        reference = mean_ms(run["reference_us"].get(shape))
        if reference is None:
            log.append("the reference has no latency, so reference_latency_ms and speedup_factor are 0")
        if candidate["doubt"]:
            log.append(f"no gate of ncugate accepts this latency: {candidate['doubt']}")
        performance = {
            "latency_ms": latency,
            "reference_latency_ms": reference or 0.0,
            "speedup_factor": reference / latency if reference else 0.0,
        }
    return {
        "status": STATUSES.get(case["status"], "RUNTIME_ERROR"),
        "environment": {"hardware": run["hardware"], "libs": {**run["tools"], **candidate["software"]}},
        "timestamp": run["ended"],
        "log": "\n".join(log),
        "correctness": correctness,
        "performance": performance,
    }


def score_of(by: str, means: List[float]) -> Optional[float]:
    """gpu-mode's score of a submission: of its last benchmark, or a mean over all."""
    if not means:
        return None
    if by == "geom":
        return math.exp(sum(map(math.log, means)) / len(means))
    return means[-1] if by == "last" else sum(means) / len(means)


def ranking(path: str) -> str:
    """gpu-mode's ranking. A submission is not scored if it is wrong anywhere, has no time at a benchmark, or a rejected latency."""
    run = evaluations(path)
    problem = run["imported"] or {}
    by = problem.get("ranking", "last") if problem.get("format") == "gpumode" else "last"
    timed, entries = run["timed"], []
    for candidate in run["candidates"]:
        cases, means = candidate["cases"], {name: mean_ms(candidate["cases"][name]["samples_us"]) for name in timed}
        reason = candidate["doubt"]
        if not candidate["correct"]:
            reason = next((case["reason"] for case in cases.values() if case["reason"]), "it is not proven correct")
        elif not reason:
            reason = next((f"{name}: {cases[name]['reason']}" for name in timed if means[name] is None), None)
        entries.append(
            {
                "rank": None,
                "submission": candidate["solution"],
                "variant": candidate["variant"],
                "score": None if reason else score_of(by, [(mean or 0.0) / 1e3 for mean in means.values()]),
                "benchmarks": (
                    None if reason else [{"benchmark": name, "mean": (mean or 0.0) / 1e3} for name, mean in means.items()]
                ),
                "reason": reason,
            }
        )
    entries.sort(key=lambda entry: math.inf if entry["score"] is None else entry["score"])
    for rank, entry in enumerate(entries, 1):
        entry["rank"] = rank if entry["score"] is not None else None
    noted(run, [])
    ranked = {
        "problem": problem.get("problem", run["phase"]),
        "ranking_by": by,
        "unit": "s",
        "hardware": run["hardware"],
        "run": run["run"],
        "submissions": entries,
    }
    return json.dumps(ranked, indent=2) + "\n"


def fast_p(profiles: str, thresholds: List[float]) -> str:
    """KernelBench's score over the newest run of every phase. A run that cannot be exported counts as an unsolved problem."""
    newest: Dict[pathlib.Path, pathlib.Path] = {}
    for manifest in sorted(pathlib.Path(profiles).glob("*/*/manifest.json")):
        newest[manifest.parent.parent] = manifest.parent
    if not newest:
        raise ProblemError(f"{profiles}: the folder has no runs")
    found = []
    for folder in newest.values():
        try:
            found.append(solved(evaluations(os.fspath(folder))))
        except NcugateError as error:
            print(f"note: {folder} counts as not solved: {error}", file=sys.stderr)
            found.append({"compiled": False, "correct": False, "speedup": None})
    return json.dumps(summary(found, thresholds), indent=2) + "\n"


def solved(run: Dict[str, Any]) -> Dict[str, Any]:
    """The result of a run's problem: of the selected candidate, else of the first."""
    candidates = {one["variant"]: one for one in run["candidates"]}
    one = candidates.get(run["selected"]) or next(iter(candidates.values()), None)
    case = one and one["cases"][run["objective"]]
    if one is None or case["status"] == "not_built":
        return {"compiled": False, "correct": False, "speedup": None}
    own, reference = mean_ms(case["samples_us"]), mean_ms(run["reference_us"].get(run["objective"]))
    speedup = reference / own if one["correct"] and own and reference else None
    return {"compiled": True, "correct": one["correct"], "speedup": speedup}


def summary(problems: List[Dict[str, Any]], thresholds: List[float]) -> Dict[str, Any]:
    """`fast_p` is the share of all problems that are right and more than p times as fast as the reference (Ouyang et al., KernelBench,
    2025); a problem without a time is not fast."""
    total = len(problems)
    compiled, correct = (sum(one[key] for one in problems) for key in ("compiled", "correct"))
    speedups = [one["speedup"] for one in problems if one["speedup"] is not None]
    return {
        "total_count": total,
        "compiled_count": compiled,
        "correct_count": correct,
        "compilation_rate": compiled / total if total else 0.0,
        "correctness_rate": correct / total if total else 0.0,
        "geo_mean_speedup": math.exp(sum(map(math.log, speedups)) / len(speedups)) if speedups else 0.0,
        "fast_p": {str(float(p)): sum(one > p for one in speedups) / total if total else 0.0 for p in thresholds},
    }

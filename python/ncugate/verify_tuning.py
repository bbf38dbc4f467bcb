"""`ncugate-verify-tuning`: measures the picks of an autotuner again, and pins those that hold.

Tables are Triton's cache of one key (`NAME.autotune.json`), vLLM's fused MoE (`E=8,N=7168,device_name=....json`) and the file of FlashInfer's
autotuner. Each bucket of a table becomes a phase that measures its pick against the default and against rival configurations.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from ._binary import NcugateError, call, positional
from ._toml import read, written
from .problem._files import replace

Configuration = Dict[str, Any]
# Options of Triton's compiler at the values that leave them to the compiler.
TRITON_DEFAULTS = {"num_ctas": 1}
REMOVED = ("gate", "tier", "stage", "fallback", "precondition", "waiver", "sweep", "search")
STATUSES = {0: "pass", 1: "fail", 4: "inconclusive"}


class TuningError(ValueError):
    """A table, phase or command line that is wrong."""


@dataclass
class Rival:
    """A configuration that a pick is compared with: its variant, and the entry of the table."""

    name: str
    configuration: Configuration
    entry: Any


@dataclass
class Bucket:
    """A bucket of a table: its key, the numbers of the key (None for other parts), the pick and its rivals."""

    key: str
    extents: List[Optional[int]]
    pick: Configuration
    entry: Any
    rivals: List[Rival] = field(default_factory=list)


@dataclass
class Table:
    """A table of an autotuner, with the GPU that it names."""

    path: pathlib.Path
    format: str
    gpu: Optional[str]
    buckets: List[Bucket]
    content: Dict[str, Any]

    def is_for(self, gpu: str) -> bool:
        """Whether it is for a GPU of this name, as the driver spells it."""
        return self.gpu is None or (gpu.replace(" ", "_") + "_").startswith(self.gpu.replace(" ", "_") + "_")

    def pinned(self, pins: Dict[str, Any]) -> str:
        """The table with entries in place of picks, by bucket. A table of Triton keeps one configuration, which Triton uses without tuning."""
        if self.format == "triton":
            return json.dumps({**self.content, "configs_timings": [*pins.values(), self.buckets[0].entry][:1]}, indent=2)
        return json.dumps({**self.content, **pins}, indent=2)

    def file_in(self, folder: pathlib.Path) -> pathlib.Path:
        """Triton's cache has a folder for each key of a kernel, and all files in them have the same name."""
        return folder / self.path.parent.resolve().name / self.path.name if self.format == "triton" else folder / self.path.name


def parameters(config: Any, where: str) -> Configuration:
    """Parameters of a phase; null is an option that is left to the compiler."""
    if not isinstance(config, dict):
        raise TuningError(f"`{where}` is not a table")
    for name, value in config.items():
        if isinstance(value, (list, dict)):
            raise TuningError(f"`{name}` is neither a number, a text nor a truth value")
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise TuningError(f"`{name}` is {value}, which is out of range")
    return {name: value for name, value in config.items() if value is not None}


def table_of(path: pathlib.Path) -> Table:
    """Reads a table; its content tells its format."""
    if not path.is_file():
        raise NcugateError(3, f"cannot read {path}: no such file")
    try:
        # Python writes Infinity and NaN, which are no time, and no value of a parameter that is a number.
        content = json.loads(path.read_bytes(), parse_constant=str)
        return parsed(path, content)
    except OSError as error:
        raise NcugateError(3, f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise TuningError(f"{path}: {error if isinstance(error, TuningError) else f'not JSON: {error}'}") from error


def parsed(path: pathlib.Path, content: Any) -> Table:
    if not isinstance(content, dict):
        content = {}
    gpu = None
    if "configs_timings" in content:
        kind, buckets = "triton", [triton(content)]
    elif any(re.fullmatch(r"-?\d+", key) and isinstance(value, dict) for key, value in content.items()):
        found = re.search(r"device_name=([^,]*?)(,.*)?(\.json)?$", path.name)
        kind, gpu, buckets = "vllm", found and found.group(1), vllm(content)
    elif any(key.startswith("(") and is_tactic(value) for key, value in content.items()):
        about = content.get("_metadata")
        named = about.get("gpu") if isinstance(about, dict) else None
        kind, gpu, buckets = "flashinfer", named if isinstance(named, str) and named != "*" else None, flashinfer(content)
    else:
        raise TuningError(
            'no table of Triton (`configs_timings`), vLLM (`"64": {...}`) or FlashInfer (`"(...)": [runner, tactic]`)'
        )
    for one in buckets:
        one.rivals = [rival for rival in one.rivals if rival.configuration != one.pick]
        if len(one.rivals) == 2 and one.rivals[0].configuration == one.rivals[1].configuration:
            one.rivals.pop()
    return Table(path, kind, gpu, buckets, content)


def is_tactic(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


def triton(content: Dict[str, Any]) -> Bucket:
    """The fastest configuration, and the runner-up, as Triton compares them."""
    rows = content["configs_timings"]
    timed = []
    for row in rows if isinstance(rows, list) else []:
        time = row[1] if isinstance(row, list) and len(row) > 1 else None
        time = time[0] if isinstance(time, list) and time else time
        if isinstance(time, (int, float)):
            timed.append((time, row))
    if not timed:
        raise TuningError("no configuration of it was timed")
    timed.sort(key=lambda pair: pair[0])

    def configuration(row: Any) -> Configuration:
        config = dict(row[0]) if isinstance(row[0], dict) else None
        if config is None:
            raise TuningError("a configuration of `configs_timings` is not a table")
        kwargs = config.pop("kwargs", {})
        found = parameters({**kwargs, **config}, "kwargs") if isinstance(kwargs, dict) else parameters(kwargs, "kwargs")
        return {name: value for name, value in found.items() if TRITON_DEFAULTS.get(name) != value}

    key = content.get("key") if isinstance(content.get("key"), list) else []
    words = [part if isinstance(part, str) else json.dumps(part) for part in key or []]
    extents = [int(word) if re.fullmatch(r"[+-]?\d+", word) else None for word in words]
    rivals = [Rival("runner_up", configuration(row), row) for _, row in timed[1:2]]
    return Bucket(", ".join(words), extents, configuration(timed[0][1]), timed[0][1], rivals)


def vllm(content: Dict[str, Any]) -> List[Bucket]:
    found = []
    for key, entry in content.items():
        if re.fullmatch(r"-?\d+", key):
            found.append(Bucket(key, [int(key)], parameters(entry, key), entry))
        elif not isinstance(entry, str):  # a version
            raise TuningError(f"`{key}` is not a number of rows")
    return with_neighbours(found)


def flashinfer(content: Dict[str, Any]) -> List[Bucket]:
    operations: Dict[Tuple[str, ...], List[Bucket]] = {}
    for key, entry in content.items():
        if key == "_metadata":
            continue
        if not key.startswith("("):
            raise TuningError(f"`{key}` is not `(operation, runner, shapes)`")
        if not isinstance(entry, list) or len(entry) < 2 or not isinstance(entry[0], str):
            raise TuningError(f"`{key}` is not [runner, tactic]")
        runner, tactic = entry[:2]
        # A nested tactic is one parameter, as the file has it.
        pick = {"RUNNER": runner, "TACTIC": tactic if type(tactic) is int else json.dumps(tactic, separators=(",", ":"))}
        # `('op', 'Runner', ((1, 7168), (1, 256)))`; a runner has its own tactics.
        names = re.findall(r"'([^']*)'", key)
        extents: List[Optional[int]] = [int(number) for number in re.findall(r"-?\d+", re.sub(r"'[^']*'", "", key))]
        operations.setdefault(tuple(names[:2]), []).append(Bucket(key, extents, pick, entry))
    return [bucket for buckets in operations.values() for bucket in with_neighbours(buckets)]


def with_neighbours(buckets: List[Bucket]) -> List[Bucket]:
    """Buckets whose rivals are the picks of the buckets before and after."""
    buckets = sorted(buckets, key=lambda one: [extent or 0 for extent in one.extents])
    for at, one in enumerate(buckets):
        before = [Rival("of_bucket_before", other.pick, other.entry) for other in buckets[max(at - 1, 0) : at]]
        one.rivals = before + [Rival("of_bucket_after", other.pick, other.entry) for other in buckets[at + 1 : at + 2]]
    return buckets


def phase_of(phase: Dict[str, Any], bucket: Bucket, dimensions: List[str], require: str) -> Dict[str, Any]:
    """The phase at a bucket whose numbers are the extents of `dimensions` (`_` skips one).

    The first variant of the phase says how a configuration runs, else `[kernel]`; the first shape gives all other extents. The first gate is
    the requirement; the others have the speedups of the pick over the default and over each rival, in this order.
    """
    tables: Dict[str, Any] = {key: value for key, value in phase.items() if key not in REMOVED}
    if not phase.get("baseline"):
        raise TuningError("the phase has no [[baseline]], which is the default")
    default = phase["baseline"][0]
    template = (phase.get("variant") or [{}])[0]

    def variant(name: str, configuration: Configuration) -> Dict[str, Any]:
        return {**template, "name": name, "params": configuration}

    tables["variant"] = [variant("pick", bucket.pick)]
    tables["baseline"] = [default, *(variant(rival.name, rival.configuration) for rival in bucket.rivals)]
    names = [default.get("name", ""), *(rival.name for rival in bucket.rivals)]
    ratios = [{"name": name, "require": f'speedup("{name}") >= 1', "level": "advisory"} for name in names]
    tables["gate"] = [{"name": "pick", "require": require, "level": "required"}, *ratios]
    shapes = phase.get("workload", {}).get("shapes") or {}
    if not shapes:
        raise TuningError("the phase has no shape")
    extents = dict(next(iter(shapes.values())))
    for at, name in enumerate(dimensions):
        if name == "_":
            continue
        number = bucket.extents[at] if at < len(bucket.extents) else None
        if number is None:
            raise TuningError(f"the key ({bucket.key}) has no number for `{name}` at place {at + 1}")
        if name not in extents:
            raise TuningError(f"the shapes of the phase have no dimension `{name}`")
        extents[name] = number
    for at, number in enumerate(bucket.extents):
        # Its bucket would be measured at another extent.
        if at >= len(dimensions) and number is not None:
            what = f"--key names no dimension for {number} at place {at + 1} of the key ({bucket.key}); `_` skips it"
            raise TuningError(what)
    tables["workload"] = {**tables["workload"], "shapes": {"bucket": extents}}
    tables["bench"] = {**tables.get("bench", {}), "shapes": ["bucket"]}
    tables["profile"] = {**tables.get("profile", {}), "shapes": ["bucket"], "deep_profile": "none"}
    head = {key: value for key, value in tables.get("phase", {}).items() if key not in ("recording", "objective_shape")}
    tables["phase"] = {**head, "name": f"{head.get('name', 'phase')}.tuning"}
    return tables


def speedup(gate: Dict[str, Any]) -> Optional[List[float]]:
    """The speedup of the pick that a gate has, with its interval."""
    measured, interval = gate.get("measured"), gate.get("interval")
    if interval is None and measured == 1.0 and gate["verdict"] == "pass":
        # Equal machine code has no interval.
        interval = [1.0, 1.0]
    return None if measured is None or interval is None else [measured, *interval]


def standing_of(speedups: List[Optional[List[float]]]) -> Tuple[str, bool]:
    """How fast the pick is compared with another configuration, and whether all runs agree."""
    words = {"unknown" if one is None else "faster" if one[1] > 1 else "slower" if one[2] < 1 else "tied" for one in speedups}
    if "unknown" in words or not words:
        return "unknown", False
    return (words.pop(), True) if len(words) == 1 else ("tied", False)


def summary(speedups: List[Optional[List[float]]]) -> Optional[Tuple[float, float, float]]:
    """The median of the runs, and the hull of their intervals."""
    known = [one for one in speedups if one is not None]
    if not known or len(known) < len(speedups):
        return None
    median = statistics.median_high(one[0] for one in known)
    return median, min(one[1] for one in known), max(one[2] for one in known)


def worst(one: int, other: int) -> int:
    """The worse of two statuses, as `ncugate` orders them."""
    return min(one, other, key=[2, 3, 1, 4, 0].index)


class Verification:
    """Phases of buckets, written next to the phase while they are measured."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        path = pathlib.Path(args.phase)
        try:
            self.phase = read(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise NcugateError(3, f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            raise TuningError(f"{path}: {error}") from error
        self.options = [
            f"--{key}={getattr(args, key)}" for key in ("profiles", "reports", "wait") if getattr(args, key) is not None
        ]

    def ncugate(self, tables: Dict[str, Any], *words: str) -> Tuple[int, Dict[str, Any]]:
        """Runs ncugate with a phase; returns its status and JSON."""
        folder = pathlib.Path(self.args.phase).resolve().parent
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".toml", encoding="utf-8") as file:
            file.write(written(tables))
            file.flush()
            ended = call(["run", positional(file.name), "--format", "json", *words])
        said = ended.stderr.decode("utf-8", "replace").strip()
        if ended.returncode not in STATUSES and not ended.stdout.strip():
            raise NcugateError(ended.returncode, said.removeprefix("error: "))
        print(said, file=sys.stderr, end="\n" if said else "")
        return ended.returncode, json.loads(ended.stdout)

    def bucket(self, table: Table, one: Bucket) -> Tuple[int, Dict[str, Any]]:
        """Measures a bucket in several runs."""
        tables = phase_of(self.phase, one, self.args.key, self.args.require)
        names = [gate["name"] for gate in tables["gate"][1:]]
        speedups: List[List[Optional[List[float]]]] = [[] for _ in names]
        status, reason, runs = 0, None, []
        for _ in range(self.args.runs):
            ended, results = self.ncugate(tables, "--source=gpu", *self.options)
            status = worst(status, ended)
            if results["verdict"] != "pass":
                reason = reason or results["reason"]
            runs.append(os.path.join(self.args.profiles or "profiles", results["phase"], results["run"]))
            for found, gate in zip(speedups, results["gates"][1:]):
                found.append(speedup(gate))
        comparisons, stable = [], True
        for name, found in zip(names, speedups):
            standing, agrees = standing_of(found)
            stable &= agrees
            comparisons.append({"against": name, "standing": standing, "speedups": found})
        measured = any(comparison["standing"] != "unknown" for comparison in comparisons)
        if not measured:
            status, reason = worst(status, 4), reason or "the pick has no confirmed latency in every run"
        # The first is the default, which the table does not have.
        slower = [comparison for comparison in comparisons[1:] if comparison["standing"] == "slower"]
        fastest = min(slower, key=lambda comparison: (summary(comparison["speedups"]) or (0.0,))[0], default={"against": "pick"})
        return status, {
            "table": str(table.path),
            "key": one.key,
            "result": STATUSES.get(status, "error"),
            "reason": reason,
            "comparisons": comparisons,
            "ties": [comparison["against"] for comparison in comparisons if comparison["standing"] in ("tied", "unknown")],
            "stability": "stable" if stable else "unstable",
            # The pick unless a rival is proven faster in every run; none if the pick is compared with nothing.
            "pinned": fastest["against"] if measured else None,
            "runs": runs,
        }


def text_of(bucket: Dict[str, Any]) -> str:
    lines = [f"{bucket['key']}: {bucket['result']}", *([f"  {bucket['reason']}"] if bucket["reason"] else [])]
    for one in bucket["comparisons"]:
        found = summary(one["speedups"])
        value = "no confirmed latency in every run"
        if found is not None:
            middle, low, high = (f"{round(number, 3):g}" for number in found)
            value = f"{middle}x ({low} to {high})"
        lines.append(f"  pick {one['standing']} against {one['against']}: {value}")
    agree = "the same in every run" if bucket["stability"] == "stable" else "not the same in every run"
    return "\n".join([*lines, f"  {agree}; pinned: {bucket['pinned'] or 'none'}"])


def gpu_of_this_machine() -> str:
    """The GPU's name, as the driver spells it."""
    checks = json.loads(call(["doctor", "--format", "json"]).stdout)["checks"]
    found = next((check["found"] for check in checks if check["name"] == "GPU"), "")
    return str(found).split(",")[0]


def verify(args: argparse.Namespace) -> int:
    """Measures every bucket of the tables; returns the worst status."""
    verification = Verification(args)
    tables = [table_of(pathlib.Path(path)) for path in args.tables]
    # Every bucket has a phase that ncugate understands before the first is measured.
    for table in tables:
        for one in table.buckets:
            verification.ncugate(phase_of(verification.phase, one, args.key, args.require), "--list")
    folder = pathlib.Path(args.output) if args.output is not None else None
    files = [table.file_in(folder) for table in tables] if folder is not None else []
    for file in files:
        if files.count(file) > 1:
            raise TuningError(f"two tables have the name {file.relative_to(args.output)}: give each its own --output")
    if any(table.gpu is not None for table in tables):
        gpu = gpu_of_this_machine()
        for table in tables:
            if not table.is_for(gpu):
                raise NcugateError(3, f"{table.path} is for {table.gpu}, but this GPU is {gpu or 'unknown'}")
    status, verified = 0, []

    def say(text: str) -> None:
        if args.format == "text":
            print(text, flush=True)

    for at, table in enumerate(tables):
        pins, unmeasured = {}, None
        for one in table.buckets:
            ended, found = verification.bucket(table, one)
            status = worst(status, ended)
            pins.update({one.key: rival.entry for rival in one.rivals if rival.name == found["pinned"]})
            unmeasured = unmeasured or (one.key if found["pinned"] is None else None)
            verified.append(found)
            say(text_of(found))
        if files and unmeasured is not None:
            say(f"{files[at]} is not written: the pick of {unmeasured} was not measured")
        elif files:
            try:
                files[at].parent.mkdir(parents=True, exist_ok=True)
                replace(files[at], table.pinned(pins))
            except OSError as error:
                raise NcugateError(3, f"cannot write {files[at]}: {error.strerror}") from error
            say(f"pinned: {files[at]}")
    if not verified:
        status = worst(status, 4)
    ties = sum(bool(one["ties"]) for one in verified)
    unstable = sum(one["stability"] == "unstable" for one in verified)
    buckets = f"{len(verified)} bucket{'' if len(verified) == 1 else 's'}"
    say(f"{STATUSES.get(status, 'error')}: {buckets}, {ties} with ties, {unstable} unstable")
    if args.format == "json":
        print(json.dumps(verified, indent=2))
    return status


def parser() -> argparse.ArgumentParser:
    """The command line."""
    about = (
        "Measures the picks of an autotuner again, and pins those that hold. Its status is that of `ncugate run`, the worst of all."
    )
    found = argparse.ArgumentParser(prog="ncugate-verify-tuning", description=about, allow_abbrev=False)
    add, keys = found.add_argument, "dimensions that the numbers of a bucket's key are, in their order; _ skips one [default: M]"
    add(
        "tables",
        metavar="FILE",
        nargs="+",
        help="NAME.autotune.json of Triton's cache, E=...,device_name=....json of vLLM, or FlashInfer's",
    )
    add("--phase", metavar="CONFIG", required=True, help="phase that runs a configuration; its first baseline is the default")
    add("--key", metavar="NAME,...", type=lambda text: text.split(","), default=["M"], help=keys)
    require = "speedup() >= 0.99"
    add("--require", metavar="REQUIREMENT", default=require, help=f"requirement of a pick over the default [default: {require}]")
    add(
        "--runs", metavar="N", type=int, choices=range(1, 101), default=3, help="runs of each bucket, in new processes [default: 3]"
    )
    add("-o", "--output", metavar="DIR", help="folder for the tables with the verified configurations")
    add("--wait", metavar="SECONDS", help="time to wait for a busy GPU")
    add("--profiles", metavar="DIR", help="folder of runs [default: profiles]")
    add("--reports", metavar="DIR", help="folder of reports [default: reports]")
    add("--format", choices=["text", "json"], default="text", help="format of standard output")
    return found


def main(words: Optional[List[str]] = None) -> int:
    """The console script; returns the exit status."""
    try:
        return verify(parser().parse_args(words))
    except (TuningError, NcugateError) as error:
        print(f"error: {error}", file=sys.stderr)
        return getattr(error, "status", 2)
    except KeyboardInterrupt:
        print("error: interrupted; the runs so far are kept", file=sys.stderr)
        return 3
    except (KeyError, TypeError, AttributeError) as error:
        print(f"error: the phase or the table has another form than expected: {error!r}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Seconds of whole commands with two programs, alternately on one machine, and where the time is.

    benches/seconds.py OLD NEW [--old-tree FOLDER] [--budget SECONDS] [--row NAME]...

OLD and NEW are ncugate binaries. Needs a GPU, nvcc, ncu, and python3 with PyTorch and Triton; 8 minutes at most. OLD reads its
phases from --old-tree, another checkout, if this one's are too new for it. Prints

  1. a table: the best wall time of each row with both programs, their ratio, and the number of attempts
  2. for each row: the stages that the run printed as `took`, CPU seconds, and the processes of NEW as a timeline

Every row runs once with both; while time is left, the rows run again, the shortest first. A row that fails is printed with
the end of its output, and the exit status is 1. nsight-python is compared by benches/profile.sh.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ["ncugate.toml", "configs", "kernels", "examples", "benches/seconds"]
OUTER_STAGES = ["build", "bench", "profile", "confirm", "deep profile"]
# The stage has had two names.
STAGE_NAMES = {"close look": "deep profile"}
# Row, command, phase, seconds to reach.
ROWS = [
    ("phase_d, cold", "cold", "configs/phase_d.toml", 18),
    ("phase_d, warm", "run", "configs/phase_d.toml", 12),
    ("sdpa_fast", "run", "configs/sdpa_fast.toml", 14),
    ("attention_f16", "run", "configs/attention_f16.toml", 10),
    ("norm, 3 variants, NumPy", "run", "benches/seconds/norm.toml", 8),
    ("norm, no deep profile", "run", "benches/seconds/norm_flat.toml", 5),
    ("matmul, Triton, CPU reference", "run", "benches/seconds/matmul.toml", 20),
    ("try, softmax over 64 MiB", "try", "configs/softmax.toml", 1.5),
]
PROCESS_SHOWN = 0.3  # seconds; shorter processes are counted together
ATTEMPT_LIMIT = 150  # seconds


class Processes(threading.Thread):
    """Descendants of a process: label, start and end, in seconds since its start."""

    def __init__(self, root):
        super().__init__(daemon=True)
        self.root, self.began, self.ended = root, time.monotonic(), threading.Event()
        self.known = {}

    def run(self):
        while not self.ended.wait(0.05):
            now = time.monotonic() - self.began
            parents = {}
            for entry in os.listdir("/proc"):
                if entry.isdigit():
                    try:
                        stat = Path("/proc", entry, "stat").read_text()
                    except OSError:
                        continue
                    parents[int(entry)] = int(stat.rsplit(")", 1)[1].split()[1])
            ours = {self.root} | {pid for pid in self.known if pid in parents}
            fresh = {pid for pid in parents if pid not in ours and parents[pid] in ours}
            while fresh:
                ours |= fresh
                fresh = {pid for pid in parents if pid not in ours and parents[pid] in ours}
            for pid in ours - {self.root}:
                label = self.label(pid)
                known = self.known.setdefault(pid, [label, now, now])
                # A process has its parent's command line until it executes its program.
                known[0], known[2] = label or known[0], now

    @staticmethod
    def label(pid):
        try:
            words = Path("/proc", str(pid), "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return ""
        if len(words) < 2:
            return ""
        name = Path(words[0]).name
        if name in ("ncu", "nv-nsight-cu-cli"):
            report = next((Path(after).name for before, after in zip(words, words[1:]) if before == "--export"), "")
            sections = words.count("--section")
            return f"ncu {report}" + (f" with {sections} sections" if sections else "")
        script = [Path(word).name for word in words[1:] if word and not word.startswith("-")][:2]
        if name.startswith(("python", "ncugate")) or "worker" in words:
            return " ".join([name, *(word[:40] for word in script)])
        return name

    def lines(self):
        """Long processes one a line, and groups of short ones."""
        lines, short = [], {}
        for label, start, end in sorted(self.known.values(), key=lambda known: known[1]):
            if end - start >= PROCESS_SHOWN:
                lines.append((start, f"{start:6.1f} to {end:5.1f} s  {label or '?'}"))
            else:
                short.setdefault(label.split(" ")[0], []).append((start, end))
        # Of a compiler's many processes the line says when they ran.
        names = {}
        for start, line in lines:
            names.setdefault(line.split("  ")[-1], []).append((start, line))
        shown = []
        for name, group in names.items():
            if len(group) > 4:
                last = max(float(line.split(" to ")[1].split(" s")[0]) for _, line in group)
                shown.append((group[0][0], f"{group[0][0]:6.1f} to {last:5.1f} s  {name} x{len(group)}"))
            else:
                shown += group
        lines = [line for _, line in sorted(shown)]
        brief = [f"{name or '?'} x{len(times)}" for name, times in sorted(short.items())]
        return lines + ([f"shorter: {', '.join(brief)}"] if brief else [])


class Program:
    """A binary with its copy of the phases and its cache."""

    def __init__(self, name, binary, tree, work):
        self.name, self.binary, self.work = name, str(Path(binary).resolve()), work / name
        self.tree, self.cache, self.attempts = self.work / "tree", self.work / "cache", 0
        for path in COPIED:
            source = next((base / path for base in (tree, ROOT) if (base / path).exists()), None)
            target = self.tree / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("recording", "__pycache__"))
            else:
                shutil.copy(source, target)
        self.candidates = [[f"THREADS={threads}", f"ROWS_PER_BLOCK={rows}", "VEC=4"] for rows in (4, 1) for threads in (128, 512, 256)]
        # The attempt was once a command without a group, and its parameters and the deep profile had other names.
        former = subprocess.run([self.binary, "try", "--help"], capture_output=True).returncode == 0
        self.attempt = ["try"] if former else ["agent", "try"]
        help_of_attempt = subprocess.run([self.binary, *self.attempt, "--help"], capture_output=True, text=True).stdout
        self.param = "--param" if "--param" in help_of_attempt else "--set"
        norm = (self.tree / "benches/seconds/norm.toml").read_text()
        key = "close_look" if former else "deep_profile"
        flat = norm.replace('name = "norm"', 'name = "norm_flat"', 1) + f'\n[profile]\n{key} = "none"\n'
        (self.tree / "benches/seconds/norm_flat.toml").write_text(flat)

    def environment(self, cache):
        return {**os.environ, "NCUGATE_CACHE": str(cache), "NO_COLOR": "1"}

    @staticmethod
    def succeeded(journal, word):
        """Records of a journal with this outcome."""
        lines = journal.read_text().splitlines() if journal.exists() else []
        return sum(json.loads(line)["outcome"].get("status") == word for line in lines)

    def build(self, phase):
        """Fills the cache of builds."""
        subprocess.run([self.binary, "check", phase], cwd=self.tree, env=self.environment(self.cache), capture_output=True, timeout=120)

    def measure(self, command, phase, limit):
        """Wall seconds, stages and processes of one attempt."""
        self.attempts += 1
        cache, folder = self.cache, self.work / f"attempt-{self.attempts}"
        if command == "cold" and cache.exists():
            cache = folder / "cache"
        if command == "try":
            folder = self.work / "tried"
            candidate = self.work / f"candidate_{self.attempts}.cu"
            # No candidate was compiled before, or has the machine code of an earlier one.
            candidate.write_text((self.tree / "kernels/softmax/softmax.cu").read_text() + f"// {self.attempts}\n")
            params = [word for param in self.candidates.pop() for word in (self.param, param)]
            words = [*self.attempt, phase, "--source", str(candidate), *params]
        else:
            words = ["run", phase, "--source", "gpu", "--fresh"]
        folder.mkdir(parents=True, exist_ok=True)
        words = [self.binary, *words, "--profiles", str(folder / "profiles"), "--reports", str(folder / "reports")]
        with open(folder / "output", "w") as output:
            began = time.monotonic()
            child = subprocess.Popen(words, cwd=self.tree, env=self.environment(cache), stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
            processes = Processes(child.pid)
            processes.start()
            late = threading.Timer(limit, lambda: os.killpg(child.pid, signal.SIGKILL))
            late.start()
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.monotonic() - began
            late.cancel()
            processes.ended.set()
            processes.join()
            child.returncode = os.waitstatus_to_exitcode(status)
        said = (folder / "output").read_text(errors="replace")
        manifests = sorted((folder / "profiles").glob("*/*/manifest.json"), key=lambda path: path.stat().st_mtime)
        if child.returncode not in (0, 1, 4) or not manifests:
            end = "\n".join(said.strip().splitlines()[-12:])
            raise RuntimeError(f"status {child.returncode} after {seconds:.1f} s\n{end}")
        run = manifests[-1].parent
        counts = {file: self.succeeded(run / file, word) for file, word in (("latencies.jsonl", "timed"), ("profiles.jsonl", "profiled"))}
        if not counts["latencies.jsonl"]:
            raise RuntimeError("nothing was timed\n" + "\n".join(said.strip().splitlines()[-12:]))
        stages = {STAGE_NAMES.get(name, name): spent for name, spent in json.loads(manifests[-1].read_text())["stage_seconds"]}
        deep = [json.loads(line) for file in run.iterdir() if file.name in ("deep_profiles.jsonl", "closelooks.jsonl") for line in file.read_text().splitlines()]
        passes = next((look.get("passes") for look in deep), None)
        return {"seconds": seconds, "stages": stages, "status": child.returncode, "cpu": usage.ru_utime + usage.ru_stime, "passes": passes, "timed": counts["latencies.jsonl"], "profiled": counts["profiles.jsonl"], "processes": processes.lines()}


class Row:
    def __init__(self, name, command, phase, goal):
        self.name, self.command, self.phase, self.goal = name, command, phase, goal
        self.taken, self.failures = {}, {}

    def attempt(self, programs, deadline):
        for program in programs:
            left = deadline - time.monotonic()
            try:
                if left < 5:
                    raise RuntimeError("no time was left")
                taken = program.measure(self.command, self.phase, min(left, ATTEMPT_LIMIT))
            except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
                if program.name not in self.taken:
                    self.failures[program.name] = str(error)
                print(f"{self.name}, {program.name}: failed", file=sys.stderr, flush=True)
                continue
            self.failures.pop(program.name, None)
            self.taken.setdefault(program.name, []).append(taken)
            print(f"{self.name}, {program.name}: {taken['seconds']:.1f} s, status {taken['status']}", file=sys.stderr, flush=True)

    def best(self, name):
        return min(self.taken.get(name, []), key=lambda taken: taken["seconds"], default=None)

    def cost(self):
        return sum(taken[0]["seconds"] for taken in self.taken.values())

    def cells(self):
        old, new = self.best("old"), self.best("new")
        shown = [f"{taken['seconds']:.1f} s" if taken else "failed" for taken in (old, new)]
        ratio = f"{old['seconds'] / new['seconds']:.1f}x" if old and new else ""
        reached = "" if not new else "yes" if new["seconds"] <= self.goal else "no"
        return [self.name, *shown, ratio, f"{self.goal} s", reached, str(max(map(len, self.taken.values()), default=0))]

    def report(self):
        print(f"\n## {self.name}")
        for name, failure in self.failures.items():
            print(f"{name} failed: {failure}")
        old, new = self.best("old"), self.best("new")
        names = list(dict.fromkeys(stage for taken in (old, new) if taken for stage in taken["stages"]))
        print("| stage | old | new |\n| --- | --: | --: |")
        for stage in names:
            indent = "" if stage in OUTER_STAGES else "· "
            print(f"| {indent}{stage} | " + " | ".join(f"{taken['stages'][stage]:.1f}" if taken and stage in taken["stages"] else "" for taken in (old, new)) + " |")
        rest = [f"{taken['seconds'] - sum(taken['stages'].get(stage, 0) for stage in OUTER_STAGES):.1f}" if taken else "" for taken in (old, new)]
        print(f"| outside of the stages | {rest[0]} | {rest[1]} |")
        for what, title in (("cpu", "CPU seconds"), ("timed", "cases timed"), ("profiled", "cases profiled"), ("passes", "passes of the deep profile")):
            values = [f"{taken[what]:.0f}" if taken and taken[what] is not None else "" for taken in (old, new)]
            print(f"| {title} | {values[0]} | {values[1]} |")
        if new:
            print("processes of new:")
            print("\n".join(f"    {line}" for line in new["processes"][:40]))


def prepare_python(work):
    """Imports what the rows import, so that no row reads it from disk first; makes bytecode if the image has none."""
    probe = "import os, sys, torch; sys.exit(not os.path.exists(torch.__cached__))"
    if subprocess.run(["python3", "-c", probe]).returncode != 0:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(work / "bytecode")
        subprocess.run(["python3", "-c", "import torch, torch._inductor.compile_fx, triton.compiler"])
    began = time.monotonic()
    subprocess.run(["python3", "-c", "import torch"])
    print(f"import of PyTorch: {time.monotonic() - began:.1f} s")


def machine():
    asked = [["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], ["ncu", "--version"], ["nvcc", "--version"]]
    for command in asked:
        try:
            said = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip().splitlines()
        except (OSError, subprocess.SubprocessError) as error:
            said = [str(error)]
        print(f"{command[0]}: {said[-1] if said else 'says nothing'}")
    print(f"{os.cpu_count()} processors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--old-tree", type=Path, default=ROOT)
    parser.add_argument("--budget", type=float, default=470, help="seconds of the whole script")
    parser.add_argument("--row", action="append", help="beginning of a row's name (repeatable)")
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.budget
    rows = [Row(*row) for row in ROWS if not arguments.row or any(row[0].startswith(wanted) for wanted in arguments.row)]
    with tempfile.TemporaryDirectory(prefix="seconds-") as folder:
        work = Path(folder)
        machine()
        prepare_python(work)
        programs = [Program("old", arguments.old, arguments.old_tree, work), Program("new", arguments.new, ROOT, work)]
        # ncu, the driver and nvcc are read from disk by this attempt, which is not counted.
        try:
            programs[1].measure("cold", "benches/seconds/norm.toml", 90)
        except (RuntimeError, OSError) as error:
            print(f"the first attempt failed: {error}")
        shutil.rmtree(programs[1].cache, ignore_errors=True)
        for row in rows:
            if row.command != "cold":
                for program in programs:
                    try:
                        program.build(row.phase)
                    except (OSError, subprocess.SubprocessError) as error:
                        print(f"{program.name} cannot build {row.phase}: {error}")
            row.attempt(programs, deadline)
        turn = programs
        while True:
            # The order changes, so that neither program always runs after the other.
            turn = turn[::-1]
            again = [row for row in sorted(rows, key=Row.cost) if row.cost() and time.monotonic() + 1.3 * row.cost() < deadline - 5]
            again = [row for row in again if max(map(len, row.taken.values())) < 5]
            if not again:
                break
            for row in again:
                if time.monotonic() + 1.3 * row.cost() < deadline - 5:
                    row.attempt(turn, deadline)
        print("\n| row | old | new | ratio | to reach | reached | attempts |\n| --- | --: | --: | --: | --: | --- | --: |")
        for row in rows:
            print(f"| {' | '.join(row.cells())} |")
        for row in rows:
            row.report()
    sys.exit(any(row.failures for row in rows))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Times `ncugate history` over many runs, with an empty and with a full cache of judged runs.

    benches/history.py PROGRAM [FOLDER]

PROGRAM is a release build. Runs are copies of the shipped recordings with other ids and dates, in FOLDER (default: a
temporary one). Prints a line for each set of runs: wall seconds of the first call and the best of three later ones.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

RECORDINGS = Path(__file__).resolve().parent.parent / "profiles"
FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)


def copy(recording: Path, profiles: Path, number: int) -> None:
    """A recording as a run of its own: its files, and a manifest with another id, date and seal."""
    text = (recording / "manifest.json").read_text()
    manifest = json.loads(text)
    started = FIRST + timedelta(hours=number)
    run = f"{started:%Y%m%dT%H%M%SZ}"
    for key, value in (("run", run), ("started", f"{started:%Y-%m-%dT%H:%M:%SZ}")):
        text = text.replace(json.dumps(manifest[key]), json.dumps(value), 1)
    sealed = text.replace(manifest["seal"]["manifest_sha256"], "0" * 64, 1)
    folder = profiles / manifest["phase"] / run
    shutil.copytree(recording, folder, copy_function=shutil.copy)
    (folder / "manifest.json").unlink()
    digest = hashlib.sha256(sealed.encode()).hexdigest()
    (folder / "manifest.json").write_text(sealed.replace("0" * 64, digest, 1))


def seconds(program: str, place: Path) -> float:
    environment = {**os.environ, "NCUGATE_CACHE": str(place / "cache")}
    began = time.perf_counter()
    subprocess.run([program, "history"], cwd=place, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def measure(program: str, place: Path, recordings: list[Path], count: int) -> None:
    place.mkdir(parents=True)
    (place / "ncugate.toml").touch()
    for number in range(count):
        copy(recordings[number % len(recordings)], place / "profiles", number)
    empty = seconds(program, place)
    full = min(seconds(program, place) for _ in range(3))
    page = (place / "reports/index.html").stat().st_size
    stored = sum(entry.stat().st_size for entry in (place / "cache/judged").iterdir())
    phases = len(recordings)
    print(f"{count} runs of {phases} phases: {empty:.2f} s with an empty cache, {full:.2f} s with a full one; "
          f"page {page / 1e6:.1f} MB, cache {stored / 1e6:.1f} MB", flush=True)


def main() -> None:
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
        measure(program, folder / "one", [RECORDINGS / "phase_d/h200"], 66)
        everything = sorted(path.parent for path in RECORDINGS.glob("*/*/manifest.json"))
        measure(program, folder / "all", everything, 1000)


main()

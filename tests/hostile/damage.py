#!/usr/bin/env python3
"""Recordings with a change, cut, removal or insertion: refused, or judged like the originals.

    tests/hostile/damage.py BINARY [SEED [CASES]]

Every recording under profiles/ is judged as it is, then CASES (1000) times with one damage. A run on a damaged one must end without help,
within the limits of time and memory, with a status from 0 to 4. 0 or 1 require the exact results of the undamaged recording.
Needs only Python; no GPU, no nvcc.
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from bombs import ROOT, SECONDS, limited

HUGE = [b"1.8e308", b"-1", b"NaN", b"1e400", b"null", b"0", b"18446744073709551616", b'"x"', b"[" * 5000]


def damaged(chance, folder):
    """Damages a recording once, and returns a description."""
    path = chance.choice(sorted(file for file in folder.rglob("*") if file.is_file()))
    name = path.relative_to(folder)
    data = bytearray(path.read_bytes())
    kind = chance.choice(["bit", "bit", "bit", "byte", "cut", "more", "number", "remove", "empty", "link", "folder"])
    if not data and kind in ("bit", "byte", "cut", "number"):
        kind = "more"
    if kind == "bit":
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "byte":
        data[chance.randrange(len(data))] = chance.randrange(256)
    elif kind == "cut":
        del data[chance.randrange(len(data)):]
    elif kind == "more":
        at = chance.randrange(len(data) + 1)
        data[at:at] = chance.choice([b"\n", b"{}\n", bytes(data[:100]), b"\0" * 1000])
    elif kind == "number":
        digits = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
        at = chance.choice(digits) if digits else 0
        data[at:at + 1] = chance.choice(HUGE)
    elif kind == "empty":
        data.clear()
    path.unlink()
    if kind == "link":
        path.symlink_to("/etc/passwd")
    elif kind == "folder":
        path.mkdir()
    elif kind != "remove":
        path.write_bytes(data)
    return f"{kind} in {name}"


def copy_of(recording, place):
    copy = place / recording.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(recording, copy)
    return copy


def judged(binary, phase, recording, place):
    """Status, output, and the results without current times; None after a timeout."""
    reports = place / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    command = [binary, "gate", str(phase), str(recording), "--reports", str(reports)]
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=SECONDS, preexec_fn=limited)
    except subprocess.TimeoutExpired:
        return None, "", None
    found = sorted(reports.rglob("results.json"))
    results = json.loads(found[0].read_text()) if found else None
    return ended.returncode, (ended.stdout + ended.stderr)[-300:], results


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    seed, count = (int(word) for word in (sys.argv[2:] + ["1", "1000"][len(sys.argv) - 2:])[:2])
    chance = random.Random(seed)
    flagged = 0
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        whole = []
        for recording in sorted(path.parent for path in (ROOT / "profiles").glob("*/*/manifest.json")):
            phase = ROOT / "configs" / f"{recording.parent.name}.toml"
            status, said, results = judged(binary, phase, recording, place)
            if not phase.exists() or results is None or status not in (0, 1, 4):
                sys.exit(f"{recording}: status {status} undamaged: {said!r}")
            # The folder's name is in the results, and a copy has another.
            copied = judged(binary, phase, copy_of(recording, place), place)
            if copied[0] != status:
                sys.exit(f"{recording}: status {copied[0]} as an undamaged copy: {copied[1]!r}")
            whole.append((phase, recording, status, copied[2]))
        for at in range(count):
            phase, recording, before, results = chance.choice(whole)
            copy = copy_of(recording, place)
            damage = damaged(chance, copy)
            status, said, now = judged(binary, phase, copy, place)
            case = f"{seed}:{at} {recording.parent.name}: {damage}"
            if status not in range(5):
                found = f"more than {SECONDS} s" if status is None else f"status {status}: {said!r}"
            elif status in (0, 1) and (status != before or now != results):
                found = f"status {status}, and the results are other than undamaged"
            else:
                continue
            flagged += 1
            print(f"FLAGGED  {case}: {found}", flush=True)
    print(f"{count} cases over {len(whole)} recordings, {flagged} flagged")
    return 1 if flagged else 0


if __name__ == "__main__":
    sys.exit(main())

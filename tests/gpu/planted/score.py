#!/usr/bin/env python3
"""Compares the findings of `ncugate explain` on the kernels with planted defects with answers.tsv.

    python3 tests/gpu/planted/score.py path/to/ncugate FOLDER

FOLDER holds a recording of each phase in a subfolder of its name, as planted.sh writes it. The program explains the recordings
again. It prints Markdown: a table for each set, and the false alarms.
"""

import csv
import json
import pathlib
import re
import subprocess
import sys

# Claims up to this are no alarm, in percent of the time.
ALARM = 15.0
# Gains of two defects that differ by less, in points, are equal: either may lead.
EQUAL = 10.0
# A bound may be exceeded by noise, in points.
NOISE = 2.0


def output(binary, *arguments):
    """Standard output of ncugate; ends the program if it fails."""
    ran = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: status {ran.returncode}: {ran.stderr.strip()}")
    return ran.stdout


def findings(explanation):
    """Defects and redesigns in their order, without those that are folded below another."""
    rows = [explanation["bottleneck"], *explanation["insights"]]
    return [row for row in rows if row and not row["symptom_of"] and row["kind"] in ("defect", "redesign")]


def claim(finding):
    """The bound of a finding in percent of the time, or None."""
    return finding["saving"]["percent"] if finding and finding["saving"] else None


def described(finding):
    if not finding:
        return "–"
    bound = claim(finding)
    return finding["rule"] + (f" {bound:.0f} %" if bound is not None else "") + f", {finding['confidence']}"


def profiler_rules(binary, recording):
    """First message of ncu's rules by kernel: the largest estimate for the whole time, else the largest for a unit."""
    first = {}
    for report in sorted(recording.glob("reports/deep*.ncu-rep*")):
        kernel = None
        for line in output(binary, "show", report, "--view", "rules").splitlines():
            if launch := re.search(r"  launch \d+  (\w+)", line):
                kernel = launch[1]
            elif kernel and (said := re.match(r"  (\w+): (.*?)  at most ([\d.]+) %( \(local\))?", line)):
                rank = (said[4] is None, float(said[3]))
                if kernel not in first or rank > first[kernel][0]:
                    first[kernel] = (rank, f"{said[2]} {float(said[3]):.0f} %" + (" of the unit" if said[4] else ""))
    return {kernel: text for kernel, (_, text) in first.items()}


class Score:
    """Cases of one set."""

    def __init__(self):
        self.rows, self.first, self.second, self.held = [], [], [], []

    def add(self, answer, found, gains, said):
        """`found` are findings of the kernel, `gains` the true gains of mending each defect alone, in percent."""
        ids = [set(answer[name].split("|")) for name in ("first", "second") if answer[name] != "-"]
        leading = range(len(ids))
        if len(ids) == 2 and abs(gains[0] - gains[1]) > EQUAL:
            leading = [max(leading, key=lambda at: gains[at])]
        lead = next((at for at in leading if found and found[0]["rule"] in ids[at]), None)
        self.first.append(lead is not None)
        second = "–"
        if len(ids) == 2:
            shown = {finding["rule"] for finding in found[:3]}
            self.second.append(all(names & shown for names in ids))
            second = "yes" if self.second[-1] else "no"
        # Every planted defect among the first three has a bound that can be compared.
        bounds = []
        for finding in found[:3]:
            at = next((at for at, names in enumerate(ids) if finding["rule"] in names), None)
            if at is not None and claim(finding) is not None:
                bounds.append(gains[at] <= claim(finding) + NOISE)
        self.held.extend(bounds)
        three = [described(found[at]) if at < len(found) else "–" for at in range(3)]
        self.rows.append([
            answer["kernel"],
            " + ".join(answer[name] for name in ("first", "second") if answer[name] != "-"),
            *three,
            " + ".join(f"{gain:.0f} %" for gain in gains),
            "yes" if self.first[-1] else "no",
            second,
            ("yes" if all(bounds) else "no") if bounds else "–",
            said or "–",
        ])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    with open(pathlib.Path(__file__).with_name("answers.tsv"), encoding="utf-8", newline="") as file:
        answers = list(csv.DictReader(file, delimiter="\t"))
    explained, said = {}, {}
    for phase in dict.fromkeys(answer["phase"] for answer in answers):
        if not (folder / phase / "manifest.json").exists():
            print(f"No recording of `{phase}`: its kernels count as wrong.\n")
            continue
        each = json.loads(output(binary, "explain", folder / phase, "--each", "--format", "json"))
        explained.update({(phase, one["variant"]): one for one in each})
        said[phase] = profiler_rules(binary, folder / phase)

    def gain(phase, kernel, mended):
        return 100.0 * (1.0 - explained[phase, mended]["microseconds"] / explained[phase, kernel]["microseconds"])

    def known(phase, name):
        one = explained.get((phase, name))
        return one is not None and one["microseconds"] is not None

    sets = {"tuning": Score(), "held_out": Score(), "unseen": Score(), "fresh": Score()}
    overclaims, small = [], []
    for answer in answers:
        phase, kernel, score = answer["phase"], answer["kernel"], sets[answer["set"]]
        two = answer["second"] != "-"
        mended = [answer["without_first"], answer["without_second"]] if two else [answer["twin"]]
        if not all(known(phase, name) for name in [kernel, *mended]):
            score.first.append(False)
            score.second.extend([False] * two)
            score.rows.append([kernel, answer["first"], *["not measured"] * 3, "–", "no", "no" if two else "–", "–", "–"])
            continue
        gains = [gain(phase, kernel, name) for name in mended]
        small.extend(f"`{kernel}`: {value:.0f} %" for value in gains if value < ALARM)
        found = findings(explained[phase, kernel])
        entry = "one_step" if kernel == "launch_each_step" else kernel
        score.add(answer, found, gains, said[phase].get(entry))
        for ids, value in zip((answer["first"], answer["second"]), gains):
            for finding in found:
                bound = claim(finding)
                if finding["rule"] in ids.split("|") and finding["confidence"] == "high" and bound is not None:
                    if bound > ALARM and value < bound / 3:
                        overclaims.append(f"`{kernel}`: {described(finding)}; mending it gains {value:.0f} %")

    head = ["kernel", "planted", "first", "second", "third", "true gain", "first right", "second found", "bound holds", "ncu says first"]
    for name, score in sets.items():
        print(f"## {name}\n\n| {' | '.join(head)} |\n|{' --- |' * len(head)}")
        for row in score.rows:
            print(f"| {' | '.join(cell.replace('|', ' or ') for cell in row)} |")
        print(f"\nFirst right: {sum(score.first)} of {len(score.first)}; second among the first three: {sum(score.second)} of "
              f"{len(score.second)}; bounds that hold: {sum(score.held)} of {len(score.held)}.\n")

    twins = [(phase, twin) for phase, twin in dict.fromkeys((answer["phase"], answer["twin"]) for answer in answers)]
    measured = [twin for twin in twins if known(*twin)]
    alarms = []
    print("## Mended twins\n\n| twin | time | first | second |\n| --- | --- | --- | --- |")
    for phase, twin in measured:
        one = explained[phase, twin]
        found = findings(one)
        shown = [described(found[at]) if at < len(found) else "–" for at in range(2)]
        print(f"| {twin} | {one['microseconds']:.1f} µs | {' | '.join(shown)} |")
        alarms.extend(
            f"`{twin}`: {described(row)}" for row in found if row["confidence"] == "high" and (claim(row) or 0) > ALARM
        )
    print(f"\nFalse alarms on {len(measured)} of {len(twins)} twins: {len(alarms)}.")
    for title, lines in (("", alarms), ("Claims of which less than a third is true", overclaims), (f"Planted defects that cost less than {ALARM:.0f} %", small)):
        if title:
            print(f"\n{title}: {len(lines)}.")
        for line in lines:
            print(f"- {line}")


if __name__ == "__main__":
    main()

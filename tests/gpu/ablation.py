"""Prints what ablation.sh measured: for each planted kernel the true gain of its twin, the first findings before and after, and
where an estimate and a measured gain contradict each other: ablation.py OUT ANSWERS"""
import csv
import json
import pathlib
import sys

out = pathlib.Path(sys.argv[1])
answers = list(csv.DictReader(open(sys.argv[2]), delimiter="\t", quoting=csv.QUOTE_NONE))
# Points by which a bound may be below a measured gain, and what an estimate may claim where nothing is gained.
BELOW, CLAIMED = 5, 20
# The largest saving of a finding on a kernel with nothing to mend, in percent.
QUIET = 10


def explained(phase, kind):
    path = out / f"{phase}.{kind}.json"
    try:
        return {one["variant"]: one for one in json.loads(path.read_text())}
    except (OSError, ValueError):
        return {}


def findings(one):
    rows = ([one["bottleneck"]] if one["bottleneck"] else []) + one["insights"]
    return [row for row in rows if not row["symptom_of"]]


def loud(rows):
    return [row for row in rows if (row["saving"] or {}).get("percent", 0) > QUIET]


def words(row):
    saving = row["saving"] or {}
    mark = {"ablation": "=", "ablation_bound": "<"}.get(saving.get("source"), "~")
    return f"{row['rule']} {mark}{saving['percent']:.0f}" if saving else row["rule"]


def right(rows, wanted, among=1):
    if wanted == "nothing":
        return not loud(rows)
    return any(row["rule"] in wanted.split("|") for row in rows[:among])


counts = {"before": 0, "after": 0, "second": [0, 0], "near": [0, 0], "quiet": [0, 0]}
total = 0
contradictions = []
twins = set()
for answer in answers:
    phase, kernel = answer["phase"], answer["kernel"]
    before, after = explained(phase, "estimated"), explained(phase, "measured")
    if kernel not in after or not after[kernel].get("ablations"):
        print(f"    {phase}.{kernel}: not measured")
        continue
    own, twin = after[kernel], after.get(answer["twin"])
    true = 100 * (1 - twin["microseconds"] / own["microseconds"]) if twin else 0
    first, told = findings(before[kernel]), findings(own)
    wanted, second = answer["first"], answer["second"]
    total += 1
    counts["before"] += right(first, wanted)
    counts["after"] += right(told, wanted)
    if second != "-":
        counts["second"][1] += 1
        counts["second"][0] += right(told, second, 3)
    named = [row for row in told if row["rule"] in wanted.split("|") and (row["saving"] or {}).get("source") == "ablation"]
    if named and second == "-":
        counts["near"][1] += 1
        counts["near"][0] += abs(named[0]["saving"]["percent"] - true) <= 10
    gains = [f"{one['edit'].removeprefix('without ')} {one['gain']['percent']:.0f}" for one in own["ablations"] if one["gain"] and one["gain"]["percent"] >= 5]
    failed = [one["edit"] for one in own["ablations"] if not one["gain"]]
    print(f"{'ok ' if right(told, wanted) else 'NOT'} {phase}.{kernel} true {true:.0f} %, wanted {wanted}"
          f"{' then ' + second if second != '-' else ''} | before: {', '.join(map(words, first[:3]))} | after: {', '.join(map(words, told[:3]))}"
          f" | without: {'; '.join(gains[:7])}{' | failed: ' + ', '.join(failed) if failed else ''}")
    if twin and (phase, answer["twin"]) not in twins:
        twins.add((phase, answer["twin"]))
        measured = [row for row in loud(findings(twin)) if row["saving"]["source"] == "ablation"]
        counts["quiet"][1] += 1
        counts["quiet"][0] += not measured
        if measured:
            print(f"    its twin {answer['twin']}: {', '.join(map(words, measured))}")
    # the estimates of the rules beside what was measured for the same cause
    for row in findings(before[kernel]):
        measured = [now for now in findings(own) if now["rule"] == row["rule"] and (now["saving"] or {}).get("source") == "ablation"]
        if row["saving"] and measured and row["saving"]["percent"] < measured[0]["saving"]["percent"] - BELOW:
            contradictions.append(f"{phase}.{kernel} {row['rule']}: at most {row['saving']['percent']:.0f} % estimated, {measured[0]['saving']['percent']:.0f} % measured")
    gone = {row["rule"]: row["saving"]["percent"] for row in findings(before[kernel]) if row["saving"]} 
    for rule, percent in gone.items():
        if percent > CLAIMED and rule not in {row["rule"] for row in findings(own)} | {row["rule"] for row in own["insights"]}:
            contradictions.append(f"{phase}.{kernel} {rule}: {percent:.0f} % estimated, nothing measured")
print(f"right first: {counts['before']} of {total} by rules, {counts['after']} with measurements; second cause among three: {counts['second'][0]} of {counts['second'][1]}; "
      f"measured gain within 10 points of the twin's: {counts['near'][0]} of {counts['near'][1]}; twins without a measured finding above 10 %: {counts['quiet'][0]} of {counts['quiet'][1]}")
print(f"{len(contradictions)} contradictions")
print("\n".join(contradictions))

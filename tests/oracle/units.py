"""Writes src/ncu_rep/units.tsv: base metric -> unit, from the units that NVIDIA's ncu_report gives.

usage: units.py OUT.tsv REPORT.ncu-rep... [--names FILE]

Every metric of the reports is asked for its unit. With --names, so is every metric name of FILE (one a line), by
adding it to a launch of the first report. Names that the suffix rule of src/ncu_rep/unit.rs derives from their base
are left out; a name that it does not is written in full.
"""
import sys
import ncu_report

ROLLUPS = {"sum", "avg", "min", "max"}
SUFFIXES = ROLLUPS | {"pct", "ratio", "max_rate"}
DERIVED = {"block", "branches", "byte", "cycle", "inst", "request", "sector", "thread", "warp"}


def split(name):
    """Base and suffixes of a metric name."""
    parts = name.split(".")
    for index in range(1, len(parts)):
        if parts[index] in SUFFIXES:
            return ".".join(parts[:index]), parts[index:]
    return name, []


def derive(base_unit, suffixes):
    """The suffix rule, as src/ncu_rep/unit.rs has it."""
    unit = base_unit
    for suffix in suffixes:
        if suffix.startswith("pct"):
            unit = "%"
        elif suffix == "per_second":
            unit = {"cycle": "hz"}.get(unit, unit + "/s" if unit in DERIVED else unit)
        elif suffix.startswith(("per_cycle", "peak_sustained")):
            unit = {"cycle": "", "warp": "warp"}.get(unit, unit + "/cycle" if unit in DERIVED else unit)
    return unit


def invert(unit, suffixes):
    """A base unit that would give `unit`, or None."""
    for candidate in (unit, unit.removesuffix("/s"), unit.removesuffix("/cycle"), "cycle"):
        if derive(candidate, suffixes) == unit and "%" not in candidate:
            return candidate
    return None


def units(reports, names):
    """Unit of every metric of the reports, and of every name."""
    found = {}
    first = None
    for path in reports:
        context = ncu_report.load_report(path)
        for r in range(context.num_ranges()):
            for a in range(context.range_by_idx(r).num_actions()):
                action = context.range_by_idx(r).action_by_idx(a)
                first = first or (context, action)
                for name in action.metric_names():
                    found.setdefault(name, action[name].unit())
    for name in names:
        if name not in found:
            first[1].add_metric(name).set_double(ncu_report.IMetric.ValueKind_DOUBLE, 1.0)
            found[name] = first[1][name].unit()
    return found


def main():
    arguments = sys.argv[1:]
    names = []
    if "--names" in arguments:
        at = arguments.index("--names")
        names = [line.strip() for line in open(arguments[at + 1]) if line.strip()]
        del arguments[at : at + 2]
    found = units(arguments[1:], names)
    votes = {}
    for name, unit in found.items():
        base, suffixes = split(name)
        guess = invert(unit, suffixes)
        if guess is not None:
            table = votes.setdefault(base, {})
            table[guess] = table.get(guess, 0) + (100 if all(s in ROLLUPS for s in suffixes) else 1)
    bases = {base: max(table, key=lambda unit: (table[unit], unit)) for base, table in votes.items()}
    rows = {base: unit for base, unit in bases.items() if unit}
    for name, unit in found.items():
        base, suffixes = split(name)
        if derive(bases.get(base, ""), suffixes) != unit:
            rows[name] = unit
    with open(arguments[0], "w") as out:
        for name in sorted(rows, key=lambda n: n.encode()):
            out.write(f"{name}\t{rows[name]}\n")
    print(f"{len(found)} metrics, {len(rows)} rows")


main()

"""Writes crates/ncu-rep/src/names.tsv: names of metrics that units.tsv does not hold, and the kinds of those that are no counters.

usage: kinds.py OUT.tsv NAMES REPORT.ncu-rep...

NAMES is what names.py wrote. Rows of an OUT.tsv that is there stay. A row is a kind and a name: a `counter` that units.tsv has no unit of, every `ratio` and
`throughput`, and a `name` that takes no suffix: one that no chip counts and a report has, or units.tsv.
"""
import pathlib
import sys

from units import split, string_table

UNITS = pathlib.Path(__file__).parents[2] / "crates/ncu-rep/src/units.tsv"


def kind(suffixes):
    """The kind of a base metric, by the suffixes that it has."""
    if "ratio" in suffixes:
        return "ratio"
    return "counter" if "sum" in suffixes else "throughput"


def main():
    suffixes = {}
    for line in open(sys.argv[2]):
        base, rest = split(line.split()[1])
        suffixes.setdefault(base, set()).add(".".join(rest))
    table = [line.split("\t")[0] for line in open(UNITS)]
    with_unit = {split(name)[0] for name in table}
    old = pathlib.Path(sys.argv[1])
    rows = dict(line.split("\t")[::-1] for line in old.read_text().splitlines()) if old.exists() else {}
    rows |= {base: kind(rest) for base, rest in suffixes.items()}
    rows = {base: kind for base, kind in rows.items() if kind != "counter" or base not in with_unit}
    reported = [name for path in sys.argv[3:] for name in string_table(path)]
    for name in table + reported:
        if split(name)[0] not in suffixes and "__" in name and ":" not in name:
            rows[name] = "name"
    with open(sys.argv[1], "w") as out:
        for name in sorted(rows, key=lambda n: n.encode()):
            out.write(f"{rows[name]}\t{name}\n")
    print(f"{len(rows)} rows")


main()

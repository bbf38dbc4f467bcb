"""Writes crates/ncu-rep/src/units.tsv: base metric -> unit, from the units that NVIDIA's ncu_report gives.

usage: units.py OUT.tsv REPORT.ncu-rep... [--names FILE]

Every metric of the reports is asked for its unit. With --names, so is every line `CHIP NAME` of FILE (see names.py): a
launch on that chip with these metrics is appended to a copy of the first report, and NVIDIA's reader is asked about it.
Rows of an OUT.tsv that is there stay for bases that FILE does not list: ncu has units for some that no chip lists.
Chips and reports that come first win where units differ. Names that the suffix rule of crates/ncu-rep/src/unit.rs derives from
their base are left out; a name that it does not is written in full.
"""
import multiprocessing
import os
import struct
import sys
import tempfile

ROLLUPS = {"sum", "avg", "min", "max"}
SUFFIXES = ROLLUPS | {"pct", "ratio", "max_rate"}
# What the device attributes of a launch say about its chip.
CHIPS = {
    "TU102": (0x162, 7, 5), "GA100": (0x170, 8, 0), "GA102": (0x172, 8, 6), "GH100": (0x180, 9, 0),
    "AD102": (0x192, 8, 9), "GB100": (0x1A0, 10, 0), "GB202": (0x1B2, 12, 0),
}
DERIVED = {"block", "branches", "byte", "cycle", "inst", "ns", "ops", "register", "request", "sector", "tag", "thread",
           "warp"}


def split(name):
    """Base and suffixes of a metric name."""
    parts = name.split(".")
    for index in range(1, len(parts)):
        if parts[index] in SUFFIXES:
            return ".".join(parts[:index]), parts[index:]
    return name, []


def derive(base_unit, suffixes):
    """The suffix rule, as crates/ncu-rep/src/unit.rs has it. Without a base unit only percentages are certain."""
    if base_unit is None:
        return "%" if suffixes and suffixes[-1].startswith("pct") else ""
    unit = base_unit
    for suffix in suffixes:
        if suffix.startswith("pct"):
            unit = "%"
        elif suffix == "per_second":
            unit = {"cycle": "hz", "": "1/s", "1/cycle": ""}.get(unit, unit + "/s" if unit in DERIVED else unit)
        elif suffix.startswith("per_cycle") or suffix == "peak_sustained":
            unit = {"cycle": "", "warp": "warp", "": "1/cycle"}.get(unit, unit + "/cycle" if unit in DERIVED else unit)
    return unit


def base_unit(names):
    """The base unit, or none, that leaves the fewest of a base's names (suffixes and unit of each) to rows of their own."""
    units = {unit for _, unit in names}
    candidates = units | {unit.removesuffix("/s").removesuffix("/cycle") for unit in units} | {"cycle", ""}
    candidates = [None] + sorted(unit for unit in candidates if "%" not in unit)
    wrong = {unit: sum(derive(unit, suffixes) != given for suffixes, given in names) for unit in candidates}
    return min(candidates, key=lambda unit: wrong[unit] + (unit is not None))


def field(number, data):
    """A length-delimited field, or an integer."""
    def number_of(value):
        out = b""
        while value >= 0x80:
            out += bytes([value & 0x7F | 0x80])
            value >>= 7
        return out + bytes([value])

    if isinstance(data, int):
        return number_of(number << 3) + number_of(data)
    return number_of(number << 3 | 2) + number_of(len(data)) + data


def with_names(report, chip, names):
    """A copy of a report with its first launch once more, which ran on `chip` and has the metrics `names` too."""
    known = string_table(report)
    launch = first_launch(report)
    number, major, minor = CHIPS[chip]
    attributes = {"chip": number, "architecture": number, "implementation": number,
                  "compute_capability_major": major, "compute_capability_minor": minor}
    for name, value in attributes.items():
        place = known.index(f"device__attribute_{name}")
        launch += field(13, field(1, place) + field(2, field(5, value)) + field(4, 0))
    value = field(2, b"\x19" + struct.pack("<d", 1.0)) + field(4, 0)
    launch += b"".join(field(13, field(1, len(known) + index) + value) for index in range(len(names)))
    table = b"".join(field(1, name.encode()) for name in names)
    header = field(1, 0) + field(2, 1) + field(4, table) + field(5, len(launch) + 4)
    header += field(6, field(1, 1) + field(2, b"h") + field(3, b"p"))
    with open(report, "rb") as original, tempfile.NamedTemporaryFile(suffix=".ncu-rep", delete=False) as copy:
        copy.write(original.read() + struct.pack("<I", len(header)) + header + struct.pack("<I", len(launch)) + launch)
        return copy.name


def units_of(path):
    """The unit of every metric of a report."""
    import ncu_report

    found = {}
    context = ncu_report.load_report(path)
    for r in range(context.num_ranges()):
        actions = context.range_by_idx(r)
        for a in range(actions.num_actions()):
            action = actions.action_by_idx(a)
            for name in action.metric_names():
                found.setdefault(name, action[name].unit())
    return found


def ask(path, found):
    """Adds the unit of every metric of a report. In a process of its own: after the report of another chip or with
    other metrics, ncu_report gives some other units."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for name, unit in pool.apply(units_of, (path,)).items():
            found.setdefault(name, unit)


def units(reports, names):
    """Unit of every metric of the reports, and of every name by chip."""
    found = {}
    for path in reports:
        ask(path, found)
    known = set(string_table(reports[0]))
    for chip, listed in names.items():
        listed = [name for name in listed if name not in known]
        before = len(found)
        path = with_names(reports[0], chip, listed)
        ask(path, found)
        os.unlink(path)
        print(f"{chip}: {len(listed)} names, {len(found) - before} new ones", flush=True)
    return found


def varint(data, at):
    """A variable-length integer and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def blocks(path):
    """Header fields (number: last value) and payload of every block. The only lists asked for are in field 4."""
    data = open(path, "rb").read()
    at = 8 + struct.unpack("<I", data[4:8])[0]
    while at < len(data):
        end = at + 4 + struct.unpack("<I", data[at : at + 4])[0]
        at, header = at + 4, {}
        while at < end:
            tag, at = varint(data, at)
            value, at = varint(data, at)
            if tag & 7 == 2:
                value, at = data[at : at + value], at + value
            header[tag >> 3] = value
        at = end + header.get(5, 0)
        yield header, data[end:at]


def first_launch(path):
    """The message of the first kernel launch."""
    payload = next(payload for header, payload in blocks(path) if header.get(2))
    return payload[4 : 4 + struct.unpack("<I", payload[:4])[0]]


def string_table(path):
    """The entries of a report's string tables."""
    entries = []
    for header, _ in blocks(path):
        table, at = header.get(4, b""), 0
        while at < len(table):
            _, at = varint(table, at)
            length, at = varint(table, at)
            entries.append(table[at : at + length].decode())
            at += length
    return entries


def main():
    arguments = sys.argv[1:]
    names = {}
    if "--names" in arguments:
        at = arguments.index("--names")
        for line in open(arguments[at + 1]):
            chip, name = line.split()
            if chip in CHIPS:
                names.setdefault(chip, []).append(name)
        del arguments[at : at + 2]
    found = units(arguments[1:], names)
    bases = {}
    for name, unit in found.items():
        base, suffixes = split(name)
        bases.setdefault(base, []).append((suffixes, unit))
    rows = {base: unit for base, names in bases.items() if (unit := base_unit(names)) is not None}
    for name, unit in found.items():
        base, suffixes = split(name)
        if derive(rows.get(base), suffixes) != unit:
            rows[name] = unit
    if os.path.exists(arguments[0]):
        before = (line.rstrip("\n").split("\t") for line in open(arguments[0]))
        listed = {split(name)[0] for listed in names.values() for name in listed}
        rows.update((name, unit) for name, unit in before if split(name)[0] not in listed)
    with open(arguments[0], "w") as out:
        for name in sorted(rows, key=lambda n: n.encode()):
            out.write(f"{name}\t{rows[name]}\n")
    print(f"{len(found)} metrics, {len(rows)} rows")


if __name__ == "__main__":
    main()

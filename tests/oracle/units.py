"""Writes src/ncu_rep/units.tsv: base metric -> unit, from the units that NVIDIA's ncu_report gives.

usage: units.py OUT.tsv REPORT.ncu-rep... [--names FILE]

Every metric of the reports is asked for its unit. With --names, so is every metric name of FILE (one a line): a
launch with these metrics is appended to a copy of the first report, and NVIDIA's reader is asked about it. Names that the suffix rule of src/ncu_rep/unit.rs derives from their base
are left out; a name that it does not is written in full.
"""
import struct
import sys
import tempfile
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
            unit = {"cycle": "hz", "": "1/s", "1/cycle": ""}.get(unit, unit + "/s" if unit in DERIVED else unit)
        elif suffix.startswith(("per_cycle", "peak_sustained")):
            unit = {"cycle": "", "warp": "warp", "": "1/cycle"}.get(unit, unit + "/cycle" if unit in DERIVED else unit)
    return unit


def derive_unknown(suffixes):
    """The unit of a metric whose base is not in the table: only percentages are certain."""
    return "%" if suffixes and suffixes[-1].startswith("pct") else ""


def invert(unit, suffixes):
    """A base unit that would give `unit`, or None."""
    for candidate in (unit, unit.removesuffix("/s"), unit.removesuffix("/cycle"), "cycle", ""):
        if derive(candidate, suffixes) == unit and "%" not in candidate:
            return candidate
    return None


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


def with_names(report, names, known):
    """A copy of a report with its first launch once more, which has the metrics `names` too: units depend on the chip,
    which the launch's attributes say. The tables of the report have `known` names."""
    launch = first_launch(report)
    for index in range(len(names)):
        value = b"\x19" + struct.pack("<d", 1.0)
        launch += field(13, field(1, known + index) + field(2, value) + field(4, 0))
    table = b"".join(field(1, name.encode()) for name in names)
    header = field(1, 0) + field(2, 1) + field(4, table) + field(5, len(launch) + 4)
    header += field(6, field(1, 1) + field(2, b"h") + field(3, b"p"))
    with open(report, "rb") as original, tempfile.NamedTemporaryFile(suffix=".ncu-rep", delete=False) as copy:
        copy.write(original.read() + struct.pack("<I", len(header)) + header + struct.pack("<I", len(launch)) + launch)
        return copy.name


def ask(path, found):
    """Adds the unit of every metric of a report."""
    context = ncu_report.load_report(path)
    for r in range(context.num_ranges()):
        actions = context.range_by_idx(r)
        for a in range(actions.num_actions()):
            action = actions.action_by_idx(a)
            for name in action.metric_names():
                found.setdefault(name, action[name].unit())


def units(reports, names):
    """Unit of every metric of the reports, and of every name."""
    found = {}
    for path in reports:
        ask(path, found)
    names = [name for name in names if name not in found]
    if names:
        before = len(found)
        ask(with_names(reports[0], names, table_size(reports[0])), found)
        print(f"{len(found) - before} of {len(names)} names were read")
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


def table_size(path):
    """Entries of a report's string tables."""
    entries = 0
    for header, _ in blocks(path):
        table, at = header.get(4, b""), 0
        while at < len(table):
            _, at = varint(table, at)
            length, at = varint(table, at)
            entries, at = entries + 1, at + length
    return entries


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
    # Numbers without a unit have a row only where suffixes give them one.
    suffixed = {split(name)[0] for name in found if len(split(name)[1]) > 1}
    rows = {base: unit for base, unit in bases.items() if unit or base in suffixed}
    for name, unit in found.items():
        base, suffixes = split(name)
        if (derive(rows[base], suffixes) if base in rows else derive_unknown(suffixes)) != unit:
            rows[name] = unit
    with open(arguments[0], "w") as out:
        for name in sorted(rows, key=lambda n: n.encode()):
            out.write(f"{name}\t{rows[name]}\n")
    print(f"{len(found)} metrics, {len(rows)} rows")


main()

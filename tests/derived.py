#!/usr/bin/env python3
"""Derived and written tolerances of phases: the bounds, their ratio, and the wrong results that each rejects.

    tests/derived.py NCUGATE [PHASE.toml...]

Needs no GPU. Ends with 1 if a derived bound accepts a wrong result that the written one rejects, rejects a plain evaluation, or is
refused. Phases without a built-in reference or with outputs of bf16 have no derived bound.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = ["softmax", "triton_softmax", "attention_f16", "attention_f16_causal", "sdpa_fast", "sdpa_fast_causal", "phase_d", "phase_3",
           "stage_c", "inversion", "whole_kv", "attention_steps"]
TRAITS = ["libraries", "part", "partial_sums", "row_maximum", "maps", "beta_gemm", "two_pass", "split_k", "softmax_in_place"]
PHASES = [f"configs/{name}.toml" for name in CONFIGS] + [f"tests/gpu/traits/{name}.toml" for name in TRAITS]
PHASES += ["tests/gpu/honest/product.toml", "tests/gpu/blackwell/tcgen05.toml", "tests/gpu/large/gemm.toml"]
WRITTEN = re.compile(r"^tolerance = (\{.*\})$", re.M)
DERIVED = re.compile(r"derived tolerance of output `(\w+)` at shape `([^`]+)`: (.*)")
PARTS = re.compile(r"([\d.e+-]+) \+ ([\d.e+-]+) x")
CELL = re.compile(r"(accepted|rejected) (?:NaN|[\d.e+-]+)|the same answer")


def ncugate(binary, file, text, *words):
    """What a command prints for a phase with this text, in its folder."""
    place = file.with_name(f".derived_{file.name}")
    place.write_text(text)
    try:
        done = subprocess.run([binary, *words, place], cwd=ROOT, text=True, capture_output=True)
    finally:
        place.unlink()
    return done.stdout + done.stderr


def mutants(printed):
    """The outcomes of each mutant, by shape, and whether it is honest."""
    lines = printed.splitlines()
    head = next((at for at, line in enumerate(lines) if line.split() and line.split()[0] == "mutant"), None)
    found, honest = {}, {}
    if head is None:
        return found, honest
    start = lines[head].index("mutant")
    for line in lines[head + 1:]:
        cells = [cell.group(1) for cell in CELL.finditer(line)]
        name = re.split(r"  +", line[start:].strip())[0]
        if not cells:
            break
        found[name] = cells
        honest[name] = line[:start].strip() in ("honest", "TOO TIGHT")
    return found, honest


def killed(found, honest):
    """The faults that are rejected at a shape."""
    return {name for name, cells in found.items() if not honest[name] and "rejected" in cells}


def first_number(pattern, text):
    return max((float(number) for number in re.findall(pattern, text)), default=None)


def compared(binary, file):
    """Prints the rows of a phase; returns whether all holds."""
    text = file.read_text()
    table = WRITTEN.search(text)
    if table is None:
        print(f"{file.stem:22} has no written tolerance in one line")
        return False
    derived_text = WRITTEN.sub('tolerance = "derived"', text)
    printed = ncugate(binary, file, derived_text, "check", "--no-build", "--mutants")
    ours, honest = mutants(printed)
    theirs, _ = mutants(ncugate(binary, file, text, "check", "--no-build", "--mutants"))
    bounds = DERIVED.findall(printed)
    ours_killed, theirs_killed = killed(ours, honest), killed(theirs, honest)
    tried = sum(not honest[name] and any(cells) for name, cells in ours.items())
    lost = sorted(theirs_killed - ours_killed)
    tight = [name for name in ours if honest[name] and "rejected" in ours[name]]
    holds = bool(bounds) and not lost and not tight
    for output, shape, bound in bounds:
        parts, written = PARTS.match(bound), first_number(r"(?:max_abs|atol) = ([\d.e+-]+)", table[1])
        ratio = f"{float(parts[1]) / written:.2g}" if parts and written else "-"
        print(f"{file.stem:22} {output:5} {shape:18} {table[1]:52} {bound.split(',')[0]:28} {ratio:>7}  "
              f"{len(ours_killed)} and {len(theirs_killed)} of {tried}")
    for what, names in [("accepted by the derived bound only", lost), ("rejected although honest", tight)]:
        if names:
            print(f"{file.stem:22}   {what}: {', '.join(names)}")
    if not bounds:
        print(f"{file.stem:22}   no derived bound:\n{printed}")
    return holds


def main(words):
    binary, files = pathlib.Path(words[0]).resolve(), words[1:] or PHASES
    print(f"{'phase':22} {'output':5} {'widest at':18} {'written':52} {'derived':28} {'ratio':>7}  rejected by derived, written")
    held = [compared(binary, ROOT / file) for file in files]
    print(f"{sum(held)} of {len(held)} phases hold")
    return int(not all(held))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main(sys.argv[1:]))

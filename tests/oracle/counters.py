"""Proves counters.tsv: that each GPU has the counters that ncugate requests of it, by NVIDIA's libnvperf_host.

usage: counters.py LIBNVPERF_HOST.so...

The library comes with the packages ncu_report (ncu 2025.3, the oldest with every counter) and nvidia-cuda-cupti, and
needs no GPU. Every library is asked about every chip that it knows. counters.tsv has a line `COUNTER CAPABILITY...`;
a test of ncugate-judge writes it. A counter without a chip is read if it is in a report, and never requested. Counters that ncu computes itself are in no library and not proven.
"""
import os
import sys

import names

# Chips by compute capability. 10.1 is CUDA 12's name of 11.0.
CHIPS = {
    "7.5": "TU102 TU104 TU106", "8.0": "GA100", "8.6": "GA102 GA103 GA104 GA106 GA107", "8.7": "GA10B",
    "8.9": "AD102 AD103 AD104 AD106 AD107", "9.0": "GH100", "10.0": "GB100 GB102", "10.1": "GB10B GB10C",
    "10.3": "GB110 GB112", "10.7": "GR100", "11.0": "GB10B GB10C", "12.0": "GB202 GB203 GB205 GB206 GB207",
    "12.1": "GB20B GB20C",
}
# 7.5 as well, without a tensor pipe: the counters of tensor operations are missing.
WITHOUT_TENSOR = {"TU116", "TU117"}
# Volta, which ncugate does not support.
UNSUPPORTED = {"GV100", "GV11B"}
# Prefixes of the metrics that ncu computes itself.
COMPUTED = ("launch__", "derived__", "sass__", "memory_", "sm__maximum_warps_per_active_cycle_pct")


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counters.tsv")
    with open(path) as file:
        requests = dict(line.rstrip("\n").split("\t") for line in file)
    requests = {name: chips.split() for name, chips in requests.items()}
    counters = [name for name in requests if not name.startswith(COMPUTED)]
    unknown = {chip for name in counters for chip in requests[name]} - CHIPS.keys()
    wrong = [f"no chip of compute capability {chip} is known" for chip in sorted(unknown)]
    asked = set()
    has = {capability: dict.fromkeys(counters, True) for capability in CHIPS}
    for path in sys.argv[1:]:
        library = names.Library(path)
        capabilities = {chip: capability for capability in CHIPS for chip in CHIPS[capability].split()}
        for chip in sorted(set(library.chips) - capabilities.keys() - WITHOUT_TENSOR - UNSUPPORTED):
            wrong.append(f"chip {chip} of {path} has no compute capability")
        for capability, chips in CHIPS.items():
            for chip in sorted(set(chips.split()) & set(library.chips)):
                bases = dict(library.bases(chip))
                asked.add(capability)
                for name in counters:
                    base, _, form = name.partition(".")
                    if f".{form}" not in bases.get(base, ()):
                        has[capability][name] = False
                        if capability in requests[name]:
                            wrong.append(f"{chip} ({capability}) has no {name}, by {path}")
    wrong += [f"no chip has {name}" for name in counters if not any(has[chip][name] for chip in asked)]
    wrong += [f"no library knows a chip of compute capability {chip}" for chip in sorted(CHIPS.keys() - asked)]
    print(table(counters, requests, has))
    print(f"{len(counters)} counters of {len(CHIPS)} compute capabilities: {len(wrong)} errors")
    sys.exit("\n".join(wrong) or None)


def table(counters, requests, has):
    """Counters that are not requested everywhere: `+` requested, `o` only known, `-` absent."""
    width = max(map(len, counters))
    rows = [" " * width + "".join(f"{chip:>6}" for chip in CHIPS)]
    for name in counters:
        marks = ["+" if chip in requests[name] else "o" if has[chip][name] else "-" for chip in CHIPS]
        if set(marks) != {"+"}:
            rows.append(name.ljust(width) + "".join(f"{mark:>6}" for mark in marks))
    return "\n".join(rows)


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# The same sweep written with nsight-python, with ncu_report and with ncugate (tests/gpu/comparison), side by side.
#
#     tests/gpu/comparison.sh WHEEL [FOLDER OF WHEELS]
#
# PyTorch and ncu_report 2025.3 in one process end in a segmentation fault, so that with_ncu_report.py imports each where it is used.
# The folder has nsight-python, ncu-report and what they need; a script whose modules are missing is named and left out. Prints
# lines of code, seconds and the table of each. Fails if fewer than two ran or their tables differ: in a number of instructions, by
# 2 % in bytes, or by 10 % in a duration (nsight-python 0.9 has no units). Needs an NVIDIA GPU, ncu with counter permission, and Python 3 with PyTorch. ncu 2025.3
# goes with nsight-python 0.9.6 and ncu-report 2025.3.1; later ones of nsight-python need ncu 2026.2.1.
. "$(dirname "$0")/site.sh"
scripts=$(realpath tests/gpu/comparison)
cd "$work"
ncu --version | tail -n 1
python3 - "$scripts" << 'PYTHON'
import pathlib
import re
import subprocess
import sys
import time

WAYS = {"with_ncugate": "ncugate", "with_nsight": "nsight", "with_ncu_report": "ncu_report"}
# The largest relative difference of a mean.
LIMITS = {"gpu__time_duration.sum": 0.1, "dram__bytes_read.sum": 0.02, "smsp__inst_executed.sum": 0}
ROW = re.compile(r"(\d+),([a-z_.]+),([0-9.e+]+),(\S*)")
tables = {}
for name, module in WAYS.items():
    found = subprocess.run([sys.executable, "-c", f"import {module}"], stderr=subprocess.PIPE, text=True)
    if found.returncode:
        print(f"{name}: left out: {(found.stderr.strip().splitlines() or [f'status {found.returncode}'])[-1]}")
        continue
    path = pathlib.Path(sys.argv[1], f"{name}.py")
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith(("#", '"""'))]
    started = time.monotonic()
    ran = subprocess.run([sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seconds = time.monotonic() - started
    rows = {(int(n), metric): (float(mean), unit) for n, metric, mean, unit in ROW.findall(ran.stdout)}
    print(f"\n{name}: {len(lines)} lines of code, {seconds:.1f} s, status {ran.returncode}")
    for (n, metric), (mean, unit) in sorted(rows.items()):
        print(f"  {n:5} {metric:26} {mean:16,.1f} {unit}")
    if ran.returncode or len(rows) != 9:
        sys.exit(f"FAILED: {name} has {len(rows)} of 9 rows\n{ran.stdout}{ran.stderr}")
    tables[name] = rows
first, *others = tables.values()
different = []
for rows in others:
    for key, (mean, unit) in first.items():
        other, named = rows.get(key, (float("nan"), "missing"))
        if not abs(other - mean) <= LIMITS[key[1]] * abs(mean) or (named and named != unit):
            different.append(f"{key}: {mean} {unit} and {other} {named}")
print(f"\n{len(tables)} tables:", "they agree" if others and not different else "FAILED: " + "; ".join(different or ["nothing to compare"]))
sys.exit(not others or bool(different))
PYTHON

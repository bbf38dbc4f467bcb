"""The time of ncu on one GPU, and on two GPUs of a machine at once: ncu's share of `lanes.sh`.

    lanes_parts.py NCUGATE JOB

JOB is a worker's job of kernels to profile (`logs/*profile-*.json` of a run). First, half of them are counted on one GPU alone;
then both halves at once, each on its own GPU. Prints when the first and the last launch returned, in seconds from the start of each ncu, and the
slowdown of later launches while another ncu runs. Needs two GPUs and ncu.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

NCUGATE, JOB = sys.argv[1:]
METRICS = [
    "gpu__time_duration.sum",
    "dram__bytes.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__warps_eligible.avg.per_cycle_active",
    "smsp__issue_active.avg.pct",
    "sm__inst_executed_pipe_tensor.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "launch__registers_per_thread",
]


def count(place, gpu, kernels, job, seconds):
    """Counts some kernels on a GPU; records when launches returned."""
    folder = os.path.join(place, f"{gpu}-{time.monotonic_ns()}")
    os.makedirs(folder)
    path = os.path.join(folder, "job.json")
    with open(path, "w") as file:
        json.dump({**job, "kernels": kernels}, file)
    command = ["ncu", "--config-file", "off", "--clock-control", "none", "--cache-control", "all", "--target-processes", "application-only"]
    command += ["--import-sass", "no", "--metrics", ",".join(METRICS), "--export", os.path.join(folder, "report"), NCUGATE, "worker", path]
    began = time.monotonic()
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": str(gpu), "TMPDIR": folder}
    ncu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment)
    back = []
    for line in ncu.stdout:
        if line.startswith("{") and json.loads(line)["event"] == "launched":
            back.append(time.monotonic() - began)
    if ncu.wait() != 0 or len(back) < len(kernels):
        sys.exit(f"ncu ended with {ncu.returncode} after {len(back)} of {len(kernels)} launches")
    print(f"GPU {gpu}: {len(kernels)} kernels, first back after {back[0]:.2f} s, last after {back[-1]:.2f} s")
    seconds.append(back[-1] - back[0])


with open(JOB) as file:
    job = json.load(file)
halves = [job["kernels"][::2], job["kernels"][1::2]]
alone, together = [], []
with tempfile.TemporaryDirectory() as place:
    count(place, 0, halves[0], job, alone)
    lanes = [threading.Thread(target=count, args=(place, gpu, half, job, together)) for gpu, half in enumerate(halves)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
if len(together) != 2:
    sys.exit(1)
print(f"beside another ncu the launches behind the first take {max(together) / alone[0]:.2f} times as long")

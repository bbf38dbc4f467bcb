#!/usr/bin/env python3
"""NVIDIA's nsight-python and ncugate on the same cubins with the same ten metrics, side by side.

    nsight_python.py JOB BINARY WORK        (called by profile.sh)

JOB is a profile job that ncugate gave its worker: 90 cubins with their launches. nsight-python restarts this script under
ncu; without arguments and with NSIGHT_JOB set, it only launches them.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

METRICS = [
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__warps_eligible.avg.per_cycle_active",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "launch__registers_per_thread",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "gpu__time_duration.sum",
    "dram__bytes.sum",
    "sm__maximum_warps_per_active_cycle_pct",
]


def launcher(job):
    """A function that launches kernel number i of the job once, by cupy."""
    import cupy

    kernels = job["kernels"]
    shape = kernels[0]["shapes"][0]
    dims = next(s for s in job["shapes"] if s["name"] == shape)
    buffers = {}
    for buffer in dims["buffers"]:
        count = 1
        for extent in buffer["extents"]:
            count *= extent
        buffers[buffer["name"]] = cupy.asarray(cupy.random.default_rng(0).standard_normal(count, dtype="float32").astype("float16"))
    scalars = {"f32": "float32", "i32": "int32", "f64": "float64", "i64": "int64", "u32": "uint32"}

    def argument(arg):
        if "buffer" in arg:
            return buffers[arg["buffer"]]
        ((kind, value),) = arg["scalar"].items()
        return getattr(cupy, scalars[kind])(value)

    loaded = []
    for kernel in kernels:
        program = next(p for p in kernel["programs"] if p["shape"] == shape)
        (launch,) = (step["launch"] for step in program["steps"])
        function = cupy.RawModule(path=kernel["cubin"]).get_function(launch["entry"])
        function.max_dynamic_shared_size_bytes = max(launch["dynamic_shared"], 1)
        loaded.append((function, launch, tuple(argument(a) for a in launch["args"])))

    def run(i):
        function, launch, arguments = loaded[i]
        function(tuple(launch["grid"]), tuple(launch["block"]), arguments, shared_mem=launch["dynamic_shared"])

    return run, len(kernels)


def by_nsight_python(job):
    import nsight

    run, count = launcher(job)

    @nsight.analyze.kernel(configs=list(range(count)), runs=1, metrics=METRICS, output="quiet", thermal_mode="off")
    def measured(i):
        with nsight.annotate("variant"):
            run(i)

    return measured().to_dataframe()


def by_ncugate(binary, work):
    """Seconds of the profile stage, seconds of judging, decoding and rendering, and the number of metrics: the ten and those of the
    phase's gates and report. Warm, like nsight-python."""
    text = (work / "phase_d.toml").read_text()
    names = ", ".join(f'"{name}"' for name in METRICS)
    config = work / "ten.toml"
    config.write_text(text.replace("metrics = []", f"metrics = [{names}]"))
    best = None
    for attempt in range(2):
        profiles = work / f"ten-{attempt}"
        subprocess.run([binary, "run", config, "--source", "gpu", "--fresh", "--profiles", profiles, "--reports", profiles / "r"],
                       stdout=subprocess.DEVNULL, check=False)
        (run,) = (profiles / "phase_d").iterdir()
        stages = dict(json.loads((run / "manifest.json").read_text())["stage_seconds"])
        start = time.perf_counter()
        subprocess.run([binary, "page", run, "--reports", profiles / "again"], stdout=subprocess.DEVNULL, check=False)
        records = (json.loads(line) for line in (run / "profiles.jsonl").read_text().splitlines())
        collected = {metric for record in records for metric in record["metrics"]}
        best = (stages["profile"], time.perf_counter() - start, len(collected))
    return best


def main():
    if "NSIGHT_JOB" not in os.environ:
        job, binary, work = sys.argv[1], sys.argv[2], Path(sys.argv[3])
        environment = os.environ | {"NSIGHT_JOB": job, "NSIGHT_RESULT": str(work / "nsight.json")}
        subprocess.run([sys.executable, __file__], env=environment, check=True)
        theirs = json.loads((work / "nsight.json").read_text())
        profile, judged, metrics = by_ncugate(binary, work)
        ours = profile + judged
        print(f"d. ten metrics: nsight-python {theirs['seconds']:.1f} s ({theirs['rows']} rows), "
              f"ncugate {ours:.1f} s for these and others, {metrics} in all ({profile:.1f} collecting, {judged:.1f} decoding, judging and rendering): "
              f"{theirs['seconds'] / ours:.1f}x faster")
        return
    job = json.loads(Path(os.environ["NSIGHT_JOB"]).read_text())
    start = time.perf_counter()
    frame = by_nsight_python(job)
    seconds = time.perf_counter() - start
    if frame is not None:
        Path(os.environ["NSIGHT_RESULT"]).write_text(json.dumps({"seconds": seconds, "rows": len(frame)}))


if __name__ == "__main__":
    main()

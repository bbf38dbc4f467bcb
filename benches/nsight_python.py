#!/usr/bin/env python3
"""NVIDIA's nsight-python and ncugate on the same cubins: ten metrics, and all metrics that ncugate collects with them.

    nsight_python.py BINARY WORK        (called by profile.sh)

WORK has phase_d.toml with its sources. ncugate runs it, and nsight-python counts the launches of the job that ncugate gave its
worker. nsight-python before 1.0 restarts this script under ncu (REQUEST is set then); 1.0 attaches ncu to it, and needs ncu 2026.2.1.
Both sides: the best of ATTEMPTS with full caches. Not counted: nsight-python's imports in the first process, ncugate's start and builds.
"""

import ctypes
import functools
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
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
ATTEMPTS = 2
REQUEST = "NSIGHT_PYTHON_REQUEST"
# CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
MAX_DYNAMIC_SHARED = 8
SCALARS = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "u32": ctypes.c_uint32}
# Options of ncugate's ncu processes.
NCU = ["ncu", "--config-file", "off", "--rename-kernels", "off", "--clock-control", "none", "--cache-control", "all",
       "--target-processes", "application-only", "--import-sass", "no", "--nvtx"]


def driver(function, *arguments):
    if status := getattr(ctypes.CDLL("libcuda.so.1"), function)(*arguments):
        raise SystemExit(f"{function}: CUDA error {status}")


def launcher(job):
    """A function that launches kernel number i of the job, with the driver alone: it imports and compiles nothing."""
    import numpy

    device, context = ctypes.c_int(), ctypes.c_void_p()
    driver("cuInit", 0)
    driver("cuDeviceGet", ctypes.byref(device), job["device"])
    driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    driver("cuCtxSetCurrent", context)
    name = job["kernels"][0]["shapes"][0]
    shape = next(shape for shape in job["shapes"] if shape["name"] == name)
    buffers = {}
    for buffer in shape["buffers"]:
        values = numpy.random.default_rng(0).standard_normal(buffer["extents"], dtype="float32").astype("float16")
        address, size = ctypes.c_uint64(), ctypes.c_size_t(values.nbytes)
        driver("cuMemAlloc_v2", ctypes.byref(address), size)
        driver("cuMemcpyHtoD_v2", address, ctypes.c_void_p(values.ctypes.data), size)
        buffers[buffer["name"]] = address

    def argument(arg):
        if "buffer" in arg:
            return buffers[arg["buffer"]]
        ((kind, value),) = arg["scalar"].items()
        return SCALARS[kind](value)

    def loaded(kernel):
        program = next(program for program in kernel["programs"] if program["shape"] == name)
        (launch,) = (step["launch"] for step in program["steps"])
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        driver("cuModuleLoad", ctypes.byref(module), kernel["cubin"].encode())
        driver("cuModuleGetFunction", ctypes.byref(function), module, launch["entry"].encode())
        driver("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, launch["dynamic_shared"])
        values = [argument(arg) for arg in launch["args"]]
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        return function, [*launch["grid"], *launch["block"], launch["dynamic_shared"]], addresses, values

    kernels = [loaded(kernel) for kernel in job["kernels"]]

    def run(i):
        function, extents, addresses, _values = kernels[i]
        driver("cuLaunchKernel", function, *extents, None, addresses, None)
        driver("cuCtxSynchronize")

    return run


def by_nsight_python(request):
    """Counts the job's launches into a DataFrame; writes the seconds and the number of values."""
    import nsight

    job = json.loads(Path(request["job"]).read_text())
    # Under 0.9 only the process under ncu launches.
    run = functools.cache(lambda: launcher(job))
    quiet = {"verbosity": nsight.VerbosityLevel.SILENT} if hasattr(nsight, "VerbosityLevel") else {"output": "quiet"}

    @nsight.analyze.kernel(configs=list(range(len(job["kernels"]))), runs=1, metrics=request["metrics"], thermal_mode="off", **quiet)
    def measured(i):
        launch = run()
        with nsight.annotate("variant"):
            launch(i)

    start = time.perf_counter()
    results = measured()
    if results is not None:
        frame = results.to_dataframe()
        seconds = time.perf_counter() - start
        Path(request["result"]).write_text(json.dumps({"seconds": seconds, "values": int(frame["AvgValue"].notna().sum())}))


def seconds_of_nsight_python(job, metrics, work):
    """Best of the attempts; each must give a value of every metric for every kernel."""
    request, result = work / "nsight.request.json", work / "nsight.json"
    request.write_text(json.dumps({"job": str(job), "metrics": metrics, "result": str(result)}))
    expected = len(json.loads(job.read_text())["kernels"]) * len(metrics)
    seconds = []
    for _ in range(ATTEMPTS):
        result.unlink(missing_ok=True)
        subprocess.run([sys.executable, __file__], env=os.environ | {REQUEST: str(request)}, check=True)
        measured = json.loads(result.read_text())
        if measured["values"] != expected:
            raise SystemExit(f"nsight-python gave {measured['values']} values, not {expected}")
        seconds.append(measured["seconds"])
    return min(seconds)


def by_ncugate(binary, config, profiles):
    """A run, and seconds by part: the profile stage, the wait for ncu before it, and decoding, judging and rendering."""
    subprocess.run([binary, "run", config, "--source", "gpu", "--fresh", "--profiles", profiles, "--reports", profiles / "reports"],
                   stdout=subprocess.DEVNULL, check=False)
    (run,) = (profiles / "phase_d").iterdir()
    stages = dict(json.loads((run / "manifest.json").read_text())["stage_seconds"])
    start = time.perf_counter()
    subprocess.run([binary, "page", run, "--reports", profiles / "again"], stdout=subprocess.DEVNULL, check=False)
    return run, [stages["profile"], stages["bench: imports and ncu"], time.perf_counter() - start]


def seconds_of_ncu(binary, job, groups, work):
    """ncugate's ncu processes, started one after the other instead of while variants build."""
    start = time.perf_counter()
    for group in groups:
        command = [*NCU, "--metrics", ",".join(group), "-f", "-o", work / "alone", binary, "worker", job]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main():
    if REQUEST in os.environ:
        by_nsight_python(json.loads(Path(os.environ[REQUEST]).read_text()))
        return
    binary, work = sys.argv[1], Path(sys.argv[2])
    text, names = (work / "phase_d.toml").read_text(), ", ".join(f'"{name}"' for name in METRICS)
    if "metrics = []" not in text:
        raise SystemExit("phase_d.toml has no `metrics = []` to replace")
    config = work / "ten.toml"
    config.write_text(text.replace("metrics = []", f"metrics = [{names}]"))
    # The first run fills the caches.
    runs = [by_ncugate(binary, config, work / f"ten-{attempt}") for attempt in range(ATTEMPTS + 1)][1:]
    run, parts = min(runs, key=lambda run: sum(run[1]))
    job = max((run / "logs").glob("profile-*.json"), key=lambda path: path.stat().st_size)
    groups = sorted({tuple(json.loads(line)["metrics"]) for line in (run / "profiles.jsonl").read_text().splitlines()})
    collected = sorted({metric for group in groups for metric in group})
    if absent := set(METRICS) - set(collected):
        raise SystemExit(f"ncugate did not collect {absent}")
    ours = sum(parts)
    profile, wait, rest = parts
    print(f"d. ncugate, {len(collected)} metrics in {len(groups)} ncu processes: {ours:.2f} s (wait for ncu {wait:.2f}, profile {profile:.2f}, "
          f"decode + judge + render {rest:.2f})", flush=True)
    theirs = seconds_of_nsight_python(job, METRICS, work)
    print(f"   nsight-python {version('nsight-python')}, ten of them: {theirs:.2f} s; ncugate is {theirs / ours:.1f}x faster", flush=True)
    alone = min(seconds_of_ncu(binary, job, groups, work) for _ in range(ATTEMPTS)) + rest
    print(f"   ncugate if ncu starts after the builds: {alone:.2f} s, {theirs / alone:.1f}x faster", flush=True)
    theirs = seconds_of_nsight_python(job, collected, work)
    print(f"   nsight-python, all {len(collected)} metrics: {theirs:.2f} s; ncugate is {theirs / ours:.1f}x faster, and {theirs / alone:.1f}x")


if __name__ == "__main__":
    main()

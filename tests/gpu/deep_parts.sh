#!/usr/bin/env bash
# The parts of a deep profile's time: the same launches of two variants under ncu, with one option removed or set at a time.
# Prints seconds, replay passes and report size of each as a Markdown table. Run at the root of the repository, with a GPU, nvcc
# and ncu; about a minute:
#
#     tests/gpu/deep_parts.sh path/to/ncugate [folder]
set -u
binary=$(realpath "$1")
out=${2:-$(mktemp -d)}
mkdir -p "$out"
out=$(realpath "$out")
"$binary" run configs/softmax.toml --fresh --filter 'VEC == 4 and ROWS_PER_BLOCK == 1' --shape wide --rounds 3 --deep top:1 \
    --profiles "$out/profiles" --reports "$out/reports" > "$out/run.txt" 2> "$out/run.err"
echo "run: status $?"
run=$(find "$out/profiles" -name manifest.json -printf '%h\n' | head -1)
job=$(find "$run/logs/deep-profile" -name 'profile-*.json' 2> /dev/null | head -1)
[ -n "$job" ] || { echo "no deep profile to take apart"; tail -n 20 "$out/run.err"; exit 1; }
python3 - "$binary" "$out" "$run" "$job" <<'PYTHON'
import json, os, subprocess, sys, time

binary, out, run, job = sys.argv[1:]
task = json.load(open(job))
task["kernels"] = task["kernels"][:2]
job = os.path.join(out, "job.json")
json.dump(task, open(job, "w"))
deep = [json.loads(line) for line in open(os.path.join(run, "deep_profiles.jsonl"))][0]
metrics, sections = deep["metrics"], deep["sections"]
print(f"in the run: {deep['seconds']:.2f} s, {deep['passes']} passes, {len(metrics)} metrics, {', '.join(sections)}")

scratch = os.path.join("/tmp", f"ncugate-parts-{os.getuid()}")
os.makedirs(scratch, exist_ok=True)


def measure(name, sections, metrics, options=(), environment=None):
    export = os.path.join(out, name.replace(" ", "_"))
    command = ["ncu", "--config-file", "off", "--rename-kernels", "off", "--clock-control", "none", "--cache-control", "all"]
    command += ["--target-processes", "application-only", "--import-sass", "yes", "--import-source", "yes", "--nvtx", "--disable-extra-suffixes"]
    command += [word for section in sections for word in ("--section", section)]
    command += ["--metrics", ",".join(metrics)] if metrics else []
    command += [*options, "--force-overwrite", "--log-file", export + ".log", "--export", export, binary, "worker", job]
    variables = {**os.environ, "TMPDIR": scratch, "NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1", **(environment or {})}
    began = time.monotonic()
    ended = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    report = next((export + end for end in (".ncu-rep", ".ncu-repz") if os.path.exists(export + end)), None)
    if ended.returncode != 0 or report is None:
        said = [line for line in open(export + ".log", errors="replace") if "ERROR" in line] if os.path.exists(export + ".log") else []
        print(f"| {name} | {seconds:.2f} | status {ended.returncode}: {' '.join(said).strip()[:120]} | |", flush=True)
        return
    shown = subprocess.run([binary, "export", report, "--metric", "profiler__replayer_passes", "--to", "csv"], capture_output=True, text=True).stdout
    passes = ", ".join(line.rsplit(",", 1)[1] for line in shown.splitlines()[1:])
    print(f"| {name} | {seconds:.2f} | {passes} | {os.path.getsize(report) / 1e6:.2f} |", flush=True)


def without(names, *beginnings):
    return [name for name in names if not name.startswith(beginnings)]


sass = ("smsp__sass_thread_inst_executed_op_f", "smsp__sass_average", "memory_l")
sampled = ["sm__cycles_active.avg", "sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed", "dramc__throughput.avg.pct_of_peak_sustained_elapsed"]
no_timeline = without(sections, "PmSampling")
print("| what | seconds | passes of each launch | MB |\n| --- | --: | --- | --: |")
measure("as it is", sections, metrics)
measure("start alone", ["LaunchStats"], [])
measure("units and warp states", without(sections, "PmSampling", "SourceCounters"), [])
measure("SourceCounters", ["SourceCounters"], [])
measure("PmSampling", ["PmSampling"], [])
measure("metrics without sections", [], metrics)
measure("no PmSampling", no_timeline, metrics)
measure("no metrics", sections, [])
measure("no metrics that patch", sections, without(metrics, *sass))
measure("no SourceCounters", without(sections, "SourceCounters"), without(metrics, *sass))
measure("no software pass before", sections, metrics, environment={"NV_COMPUTE_PROFILER_DISABLE_SW_PRE_PASS": "1"})
measure("warps sampled in one pass", sections, metrics, ["--warp-sampling-max-passes", "1"])
measure("small buffer of samples", sections, metrics, ["--pm-sampling-buffer-size", "4194304", "--pm-sampling-max-passes", "1"])
measure("three sampled metrics", no_timeline, metrics + ["pmsampling:" + name for name in sampled])
PYTHON

//! Functions as variants, in the real worker on the double of the driver. The interpreter runs in the worker's
//! process, host code in shared objects too, and the functions queue copies through the driver API.

use crate::command::{Finished, Place};
use crate::live::{latencies, machine, machine_that_counts};
use crate::stored::report_of_variants;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Functions over buffers of 4096 bytes. The double's device memory is host memory.
const FUNCTIONS: &str = r#"
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
BYTES = 4096
known = {}


class Result:
    def __init__(self, address):
        about = {"version": 3, "data": (address, False), "shape": (2048,), "typestr": "<f2", "strides": None}
        self.__cuda_array_interface__ = about


def address(array):
    return array.__cuda_array_interface__["data"][0]


def queue(to, source):
    cuda.doubleWork(ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(BYTES))


def honest(x, y):
    queue(address(y), address(x))


def returned(x):
    place = ctypes.c_uint64()
    cuda.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(BYTES))
    queue(place.value, address(x))
    return Result(place.value)


def unseen(x, y):
    ctypes.memmove(address(y), address(x), BYTES)


def partly_unseen(x, y):
    cuda.doubleWork(ctypes.c_uint64(address(y)), ctypes.c_uint64(address(x)), ctypes.c_size_t(64))
    ctypes.memmove(address(y), address(x), BYTES)


def cached(x):
    if not known:
        known["first"] = returned(x)
    return known["first"]


class Lazy:
    """A result that is computed when somebody looks at where it is."""

    def __init__(self, source):
        self.place = ctypes.c_uint64()
        self.source = source
        cuda.cuMemAlloc_v2(ctypes.byref(self.place), ctypes.c_size_t(BYTES))

    @property
    def __cuda_array_interface__(self):
        ctypes.memmove(self.place.value, self.source, BYTES)
        return Result(self.place.value).__cuda_array_interface__


def lazy(x):
    return Lazy(address(x))


def stop_clocks():
    import time

    for name in ("time", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time"):
        setattr(time, name, lambda: 0)


def patched_timers(x, y):
    stop_clocks()
    cuda.doubleWork(ctypes.c_uint64(address(y)), ctypes.c_uint64(address(x)), ctypes.c_size_t(BYTES // 2))


def patched_and_right(x, y):
    stop_clocks()
    queue(address(y), address(x))


def calls_the_reference(x, y):
    honest(x, y)


def changes_inputs(x, y):
    queue(address(y), address(x))
    queue(address(x) + 64, address(y))


def fails(x, y):
    raise ValueError("this function does not work")


def unlike(x):
    return {"z": x}


def takes(x, y, missing):
    pass
"#;

/// CuPy's current stream, which is the legacy default stream unless a program enters another one.
const CUPY: &str = r#"
class Stream:
    current = ["legacy"]

    def __enter__(self):
        Stream.current.append(self)

    def __exit__(self, *_):
        Stream.current.pop()


class cuda:
    Stream = Stream


Stream.ptds = Stream()
"#;

/// A capture records launches on its own stream alone.
const ON_CUPY: &str = r#"
import ctypes

import cupy
from functions import BYTES, address, queue


def on_current_stream(x, y):
    if cupy.cuda.Stream.current[-1] is cupy.cuda.Stream.ptds:
        queue(address(y), address(x))
    else:
        ctypes.memmove(address(y), address(x), BYTES)
"#;

/// Whether `python3` can be loaded into a process.
pub fn has_shared_python() -> bool {
    let probe = "import os, sys, sysconfig as s; v = s.get_config_var; \
                 sys.exit(not os.path.isfile(os.path.join(v('LIBDIR') or '', v('INSTSONAME') or '?')))";
    let found = Command::new("python3").args(["-c", probe]).status().is_ok_and(|status| status.success());
    if !found {
        eprintln!("skipped: python3 has no shared library");
    }
    found
}

/// A machine with `phase.toml` and these functions as candidates.
pub fn machine_of_functions(names: &[&str]) -> (Place, Vec<(&'static str, String)>) {
    let (place, variables) = machine();
    place.write("functions.py", FUNCTIONS);
    place.write("absent.py", "import a_module_that_is_not_here\n");
    place.write("cupy/__init__.py", CUPY);
    place.write("on_cupy.py", ON_CUPY);
    let (workload, _) = include_str!("../data/copy.toml").split_once("[kernel]").unwrap();
    let workload = workload.replace("seeds = [0, 1]", "seeds = [0, 1]\nlaws = [\"declared\"]");
    let variant = |name: &&str| {
        let file = match *name {
            "absent" => "absent",
            "on_current_stream" => "on_cupy",
            _ => "functions",
        };
        format!("[[variant]]\nname = \"{name}\"\npython = \"{file}.py:{name}\"\n")
    };
    let variants: String = names.iter().map(variant).collect();
    let gate = "[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 1000\"\n";
    place.write("phase.toml", &format!("{workload}{variants}{gate}[bench]\nrounds = 10\n"));
    (place, variables)
}

fn run(names: &[&str]) -> (Place, Finished) {
    let (place, variables) = machine_of_functions(names);
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    (place, finished)
}

/// Each variant with the status of its latency and the reason.
fn outcomes(place: &Place) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let each = latencies(place).into_iter();
    each.map(|(variant, outcome)| (variant, text(&outcome["status"]), text(&outcome["reason"]))).collect()
}

#[test]
fn functions_are_timed_where_a_graph_has_their_work_and_found_out_where_it_has_not() {
    if !has_shared_python() {
        return;
    }
    let names = [
        "honest",
        "returned",
        "unseen",
        "partly_unseen",
        "on_current_stream",
        "cached",
        "lazy",
        "patched_timers",
        "patched_and_right",
        "calls_the_reference",
        "changes_inputs",
        "fails",
        "unlike",
        "takes",
        "absent",
    ];
    let (place, finished) = run(&names);
    let outcomes = outcomes(&place);
    assert_eq!(outcomes.len(), names.len(), "{finished:?}");
    for (variant, status, reason) in &outcomes {
        let expected = match variant.as_str() {
            // a function that calls its baseline is correct and equally fast; stopped clocks do not stop this program
            "honest" | "returned" | "patched_and_right" | "calls_the_reference" | "on_current_stream" => ("timed", ""),
            "unseen" | "lazy" => {
                ("failed", "its launches cannot be recorded for the timing; queue them on the given stream")
            }
            "partly_unseen" => ("cheats", "launch differs"),
            "cached" | "changes_inputs" | "patched_timers" => ("failed", "wrong"),
            "fails" => ("failed", "this function does not work"),
            "unlike" => ("failed", "it returns z, which is not an output"),
            "takes" => ("failed", "`missing` is not a buffer, dimension, scalar or parameter"),
            _ => ("failed", "absent: "),
        };
        assert!(status == expected.0 && reason.contains(expected.1), "{variant}: {status}, {reason}\n{finished:?}");
    }
    let run = fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let manifest: Value = serde_json::from_str(&fs::read_to_string(run.join("manifest.json")).unwrap()).unwrap();
    assert!(
        manifest["software"]["honest"]["python"].as_str().is_some_and(|version| version.starts_with("3.")),
        "{manifest}"
    );
    assert!(manifest["inputs"]["functions.py"].is_string(), "{manifest}");
}

/// The jobs of programs that waited under ncu, at the paths of their former pipes.
fn waiting(run: &Path, beginning: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(run.join("logs")).unwrap().map(|entry| entry.unwrap().path());
    let is_job = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(beginning) && name.ends_with(".json") && !name.ends_with(".preload.json") && path.is_file()
    };
    paths.filter(is_job).collect()
}

/// A run of a kernel, with a function as its baseline in a module that begins with `text`.
fn run_with_a_function(text: &str) -> (Place, Finished) {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 10");
    place.write("functions.py", &format!("{text}{FUNCTIONS}"));
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("phase.toml", &format!("{phase}[[baseline]]\nname = \"other\"\npython = \"functions.py:honest\"\n"));
    let launches = [("copy_honest", "copy_honest", 10_000.0), ("a_kernel_of_a_library", "other", 10_000.0)];
    fs::write(place.path().join("counted.ncu-rep"), report_of_variants(&launches)).unwrap();
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    (place, finished)
}

/// A module that takes until a check is recorded, 10 s at most.
const SLOW: &str = r#"
import glob, os, time

def checked():
    runs = glob.glob(os.path.join(os.path.dirname(__file__), "profiles/copy/*/checks.jsonl"))
    return any(os.path.getsize(run) for run in runs)

began = time.monotonic()
while not checked() and time.monotonic() - began < 10:
    time.sleep(0.02)
with open(os.path.join(os.path.dirname(__file__), "log.txt"), "a") as file:
    file.write("meanwhile\n" if checked() else "late\n")
"#;

#[test]
fn kernels_are_checked_while_functions_are_imported() {
    if !has_shared_python() {
        return;
    }
    let (place, finished) = run_with_a_function(SLOW);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let log = fs::read_to_string(place.path().join("log.txt")).unwrap();
    assert!(log.lines().count() >= 2 && !log.contains("late"), "{log}");
}

#[test]
fn a_library_that_crashes_while_it_is_imported_is_held_against_no_kernel() {
    if !has_shared_python() {
        return;
    }
    let crash = "import os, threading\nif threading.current_thread() is not threading.main_thread():\n    os.abort()\n";
    let (place, finished) = run_with_a_function(crash);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let timed: Vec<String> = outcomes(&place).into_iter().map(|(_, status, _)| status).collect();
    assert_eq!(timed, ["timed"; 2], "{finished:?}");
}

#[test]
fn ncu_waits_over_kernels_functions_and_the_deep_profile_of_one_phase() {
    if !has_shared_python() {
        return;
    }
    let (place, finished) = run_with_a_function("");
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let run = fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let launched = |job: &PathBuf| {
        let job: Value = serde_json::from_str(&fs::read_to_string(job).unwrap()).unwrap();
        assert_eq!(job["mode"]["mode"], "profile", "{job}");
        let kernels = job["kernels"].as_array().unwrap().iter();
        kernels.map(|kernel| kernel["variant"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (beginning, variant) in [("launched-", "copy_honest"), ("called-", "other"), ("deep-early", "copy_honest")] {
        let jobs = waiting(&run, beginning);
        assert_eq!(jobs.iter().map(launched).collect::<Vec<_>>(), [[variant]], "{beginning} {jobs:?}");
    }
    let deep = fs::read_to_string(run.join("deep_profiles.jsonl")).unwrap();
    assert!(deep.contains("deep-early-1.ncu-rep"), "{deep}");
}

/// Two processes import modules before any call: one checks and times, the other re-times the selected variant.
#[test]
fn modules_load_ahead_in_a_fresh_process_for_each_measurement() {
    if !has_shared_python() {
        return;
    }
    let (place, variables) = machine_of_functions(&["honest", "returned"]);
    let logging = "import os\n\n\ndef log(what):\n    with open(os.path.join(os.path.dirname(__file__), \"log.txt\"), \"a\") as file:\n        \
                   file.write(f\"{os.getpid()} {what}\\n\")\n\n\nlog(\"imported\")\n";
    let functions = FUNCTIONS.replace("def honest(x, y):\n", "def honest(x, y):\n    log(\"called\")\n");
    place.write("functions.py", &format!("{functions}\n{logging}"));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert!(outcomes(&place).iter().all(|(_, status, _)| status == "timed"), "{finished:?}");
    let log = fs::read_to_string(place.path().join("log.txt")).unwrap();
    let lines: Vec<(&str, &str)> = log.lines().map(|line| line.split_once(' ').unwrap()).collect();
    let run = fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    // the job of each process lies at the path of its former pipe
    let jobs =
        ["prestarted-0.json", "prestarted-1.json"].map(|name| fs::read_to_string(run.join("logs").join(name)).unwrap());
    let names = |job: &str| serde_json::from_str::<Value>(job).unwrap()["kernels"].as_array().unwrap().len();
    assert_eq!(jobs.map(|job| names(&job)).into_iter().max(), Some(2), "{log}");
    // and for ncu, which started a program that waited
    let [job] = &waiting(&run, "called-")[..] else { panic!("{log}") };
    let profiled = fs::read_to_string(job).unwrap();
    assert_eq!(
        (names(&profiled), serde_json::from_str::<Value>(&profiled).unwrap()["mode"]["mode"].as_str()),
        (2, Some("profile"))
    );
    let callers: BTreeSet<&str> =
        lines.iter().filter(|(_, what)| *what == "called").map(|(process, _)| *process).collect();
    let imports = lines.iter().filter(|(process, what)| *what == "imported" && callers.contains(process)).count();
    assert!(callers.len() >= 2 && imports == callers.len(), "each measurement has its own process: {log}");
}

/// Functions share a process under ncu, and with it what one leaves for another.
#[test]
fn each_candidate_is_profiled_on_inputs_that_no_other_function_had() {
    if !has_shared_python() {
        return;
    }
    let (place, variables) = machine_of_functions(&["honest", "returned"]);
    let log = "import os\n\n\ndef log(name, x):\n    with open(os.path.join(os.path.dirname(__file__), \"log.txt\"), \"a\") as file:\n        \
               file.write(f\"{os.getpid()} {name} {hash(ctypes.string_at(address(x), BYTES))}\\n\")\n";
    let functions = FUNCTIONS
        .replace("def honest(x, y):\n", "def honest(x, y):\n    log(\"honest\", x)\n")
        .replace("def returned(x):\n", "def returned(x):\n    log(\"returned\", x)\n");
    place.write("functions.py", &format!("{functions}\n\n{log}"));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    let log = fs::read_to_string(place.path().join("log.txt")).unwrap();
    let mut processes = BTreeMap::<&str, Vec<(&str, &str)>>::new();
    for line in log.lines() {
        let (process, call) = line.split_once(' ').unwrap();
        processes.entry(process).or_default().push(call.split_once(' ').unwrap());
    }
    // A warm-up call and a profiled one for each; other processes call more often.
    let profiled: Vec<_> = processes.values().filter(|calls| calls.len() == 4).collect();
    assert!(!profiled.is_empty(), "{finished:?}\n{log}");
    for calls in profiled {
        let [(first, _), (_, one), (second, warm), (_, other)] = calls[..] else { panic!("{log}") };
        assert!(first != second && one != other && warm != other && warm != one, "{calls:?}");
    }
}

#[test]
fn a_module_on_the_search_path_of_the_phase_finds_its_neighbours_and_is_an_input() {
    if !has_shared_python() {
        return;
    }
    let (place, variables) = machine_of_functions(&["honest"]);
    // Without `__init__.py`: only the search path makes these folders packages.
    let (queue, rest) = FUNCTIONS.split_once("def honest").unwrap();
    let (honest, _) = rest.split_once("def returned").unwrap();
    place.write("src/mine/queues.py", queue);
    let imports = "from mine.queues import address, queue\nfrom .offset import NONE\nimport sibling\n\n\n";
    place.write(
        "src/mine/ops/copies.py",
        &format!("{imports}def honest{}", honest.replace("address(x))", "address(x) + NONE)")),
    );
    place.write("src/mine/ops/offset.py", "NONE = 0\n");
    place.write("src/mine/ops/sibling.py", "");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let phase = phase.replace("functions.py:honest", "mine.ops.copies:honest");
    place.write("phase.toml", &phase);
    let absent = place.run(&["check", "phase.toml", "--no-build"]);
    assert!(
        absent.status == Some(2) && absent.stderr.contains("`mine.ops.copies`, which does not exist"),
        "{absent:?}"
    );
    place.write("phase.toml", &format!("{phase}[build]\npythonpath = [\"sources\"]\n"));
    let wrong = place.run(&["check", "phase.toml", "--no-build"]);
    assert!(wrong.stderr.contains("`build.pythonpath` has `sources`, which is not a folder"), "{wrong:?}");
    place.write("phase.toml", &format!("{phase}[build]\npythonpath = [\"src\"]\n"));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert!(outcomes(&place).iter().all(|(_, status, _)| status == "timed"), "{finished:?}\n{:?}", outcomes(&place));
    let run = fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let manifest: Value = serde_json::from_str(&fs::read_to_string(run.join("manifest.json")).unwrap()).unwrap();
    for file in ["src/mine/ops/copies.py", "src/mine/queues.py"] {
        assert!(manifest["inputs"][file].is_string(), "{file}: {}", manifest["inputs"]);
    }
    assert_eq!(manifest["settings"]["build.pythonpath"], "[\"src\"]");
}

/// A double of nvcc that builds host code without CUDA.
const HOST_COMPILER: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 'Cuda compilation tools, release 13.0, V13.0.88' && exit
[ "$1" = -shared ] || exit 1
while [ $# -gt 0 ]; do
    case "$1" in
        -o) out=$2; shift 2 ;;
        -MF) rule=$2; shift 2 ;;
        -L* | -l* | -D*) flags="$flags $1"; shift ;;
        *.cu) source=$1; shift ;;
        *) shift ;;
    esac
done
echo "object: $source launcher.cu" > "$rule"
exec cc -shared -fPIC -x c++ "$source" -x none -o "$out" $flags -lstdc++
"#;

/// Host code with a fat binary, as nvcc embeds one.
const LAUNCHER: &str = r#"
#include <cstring>
asm(".section .nv_fatbin,\"a\"\n.incbin \"fat.bin\"\n.previous\n");
extern "C" int doubleWork(unsigned long long to, unsigned long long from, unsigned long bytes);
namespace lib {
template <int MODE> int launch(const unsigned short* x, unsigned short* y, int n, CUstream_st* stream) {
    if (MODE == HONEST) return doubleWork((unsigned long long)y, (unsigned long long)x, 2 * n);
    if (MODE == 2) std::memcpy(y, x, 2 * n);
    return MODE == 3 ? 3 : 0;
}
}
"#;

/// A fat binary for compute capability 9.0 with this machine code.
fn fat_binary(code: &[u8]) -> Vec<u8> {
    let size = code.len().next_multiple_of(8);
    let mut entry = vec![0; 64];
    entry[0..8].copy_from_slice(&[2, 0, 1, 1, 64, 0, 0, 0]);
    entry[8..16].copy_from_slice(&(size as u64).to_le_bytes());
    entry[16..20].copy_from_slice(&(code.len() as u32).to_le_bytes());
    entry[28..32].copy_from_slice(&90_u32.to_le_bytes());
    entry.extend_from_slice(code);
    entry.resize(64 + size, 0);
    let header = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0].into_iter().chain((entry.len() as u64).to_le_bytes());
    header.chain(entry).collect()
}

#[test]
fn host_code_is_built_called_timed_and_verified() {
    let (place, mut variables) = machine();
    let nvcc = place.write("bin/nvcc", HOST_COMPILER);
    fs::set_permissions(nvcc, fs::Permissions::from_mode(0o755)).unwrap();
    let kernel = ".section .text.onesweep,\"ax\"\n.zero 16\n\
        .section .nv.info.onesweep\n.byte 4, 0x2f\n.short 8\n.long 0, 32\n";
    let assembly = place.write("kernel.s", kernel);
    let object = place.path().join("kernel.o");
    assert!(Command::new("cc").arg("-c").arg(&assembly).arg("-o").arg(&object).status().unwrap().success());
    fs::write(place.path().join("fat.bin"), fat_binary(&fs::read(object).unwrap())).unwrap();
    place.write("launcher.cu", LAUNCHER);
    let (workload, _) = include_str!("../data/copy.toml").split_once("[kernel]").unwrap();
    let workload = workload.replace("seeds = [0, 1]", "seeds = [0, 1]\nlaws = [\"declared\"]");
    let driver = place.path().join("driver");
    let kernel = format!(
        "[kernel]\nhost = \"launcher.cu:lib::launch<{{{{ MODE }}}}>\"\nargs = [\"x\", \"y\", \"S\"]\n\
         defines = [\"HONEST\"]\nflags = [\"-L{}\", \"-l:libcuda.so.1\"]\n[sweep]\nMODE = [1, 2, 3]\nHONEST = [1]\n",
        driver.display()
    );
    let gates = "[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 1000\"\n[[gate]]\nname = \"resources\"\nrequire = \"registers == 32 and spills == 0\"\n";
    place.write("phase.toml", &format!("{workload}{kernel}{gates}[bench]\nrounds = 10\n"));
    let report = place.path().join("counted.ncu-rep");
    fs::write(&report, report_of_variants(&[("onesweep", "MODE=1,HONEST=1", 10_000.0)])).unwrap();
    variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    let checked = Finished::of(place.ncugate(&["check", "phase.toml", "--arch", "sm_90"]).envs(variables.clone()));
    assert_eq!(checked.status, Some(0), "{checked:?}");
    assert!(checked.stdout.contains("3 of 3 candidates build for sm_90"), "{checked:?}");
    assert!(checked.stdout.contains("resources: which of its kernels a host function launches"), "{checked:?}");
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    // ncu's report has no resources; they come from the machine code of the kernel that it names.
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let page = fs::read_dir(place.path().join("reports/copy")).unwrap().next().unwrap().unwrap().path();
    let page = fs::read_to_string(page.join("report.html")).unwrap();
    assert!(page.contains("it is a function or a command, and only kernels have one"));
    let outcomes = outcomes(&place);
    assert_eq!(outcomes.len(), 3);
    for (variant, status, reason) in &outcomes {
        let expected = match variant.as_str() {
            "MODE=1,HONEST=1" => ("timed", ""),
            "MODE=2,HONEST=1" => ("failed", "its launches cannot be recorded for the timing"),
            _ => ("failed", "it returned 3"),
        };
        assert!(status == expected.0 && reason.contains(expected.1), "{variant}: {status}, {reason}\n{finished:?}");
    }
    let run = fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let lines = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(run.join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let build = &lines("builds.jsonl")[0]["outcome"];
    assert_eq!((&build["status"], &build["resources"]["registers"]), (&"built".into(), &32.into()), "{build}");
    assert_eq!(build["entries"][0]["entry"], "onesweep");
    let profiled = lines("profiles.jsonl");
    assert!(profiled.iter().any(|record| record["outcome"]["status"] == "profiled"), "{profiled:?}\n{finished:?}");
    let manifest: Value = serde_json::from_str(&fs::read_to_string(run.join("manifest.json")).unwrap()).unwrap();
    assert!(manifest["inputs"]["launcher.cu"].is_string(), "{manifest}");
}

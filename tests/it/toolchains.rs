//! A run that compares toolchains, with the doubles of `live`.

use crate::command::{Finished, Place};
use crate::kernels::nvcc;
use crate::live::machine_of_kernels;
use crate::stored::report_of_variants;
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

/// A run with `[toolchains]`, each other one than the first a script around the double of nvcc: its exit and its results.
fn run(others: &[(&str, &str)]) -> (Finished, Value) {
    let (place, mut variables) = machine_of_kernels(&["copy_honest"], "rounds = 60");
    let ids = ["copy_honest", "copy_honest,toolchain=other"];
    let report = place.path().join("counted.ncu-rep");
    fs::write(&report, report_of_variants(&ids.map(|id| ("copy_honest", id, 10_000.0)))).unwrap();
    variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    let source = fs::read_to_string(place.path().join("copy.cu")).unwrap();
    place.write("other.cu", &source.replacen(".byte 0\n", ".byte 7\n", 1).replacen("long 0, 32", "long 0, 40", 1));
    let mut table = "[toolchains]\nold = { nvcc = \"bin/nvcc\" }\n".to_owned();
    for (name, line) in others {
        let script = place.write_program(&format!("bin/{name}"), &format!("#!/bin/sh\n{line}\nexec bin/nvcc \"$@\"\n"));
        table += &format!("{name} = {{ nvcc = \"{}\" }}\n", script.display());
    }
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("phase.toml", &format!("{phase}{table}"));
    finished(&place, variables)
}

fn finished(place: &Place, variables: Vec<(&'static str, String)>) -> (Finished, Value) {
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu", "--format", "json"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    let results = serde_json::from_str(&finished.stdout).unwrap_or_default();
    (finished, results)
}

/// Compiles another source: with other code and more registers.
const OTHER: &str = "case \"$*\" in *copy.cu*) set -- $(echo \"$@\" | sed 's/[^ ]*copy.cu/other.cu/') ;; esac";
/// Compiles everything but the kernel.
const BROKEN: &str = "case \"$*\" in --version) ;; *copy.cu*) echo 'error: internal' >&2; exit 1 ;; *) exit 0 ;; esac";

#[test]
fn the_same_toolchain_twice_changes_nothing_and_another_one_is_timed_in_the_same_rounds() {
    let (finished, results) = run(&[("same", ""), ("other", OTHER)]);
    assert_eq!((finished.status, &results["verdict"]), (Some(0), &json!("pass")), "{finished:?}");
    let rows = results["toolchains"].as_array().unwrap();
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("variant"), ["copy_honest", "copy_honest"]);
    assert_eq!(of("toolchain"), ["other", "same"]);
    assert_eq!(of("change"), ["equal", "same_code"], "{rows:?}");
    assert_eq!(of("registers"), [json!([32, 40]), json!([32, 32])]);
    assert!(rows[0]["latency"]["ratio"].is_array() && rows[1]["latency"].is_null(), "equal code is timed once");
}

#[test]
fn a_toolchain_that_does_not_build_a_correct_kernel_fails_the_run() {
    let (finished, results) = run(&[("broken", BROKEN)]);
    assert_eq!(finished.status, Some(1), "{finished:?}");
    assert_eq!(results["toolchains"][0]["change"], "wrong");
    let reason = results["reason"].as_str().unwrap();
    assert!(
        reason.contains("toolchain 'broken': copy_honest is correct by 'old', but here: does not build"),
        "{reason}"
    );
}

#[test]
fn an_absent_compiler_is_named_by_its_key() {
    let (place, variables) = machine_of_kernels(&["copy_honest"], "rounds = 60");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let table = "[toolchains]\nold = { nvcc = \"bin/nvcc\" }\ncuda130 = { nvcc = \"/nowhere/nvcc\" }\n";
    place.write("phase.toml", &format!("{phase}{table}"));
    let (finished, _) = finished(&place, variables);
    assert_eq!(finished.status, Some(3), "{finished:?}");
    assert!(finished.stderr.contains("`toolchains.cuda130.nvcc`: nvcc not found"), "{}", finished.stderr);
}

/// A kernel with more live values than 24 registers hold.
const LIVE: &str = r#"
extern "C" __global__ void copy_honest(const float* x, float* y) {
    float a[48];
#pragma unroll
    for (int i = 0; i < 48; ++i) a[i] = x[i * 128 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 48; ++i) y[i * 128 + threadIdx.x] = a[47 - i] * a[i];
}
"#;

#[test]
fn a_planted_loss_is_named_with_registers_spills_and_its_line() {
    let Some(nvcc) = nvcc() else { return };
    let (place, mut variables) = machine_of_kernels(&["copy_honest"], "rounds = 60");
    let ids = ["copy_honest", "copy_honest,toolchain=capped"];
    let report = place.path().join("counted.ncu-rep");
    fs::write(&report, report_of_variants(&ids.map(|id| ("copy_honest", id, 10_000.0)))).unwrap();
    variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    place.write("copy.cu", LIVE);
    let (compiler, line) = (nvcc.path().display(), "exec {} \"$@\" -maxrregcount=24");
    let script = format!("#!/bin/sh\n{}\n", line.replace("{}", &compiler.to_string()));
    let capped = place.write_program("bin/capped", &script);
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let phase = phase.replace("entry = \"copy\"", "entry = \"copy\"\nflags = [\"-lineinfo\"]");
    let table = format!("old = {{ nvcc = \"{compiler}\" }}\ncapped = {{ nvcc = \"{}\" }}\n", capped.display());
    place.write("phase.toml", &format!("{phase}[toolchains]\n{table}"));
    let (finished, results) = finished(&place, variables);
    let row = &results["toolchains"][0];
    let [registers, spills] = ["registers", "spills"].map(|key| [0, 1].map(|at| row[key][at].as_u64().unwrap_or(99)));
    assert!(registers[0] > 24 && registers[1] <= 24 && spills[0] == 0 && spills[1] > 0, "{finished:?}");
    assert!(row["grown"]["place"].as_str().is_some_and(|place| place.starts_with("copy.cu:")), "{row}");
    assert_eq!(row["toolchain"], "capped");
}

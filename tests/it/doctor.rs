//! The checks of `doctor`, on doubles of driver and ncu.

use crate::command::{Finished, Place, root};
use crate::live::{machine, machine_of_kernels, machine_that_counts};
use serde_json::Value;
use std::time::Duration;

/// The check that counts one counter; `None` if `doctor` did not make it.
fn tried(place: &Place, variables: &[(&'static str, String)], args: &[&str]) -> (Option<i32>, Option<Value>) {
    let mut command = place.ncugate(&[&["doctor", "--format", "json"][..], args].concat());
    let finished = Finished::of(command.envs(variables.to_vec()).timeout(Duration::from_secs(60)));
    let said: Value = serde_json::from_str(&finished.stdout).unwrap();
    (finished.status, said["checks"].as_array().unwrap().iter().find(|check| check["name"] == "one counter").cloned())
}

#[test]
fn a_counter_is_counted_or_the_reason_is_printed() {
    let (place, mut variables) = machine();
    assert!(tried(&place, &variables, &[]).1.is_none());
    // a report without a launch does not count
    let (status, check) = tried(&place, &variables, &["--probe"]);
    let check = check.unwrap();
    assert_eq!((status, check["status"].as_str()), (Some(3), Some("problem")), "{check}");
    assert!(check["found"].as_str().unwrap().contains("no launch"), "{check}");

    let packed = std::fs::read(root().join("tests/data/full1.ncu-rep.zst")).unwrap();
    let report = place.path().join("full.ncu-rep");
    std::fs::write(&report, zstd::decode_all(&packed[..]).unwrap()).unwrap();
    variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    let (_, check) = tried(&place, &variables, &["--probe"]);
    let check = check.unwrap();
    assert_eq!(check["status"], "ok", "{check}");
    assert!(check["found"].as_str().unwrap().contains("instructions of a test kernel"), "{check}");

    variables.push(("NCUGATE_DOUBLE_SCENARIO", "permission".to_owned()));
    let (status, check) = tried(&place, &variables, &["--probe"]);
    let check = check.unwrap();
    assert_eq!((status, check["status"].as_str()), (Some(3), Some("problem")), "{check}");
    assert!(check["found"].as_str().unwrap().contains("NVreg_RestrictProfilingToAdminUsers=0"), "{check}");
}

#[test]
fn a_machine_with_cuda_12_measures_and_is_told_of_what_others_report() {
    let (place, mut variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    let nvcc = std::fs::read_to_string(place.path().join("bin/nvcc")).unwrap();
    place.write_program("bin/nvcc", &nvcc.replace("release 13.0, V13.0.88", "release 12.0, V12.0.140"));
    variables.push(("NCUGATE_DOUBLE_CUDA", "12000".to_owned()));
    variables.push(("NCUGATE_DOUBLE_VERSION", "2022.4.1.0".to_owned()));
    let run = |variables: &[(&'static str, String)], args: &[&str]| {
        Finished::of(place.ncugate(args).envs(variables.to_vec()).timeout(Duration::from_secs(100)))
    };
    let measured = run(&variables, &["run", "phase.toml", "--source", "gpu"]);
    assert_eq!(measured.status, Some(0), "{measured:?}");
    let said = run(&variables, &["doctor"]);
    assert!(
        said.stdout.contains("nvcc 12.0, driver up to CUDA 12.0") && !said.stdout.contains("others report"),
        "{said:?}"
    );
    assert!(said.stdout.contains("For an issue: ncugate 0."), "{said:?}");
    variables.push(("NCUGATE_DOUBLE_CAPABILITY", "10.0".to_owned()));
    variables.push(("NCUGATE_DOUBLE_VERSION", "2026.2.1.0".to_owned()));
    let said = run(&variables, &["doctor", "--format", "json"]);
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    let check = said["checks"].as_array().unwrap().iter().find(|check| check["name"] == "ncu and GPU").unwrap();
    assert_eq!(check["status"], "warning", "{check}");
    assert!(said["fingerprint"].as_str().unwrap().contains("(10.0, "), "{said}");
}

#[test]
fn a_broken_driver_is_in_nobodys_way_who_needs_no_gpu() {
    let (place, mut variables) = machine_of_kernels(&["copy_honest"], "rounds = 5");
    let run = |variables: &[(&'static str, String)], args: &[&str]| {
        Finished::of(place.ncugate(args).envs(variables.to_vec()).timeout(Duration::from_secs(60)))
    };
    let whole = run(&variables, &["check", "phase.toml", "--arch", "sm_90"]);
    variables.push(("NCUGATE_DOUBLE_INIT", "999".to_owned()));
    let broken = run(&variables, &["check", "phase.toml", "--arch", "sm_90"]);
    assert_eq!((broken.status, broken.stdout), (whole.status, whole.stdout), "{}", broken.stderr);
    assert_ne!(whole.status, Some(3));
    let measured = run(&variables, &["run", "phase.toml", "--source", "gpu"]);
    assert_eq!(measured.status, Some(3), "{measured:?}");
    assert!(measured.stderr.contains("cuInit"), "{}", measured.stderr);
}

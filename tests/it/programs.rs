//! `tools profile`: any program under the double of ncu.

use crate::captures;
use crate::command::{Finished, Place};
use crate::live::machine;
use std::time::Duration;

/// A machine whose ncu gives a report of several launches.
fn machine_with_report() -> (Place, Vec<(&'static str, String)>) {
    let (place, mut variables) = machine();
    variables.push(("NCUGATE_DOUBLE_REPORT", place.path().join("given.ncu-rep").display().to_string()));
    let report = zstd::decode_all(std::fs::File::open(captures::data("g12.ncu-rep.zst")).unwrap()).unwrap();
    std::fs::write(place.path().join("given.ncu-rep"), report).unwrap();
    (place, variables)
}

fn profile(
    place: &Place,
    variables: &[(&'static str, String)],
    more: &[(&'static str, &str)],
    args: &[&str],
) -> Finished {
    let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let mut command = place.ncugate(&[&["tools", "profile"], args].concat());
    Finished::of(command.envs(variables.iter().cloned().chain(more)).timeout(Duration::from_secs(60)))
}

fn profiled(more: &[(&'static str, &str)], args: &[&str]) -> (Finished, bool) {
    let (place, variables) = machine_with_report();
    let finished = profile(&place, &variables, more, &[&["-o", "out.ncu-rep"], args].concat());
    let is_there = place.path().join("out.ncu-rep").exists();
    (finished, is_there)
}

#[test]
fn a_program_is_run_once_and_its_report_is_kept() {
    let (finished, is_there) = profiled(&[], &["--range", "ncugate", "--metric", "duration", "--", "true"]);
    assert_eq!((finished.status, is_there), (Some(0), true), "{finished:?}");
    assert_eq!(finished.stdout.trim(), "out.ncu-rep");
}

#[test]
fn a_program_without_a_report_is_an_error_with_the_reason() {
    for (variables, args, status, said) in [
        (&[("NCUGATE_DOUBLE_SCENARIO", "permission")][..], &["--", "true"][..], 3, "permission"),
        (&[("NCUGATE_DOUBLE_SCENARIO", "no-kernels")], &["--", "true"], 3, "no report: "),
        (&[], &["--", "sh", "-c", "echo my own error >&2; exit 7"], 3, "my own error"),
        (&[], &["--metric", "achieved_ocupancy", "--", "true"], 2, "did you mean `achieved_occupancy`?"),
        (&[], &["--metric", "latency_p50", "--", "true"], 2, "latency_p50"),
        (&[], &[], 2, "PROGRAM"),
    ] {
        let (finished, is_there) = profiled(variables, args);
        assert_eq!((finished.status, is_there), (Some(status), false), "{finished:?}");
        assert!(finished.stderr.contains(said), "{said}: {finished:?}");
    }
}

/// As ncu does, the double writes the report of a program that failed after its launches.
const LAUNCHED: (&str, &str) = ("NCUGATE_DOUBLE_LAUNCHED", "1");

#[test]
fn the_report_of_a_program_that_failed_is_kept_with_status_3() {
    let hang = ("NCUGATE_DOUBLE_SCENARIO", "hang");
    for (variables, args, said) in [
        (&[LAUNCHED][..], &["--", "sh", "-c", "exit 7"][..], "the profiled program exited with status 7; "),
        (&[LAUNCHED], &["--", "sh", "-c", "exit 6"], "exited with status 6 (or SIGABRT); "),
        (&[LAUNCHED, hang], &["--timeout", "1", "--", "true"], "exceeded its time limit"),
    ] {
        let (place, machine) = machine_with_report();
        let read = |name: &str| std::fs::read(place.path().join(name)).unwrap();
        let args = [&["-o", "out.ncu-rep"], args].concat();
        let finished = profile(&place, &machine, variables, &args);
        assert_eq!(finished.status, Some(3), "{finished:?}");
        assert!(finished.stderr.contains(said), "{said}: {finished:?}");
        assert!(finished.stderr.contains("the report has 12 launches until then: out.ncu-rep"), "{finished:?}");
        assert_eq!(read("out.ncu-rep"), read("given.ncu-rep"));
        // the next failure replaces nothing
        place.write("out.ncu-rep", "mine");
        let finished = profile(&place, &machine, variables, &args);
        assert!(finished.status == Some(3) && finished.stderr.contains("until then: out-1.ncu-rep"), "{finished:?}");
        assert_eq!((read("out.ncu-rep"), read("out-1.ncu-rep")), (b"mine".to_vec(), read("given.ncu-rep")));
    }
}

#[test]
fn a_damaged_report_replaces_no_report() {
    for (more, program, said) in
        [(&[LAUNCHED][..], "exit 7", "exited with status 7"), (&[], "exit 0", "the report cannot be read")]
    {
        let (place, machine) = machine_with_report();
        let given = place.path().join("given.ncu-rep");
        let bytes = std::fs::read(&given).unwrap();
        std::fs::write(&given, &bytes[..bytes.len() / 2]).unwrap();
        place.write("out.ncu-rep", "mine");
        let finished = profile(&place, &machine, more, &["-o", "out.ncu-rep", "--", "sh", "-c", program]);
        assert_eq!(finished.status, Some(3), "{finished:?}");
        assert!(finished.stderr.contains(said), "{finished:?}");
        assert!(finished.stderr.contains("ncu's file is kept as out-1.ncu-rep"), "{finished:?}");
        assert_eq!(std::fs::read(place.path().join("out.ncu-rep")).unwrap(), b"mine");
        assert_eq!(std::fs::read(place.path().join("out-1.ncu-rep")).unwrap(), std::fs::read(&given).unwrap());
    }
}

#[test]
fn a_report_that_cannot_be_written_is_not_lost() {
    let (place, machine) = machine_with_report();
    let program = "touch started; rmdir sub; touch sub";
    place.write("taken", "mine");
    std::fs::create_dir(place.path().join("sub")).unwrap();
    for (output, status) in [("taken/out.ncu-rep", 3), (".", 2)] {
        let finished = profile(&place, &machine, &[], &["-o", output, "--", "sh", "-c", program]);
        assert_eq!(finished.status, Some(status), "{finished:?}");
        assert!(!place.path().join("started").exists(), "before the program starts: {finished:?}");
    }
    let finished = profile(&place, &machine, &[], &["-o", "sub/out.ncu-rep", "--", "sh", "-c", program]);
    assert_eq!(finished.status, Some(3), "{finished:?}");
    let kept = finished.stderr.split("ncu's report is kept as ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(std::fs::read(kept).unwrap(), std::fs::read(place.path().join("given.ncu-rep")).unwrap());
    std::fs::remove_dir_all(std::path::Path::new(kept).parent().unwrap()).unwrap();
}

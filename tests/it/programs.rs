//! `tools profile`: any program under the double of ncu.

use crate::captures;
use crate::command::Finished;
use crate::live::machine;
use std::time::Duration;

fn profiled(more: &[(&'static str, &str)], args: &[&str]) -> (Finished, bool) {
    let (place, mut variables) = machine();
    variables.push(("NCUGATE_DOUBLE_REPORT", place.path().join("given.ncu-rep").display().to_string()));
    let report = zstd::decode_all(std::fs::File::open(captures::data("g12.ncu-rep.zst")).unwrap()).unwrap();
    std::fs::write(place.path().join("given.ncu-rep"), report).unwrap();
    variables.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let all = [&["tools", "profile", "-o", "out.ncu-rep"], args].concat();
    let finished = Finished::of(place.ncugate(&all).envs(variables).timeout(Duration::from_secs(60)));
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

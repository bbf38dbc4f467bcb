//! The number of replay passes is measured while the variants of a first run build, and is cached for the next run.

use crate::command::{Finished, Place};
use crate::live::machine_that_counts;
use crate::stored::report_of_variants;
use std::fs;
use std::time::Duration;

/// Enough variants for a second start of ncu to cost less than the saved replays.
const VARIANTS: usize = 100;

/// Report names of all ncu processes that a fresh run starts.
fn sessions(place: &Place, variables: &[(&'static str, String)]) -> Vec<String> {
    let starts = place.path().join("starts");
    let _ = fs::remove_file(&starts);
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu", "--fresh", "--no-share"]);
    command.envs(variables.to_vec()).env("NCUGATE_DOUBLE_STARTS", &starts).timeout(Duration::from_secs(200));
    let finished = Finished::of(&mut command);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let text = fs::read_to_string(&starts).unwrap();
    let started = text.lines().filter(|line| line.starts_with("start "));
    started.map(|line| line.rsplit('/').next().unwrap().to_owned()).collect()
}

#[test]
fn a_first_run_measures_replay_passes_while_variants_build() {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 10");
    let text = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (head, tail) = text.split_once("[[variant]]").unwrap();
    let (_, gates) = tail.split_once("[[gate]]").unwrap();
    let kernel = head.replace("\"copy\"\ndefines = [", "\"copy_honest\"\ndefines = [\"PAD\", ");
    let pads: Vec<String> = (1..=VARIANTS).map(|pad| pad.to_string()).collect();
    let space = format!("[sweep]\nTHREADS = [128]\nPAD = [{}]\n", pads.join(", "));
    place.write("phase.toml", &format!("{kernel}{space}[[gate]]{gates}"));
    let names: Vec<String> = pads.iter().map(|pad| format!("THREADS=128,PAD={pad}")).collect();
    let launches: Vec<(&str, &str, f64)> = names.iter().map(|name| ("copy_honest", name.as_str(), 10_000.0)).collect();
    fs::write(place.path().join("counted.ncu-rep"), report_of_variants(&launches)).unwrap();
    let first = sessions(&place, &variables);
    let (early, late): (Vec<&String>, Vec<&String>) =
        first.iter().filter(|name| name.contains("probe")).partition(|name| name.starts_with("early-"));
    assert!(!early.is_empty() && late.is_empty(), "{first:?}");
    let second = sessions(&place, &variables);
    assert!(!second.is_empty() && second.iter().all(|name| !name.contains("probe")), "{second:?}");
    assert_eq!(second.len(), first.len() - early.len(), "{first:?} {second:?}");
}

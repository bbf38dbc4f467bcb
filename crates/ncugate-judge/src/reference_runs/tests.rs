//! Promotion and lookup.

use super::*;
use crate::store::{Fingerprint, Machine, Manifest, RunState};
use jiff::Timestamp;
use ncugate_model::{Better, Cell, ComputeCapability, Gpu, Quantities, ShapeName, VariantId};
use ncugate_phase::config::Objective;
use std::collections::BTreeMap;

const MOMENT: Timestamp = Timestamp::UNIX_EPOCH;

fn conditions() -> Conditions {
    let gpu = Gpu {
        name: "NVIDIA H200".to_owned(),
        compute_capability: ComputeCapability::new(9, 0),
        sms: 132,
        memory: Some(1 << 37),
        shared_memory_optin: Some(232_448),
    };
    Conditions {
        fingerprint: Fingerprint {
            gpu: Some(gpu),
            driver: Some("580".to_owned()),
            ncu: Some("2025".to_owned()),
            nvcc: Some("13.0".to_owned()),
            machine: Machine { gpu: Some("a".to_owned()), host: Some("h".to_owned()), power_limit_w: Some(700) },
            ..Fingerprint::default()
        },
        problem_sha256: "p".to_owned(),
        min_sample_us: 200,
        max_launches: 50,
        buffer_sets: 4,
        l2: ncugate_phase::config::L2State::Rotate,
        software: BTreeMap::new(),
    }
}

fn entry(run: &str, latency: f64, conditions: &Conditions) -> LeaderboardEntry {
    let (variant, shape) = (VariantId("v".into()), ShapeName("s".into()));
    let mut quantities = Quantities::new([(variant.clone(), shape.clone())]);
    quantities.set_column("latency_p50", vec![Cell::Value(latency)]);
    quantities.set_column("dram_bytes", vec![Cell::Missing("not profiled".into())]);
    quantities.set_samples(0, [latency; 6].as_slice().into());
    let phase = ncugate_fixtures::phase();
    let fresh = Manifest::new(&phase, conditions.fingerprint.clone(), MOMENT);
    let manifest = Manifest { run: run.to_owned(), state: RunState::Complete, ..fresh };
    let objective = Objective { metric: "latency_p50".to_owned(), better: Better::Lower, shape };
    let subject = EntrySource {
        manifest: &manifest,
        conditions,
        objective: &objective,
        variant: &variant,
        value: latency,
        quantities: &quantities,
    };
    LeaderboardEntry::new(BEST, subject)
}

fn board() -> (tempfile::TempDir, Leaderboard) {
    let folder = tempfile::tempdir().unwrap();
    let board = Leaderboard::open(folder.path(), "p").unwrap();
    (folder, board)
}

#[test]
fn an_entry_returns_measured_values_and_names_missing_ones() {
    let entry = entry("r", 10.0, &conditions());
    let table = entry.quantities();
    let (variant, shape) = (VariantId("v".into()), ShapeName("s".into()));
    assert_eq!(table.read(&variant, &shape, "latency_p50"), Cell::Value(10.0));
    assert_eq!(table.samples(&variant, &shape).unwrap().len(), 6);
    assert_eq!(table.read(&variant, &shape, "dram_bytes").value(), None);
}

#[test]
fn every_difference_is_named_and_the_unknown_is_unlike() {
    let ours = conditions();
    assert!(ours.differences(&ours).is_empty());
    let mut theirs = conditions();
    theirs.fingerprint.nvcc = Some("12.9".to_owned());
    theirs.buffer_sets = 1;
    theirs.problem_sha256 = "q".to_owned();
    assert_eq!(
        ours.differences(&theirs),
        ["nvcc: 13.0 now, 12.9 then", "sets of buffers: 4 now, 1 then", "the workload (shapes, buffers or scalars)",]
    );
    let mut unknown = conditions();
    unknown.fingerprint.gpu = None;
    assert_eq!(unknown.differences(&unknown), ["GPU: unknown"]);
}

#[test]
fn each_card_has_its_own_best() {
    let (folder, mut board) = board();
    let (ours, mut theirs) = (conditions(), conditions());
    theirs.fingerprint.driver = Some("581".to_owned());
    board.append(entry("ours", 10.0, &ours)).unwrap();
    board.append(entry("theirs", 5.0, &theirs)).unwrap();
    let read = Leaderboard::open(folder.path(), "p").unwrap();
    assert_eq!(read.entries(), board.entries());
    assert!(matches!(read.find(BEST, &ours), Lookup::Alike(e) if e.run == "ours"));
    assert_eq!(read.find("release", &ours), Lookup::Absent);
    let mut third = conditions();
    third.fingerprint.ncu = None;
    assert!(matches!(read.find(BEST, &third), Lookup::Unlike(e, _) if e.run == "theirs"));
    assert_eq!(read.present().len(), 2);
}

#[test]
fn a_better_run_replaces_a_worse_one_is_refused() {
    let (_folder, mut board) = board();
    let c = conditions();
    let settle = |board: &mut Leaderboard, run, latency, worse| {
        Promotion::new(board, entry(run, latency, &c)).settle(board, worse, MOMENT).unwrap()
    };
    assert_eq!(settle(&mut board, "a", 10.0, RegressionPolicy::Refuse), None);
    assert_eq!(settle(&mut board, "b", 9.0, RegressionPolicy::Refuse), None);
    assert!(matches!(settle(&mut board, "c", 9.5, RegressionPolicy::Refuse), Some(Refusal::Worse { .. })));
    assert!(matches!(settle(&mut board, "b", 9.0, RegressionPolicy::Accept), Some(Refusal::Already { .. })));
    assert_eq!(board.entries().len(), 2);
    assert_eq!(settle(&mut board, "c", 9.5, RegressionPolicy::Accept), None);
    assert!(board.entries()[2].accepted_worse);
    assert_eq!(board.present().len(), 1);
}

/// An entry with known machine code.
fn coded(run: &str, latency: f64, code: &str) -> LeaderboardEntry {
    let mut entry = entry(run, latency, &conditions());
    entry.latencies.iter_mut().for_each(|latency| latency.code = Some(code.to_owned()));
    entry
}

#[test]
fn the_best_of_a_kernel_measured_often_is_its_median_and_not_its_luckiest_run() {
    let (_folder, mut board) = board();
    let c = conditions();
    let settle = |board: &mut Leaderboard, entry| {
        Promotion::new(board, entry).settle(board, RegressionPolicy::Refuse, MOMENT).unwrap()
    };
    for (run, latency) in [("a", 10.0), ("b", 9.8), ("c", 10.1), ("d", 9.9), ("e", 10.2)] {
        assert_eq!(settle(&mut board, coded(run, latency, "k1")), None, "{run} is another measurement of the same");
    }
    let best = |board: &Leaderboard| match board.standing(BEST, &c) {
        Lookup::Alike(entry) => entry.objective.value,
        Lookup::Unlike(..) | Lookup::Absent => f64::NAN,
    };
    assert_eq!(best(&board), 10.0);
    // other machine code is compared with that, and starts a new series if it is better
    assert!(matches!(settle(&mut board, coded("f", 10.05, "k2")), Some(Refusal::Worse { .. })));
    assert_eq!(settle(&mut board, coded("g", 9.0, "k2")), None);
    assert_eq!(best(&board), 9.0);
}

#[test]
fn another_gpu_host_power_limit_or_software_is_another_condition() {
    type Change = fn(&mut Conditions);
    let changes: [(&str, Change); 4] = [
        ("GPU (hash of its UUID)", |c| c.fingerprint.machine.gpu = Some("b".to_owned())),
        ("host", |c| c.fingerprint.machine.host = None),
        ("power limit", |c| c.fingerprint.machine.power_limit_w = Some(600)),
        ("torch of 'sdpa'", |c| {
            c.software.entry("sdpa".to_owned()).or_default().insert("torch".to_owned(), "2.10".to_owned());
        }),
    ];
    let mut ours = conditions();
    ours.software.entry("sdpa".to_owned()).or_default().insert("torch".to_owned(), "2.11".to_owned());
    for (what, change) in changes {
        let mut theirs = ours.clone();
        change(&mut theirs);
        let found = ours.differences(&theirs);
        assert!(found.len() == 1 && found[0].starts_with(what), "{what}: {found:?}");
    }
    assert!(
        ours.is_same_gpu(&ours)
            && !Conditions { fingerprint: Fingerprint::default(), ..conditions() }.is_same_gpu(&ours)
    );
}

#[test]
fn a_run_with_another_objective_is_refused() {
    let (_folder, mut board) = board();
    let c = conditions();
    board.append(entry("a", 10.0, &c)).unwrap();
    let mut other = entry("b", 300.0, &c);
    other.objective.metric = "tflops".to_owned();
    other.objective.better = Better::Higher;
    let refusal = Promotion::new(&board, other).refusal();
    assert!(matches!(refusal, Some(Refusal::Objective { .. })), "{refusal:?}");
}

#[test]
fn changes_show_removed_and_added_metrics() {
    let (_folder, mut board) = board();
    let c = conditions();
    board.append(entry("a", 10.0, &c)).unwrap();
    let mut next = entry("b", 9.0, &c);
    next.readings.push(StoredValue { shape: ShapeName("s".into()), metric: "registers".to_owned(), value: 64.0 });
    let promotion = Promotion::new(&board, next);
    let changes: Vec<_> = promotion.changes().into_iter().map(|c| (c.metric, c.before, c.after)).collect();
    assert_eq!(
        changes,
        [("latency_p50".to_owned(), Some(10.0), Some(9.0)), ("registers".to_owned(), None, Some(64.0))]
    );
}

#[test]
fn the_noise_of_a_variant_against_itself_is_how_far_the_ratio_reaches_from_one() {
    let shape = ShapeName("s".into());
    let wiggle = |seed: usize| {
        (0..60).map(move |i| 10.0 * (1.0 + 0.01 * (((i * 23_usize + seed * 7) % 60) as f64 / 29.5 - 1.0)))
    };
    let (a, b): (Vec<f64>, Vec<f64>) = (wiggle(1).collect(), wiggle(2).collect());
    let noise = ShapeNoise::of(&shape, &a, &b).unwrap();
    assert_eq!(noise.rounds, 60);
    assert!((0.1..1.0).contains(&noise.median_pct), "{noise:?}");
    assert!(noise.p90_pct.is_some_and(|p| p > 0.0), "{noise:?}");
    assert_eq!(ShapeNoise::of(&shape, &a, &a).unwrap().median_pct, 0.0);
    assert!(ShapeNoise::of(&shape, &a[..5], &b[..5]).is_err());
}

#[test]
fn a_machine_has_one_calibration() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = conditions();
    other.fingerprint.driver = Some("581".to_owned());
    let calibration = |conditions: &Conditions, median_pct| Calibration {
        conditions: conditions.clone(),
        variant: VariantId("v".into()),
        measured: jiff::Timestamp::UNIX_EPOCH,
        shapes: vec![ShapeNoise { shape: ShapeName("s".into()), rounds: 60, median_pct, p90_pct: None, between: None }],
    };
    let mut book = NoiseBook::open(folder.path(), "p").unwrap();
    assert_eq!(book.find(&conditions()), None);
    for (conditions, pct) in [(conditions(), 3.0), (other.clone(), 1.0), (conditions(), 2.0)] {
        book.keep(calibration(&conditions, pct)).unwrap();
    }
    let read = NoiseBook::open(folder.path(), "p").unwrap();
    let median = |c: &Conditions| read.find(c).unwrap().by_shape().next().unwrap().1.median;
    assert_eq!((median(&conditions()), median(&other)), (0.02, 0.01));
}

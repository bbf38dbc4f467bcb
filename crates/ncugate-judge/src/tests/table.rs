//! From the records of a run to the cells of its table: records that do not count leave no value.

use super::*;
use crate::PhaseRun;
use crate::frame::schema::launches;
use crate::frame::{Ownership, ProfileCounters, TableInputs, quantities};
use ncugate_fixtures::at_root;
use ncugate_model::LatencyOutcome;
use polars::prelude::{
    ChunkFullNull as _, Column, DataFrame, Float64Chunked, IntoColumn, NewChunkedArray, StringChunked, UInt32Chunked,
};

/// The p50 of the first timed variant of a recording at the objective's shape, after a change of its samples.
fn latency(recording: &str, change: impl Fn(&mut Vec<f64>)) -> Cell {
    at_root();
    let PhaseRun { phase, plan, run, .. } = PhaseRun::load(Path::new(recording)).unwrap();
    let mut run = (*run).clone();
    let mut records = run.latencies.iter_mut().filter(|record| record.shape == phase.objective.shape);
    let (variant, samples) = records
        .find_map(|record| match &mut record.outcome {
            LatencyOutcome::Timed { samples, .. } => Some((record.variant.clone(), samples)),
            _ => None,
        })
        .unwrap();
    change(samples);
    let (counted, sms) = (ProfileCounters::default(), run.sms());
    let capability = run.manifest.fingerprint.gpu.as_ref().map(|gpu| gpu.compute_capability);
    let measured = TableInputs { phase: &phase, plan: &plan, run: &run, counted: &counted, capability, sms };
    quantities(&measured, &["latency_p50".to_owned()]).read(&variant, &phase.objective.shape, "latency_p50")
}

fn reason(cell: Cell) -> String {
    cell.known().map_or_else(ToString::to_string, |value| format!("the value {value}"))
}

#[test]
fn a_latency_of_fewer_rounds_than_asked_has_no_value() {
    let recording = "profiles/softmax/h200";
    assert!(latency(recording, |_| {}).value().is_some());
    let short = reason(latency(recording, |samples| samples.truncate(samples.len() - 1)));
    assert!(short.starts_with("it was timed in "), "{short}");
}

#[test]
fn a_latency_faster_than_the_chip_has_no_value() {
    let recording = "profiles/sdpa_fast/h200";
    assert!(latency(recording, |_| {}).value().is_some());
    let fast = reason(latency(recording, |samples| samples.iter_mut().for_each(|us| *us *= 1e-3)));
    assert!(fast.starts_with("faster than the chip's peak"), "{fast}");
}

/// One launch with one counter, in an NVTX range.
fn counted_launch(range: &str, counter: &str, value: f64) -> DataFrame {
    let text =
        |name: &str, value: &str| StringChunked::from_iter_values(name.into(), [value].into_iter()).into_column();
    let columns: Vec<Column> = vec![
        text(launches::REPORT, "core-1.ncu-rep"),
        UInt32Chunked::from_iter_values(launches::LAUNCH.into(), [0].into_iter()).into_column(),
        text(launches::KERNEL, "kernel"),
        StringChunked::full_null(launches::SYMBOL.into(), 1).into_column(),
        text(launches::DEMANGLED, "kernel"),
        text(launches::NVTX, range),
        Float64Chunked::from_iter_values(counter.into(), [value].into_iter()).into_column(),
    ];
    DataFrame::new(1, columns).unwrap()
}

#[test]
fn a_counter_with_an_impossible_value_has_none() {
    let fixture = Fixture::new("");
    let run = crate::static_gates::built_run(&fixture.phase, &fixture.plan, Vec::new());
    let (phase, plan, capability) = (&fixture.phase, &fixture.plan, Some(ComputeCapability::new(9, 0)));
    let of = |percent: f64| {
        let counter = "sm__warps_active.avg.pct_of_peak_sustained_active";
        let report = "core-1.ncu-rep".to_owned();
        let outcome = ncugate_model::ProfileOutcome::Profiled { report };
        let (variant, shape) = (VariantId("flash".into()), shape("large"));
        let profiled = crate::frame::ProfiledCases::of([(&variant, &shape, &outcome)].into_iter(), &[]);
        let counted = counted_launch("flash@large", counter, percent);
        let counted = ProfileCounters::of_launches(&counted, plan, Ownership::Recorded(&profiled)).unwrap();
        let measured = TableInputs { phase, plan, run: &run, counted: &counted, capability, sms: Some(132) };
        quantities(&measured, &["achieved_occupancy".to_owned()]).read(&variant, &shape, "achieved_occupancy")
    };
    assert_eq!(of(50.0).value(), Some(50.0));
    assert!(reason(of(150.0)).contains("150.0 % is outside 0 to 100"), "{}", reason(of(150.0)));
}

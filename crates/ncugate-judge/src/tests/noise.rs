//! Latency gates under noise.

use super::*;
use crate::{InconclusiveKind, StoredRun};

#[test]
fn inside_passes_outside_fails_across_needs_more_rounds() {
    let limit = |factor: f64| {
        let require = format!("latency_p50 <= {factor} * baseline.latency_p50");
        let mut fixture = Fixture::new(&gate(&require));
        fixture.time(0.02, |v, _| if v == 4 { 10.0 } else { 10.0 + v as f64 });
        fixture.first()
    };
    assert_eq!(limit(1.1).verdict, PASS);
    assert_eq!(limit(0.9).verdict, FAIL);
    let across = limit(1.0);
    assert_eq!(across.verdict, OPEN);
    assert!(across.reason.contains("noise: needs more rounds"), "{}", across.reason);
    assert_eq!(across.cases[0].outcome.inconclusive, Some(InconclusiveKind::Noise));
    let (low, high) = across.cases[0].outcome.interval.unwrap();
    assert!(low < 10.0 && high > 10.0 && high - low < 0.5, "{low} {high}");
    assert_eq!(across.cases[0].outcome.samples, 60);
}

/// Samples that slow down by 5 % from the first to the last round, with 1 % noise.
fn drifting(centre: f64, variant: usize) -> Arc<[f64]> {
    let sample = |i: usize| centre * (1.0 + 0.01 * wiggle(i * 7, variant)) * (1.0 + 0.05 * i as f64 / 60.0);
    (0..60).map(sample).collect()
}

fn adrift(require: &str) -> (Fixture, Arc<[f64]>) {
    let mut fixture = Fixture::new(&gate(require));
    let (own, baseline) = (drifting(10.05, 0), drifting(10.0, 4));
    for (row, (variant, _)) in fixture.places().into_iter().enumerate() {
        fixture.sample(row, if variant == 4 { baseline.clone() } else { own.clone() });
    }
    let value = |variant: usize| median(if variant == 4 { &baseline } else { &own }).unwrap();
    fixture.set("latency_p50", |variant, _| value(variant));
    (fixture, baseline)
}

#[test]
fn a_drift_of_both_sides_is_not_noise_of_their_ratio() {
    let width = |result: &GateResult| result.cases[0].outcome.interval.map(|(low, high)| high - low).unwrap();
    let shared = adrift("latency_p50 <= 1.012 * baseline.latency_p50").0.first();
    assert_eq!(shared.verdict, PASS, "{}", shared.reason);
    // compared with a number or a stored run, drift is not shared and counts as noise
    let alone = adrift("latency_p50 <= 10.4").0.first();
    assert!(
        width(&alone) > width(&shared),
        "{:?} {:?}",
        alone.cases[0].outcome.interval,
        shared.cases[0].outcome.interval
    );
    let (fixture, baseline) = adrift("latency_p50 <= 1.012 * baseline.latency_p50");
    let mut quantities = Quantities::new([(VariantId("winner".into()), shape("large"))]);
    quantities.set_column("latency_p50", vec![Cell::Value(median(&baseline).unwrap())]);
    quantities.set_samples(0, baseline);
    let mut context = calibrated(Context::assuming_latencies(None, TODAY));
    let stored = StoredRun { label: "run 7".into(), quantities: &quantities, variant: VariantId("winner".into()) };
    context.stored.insert("baseline".into(), stored);
    let apart = fixture.judge_with(&context).gates.swap_remove(0);
    assert_eq!(apart.verdict, OPEN, "{}", apart.reason);
    assert!(
        width(&apart) > 1.5 * width(&shared),
        "{:?} {:?}",
        apart.cases[0].outcome.interval,
        shared.cases[0].outcome.interval
    );
}

#[test]
fn too_few_samples_are_inconclusive() {
    let short = verdict("latency_p50 <= 100", |f| {
        for row in 0..15 {
            f.sample(row, samples(&[10.0; 5]));
        }
        f
    });
    assert_eq!(short.verdict, OPEN);
    assert!(short.reason.contains("the confirmation has 5 of 60 samples"), "{}", short.reason);
    let p90 = verdict("latency_p90 <= 100", |f| {
        f.set("latency_p90", |_, _| 11.0);
        for row in 0..15 {
            f.sample(row, samples(&[10.0; 20]));
        }
        f
    });
    assert_eq!(p90.verdict, OPEN);
    assert!(p90.reason.contains("the confirmation has 20 of 60 samples"), "{}", p90.reason);
}

#[test]
fn samples_that_are_absent_or_not_finite_are_inconclusive() {
    let mut fixture = Fixture::new(&gate("latency_p50 <= 100"));
    fixture.set("latency_p50", |_, _| 10.0);
    let bare = Quantities::new(fixture.quantities.rows().cloned());
    let timed = std::mem::replace(&mut fixture.quantities, bare);
    fixture.quantities.set_column("latency_p50", timed.column("latency_p50").unwrap().cells().to_vec());
    assert_eq!(fixture.first().verdict, OPEN);
    for row in 0..15 {
        fixture.sample(row, samples(&[f64::NAN; 60]));
    }
    assert_eq!(fixture.first().verdict, OPEN);
}

#[test]
fn ranges_decide_like_intervals() {
    // many variants are judged without intervals if the samples' ranges decide; the verdicts are the same
    use crate::bound_gate::{BoundGate, IntervalDetail};
    use crate::context::{EvalContext, ProofPolicy};
    for require in ["latency_p50 <= 11.5", "speedup(\"flash\") > 1.05", "latency_p50 < 1.0 * baseline.latency_p50"] {
        let mut fixture = Fixture::new(&(gate(require) + "on = \"each\""));
        fixture.time(0.03, |v, _| if v == 4 { 11.5 } else { 10.0 + v as f64 });
        let given = Context::assuming_latencies(None, TODAY);
        let context = EvalContext::new(
            &fixture.phase,
            &fixture.plan,
            &fixture.quantities,
            &fixture.correctness,
            &given,
            ProofPolicy::Demanded,
        );
        let bound = BoundGate::new(&fixture.phase.gates[0], &context, None);
        let verdicts = |detail| bound.judge(&[0, 1, 2, 3], detail).iter().map(|r| r.verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(IntervalDetail::Intervals), verdicts(IntervalDetail::Verdicts), "{require}");
    }
}

#[test]
fn a_compound_condition_is_as_noisy_as_its_parts() {
    let set = |factor: f64| {
        let require = format!("latency_p50 <= {factor} * baseline.latency_p50 and registers <= 64");
        let mut fixture = Fixture::new(&gate(&require));
        fixture.time(0.02, |v, _| if v == 4 { 10.0 } else { 10.0 + v as f64 }).set("registers", |_, _| 64.0);
        fixture.first().verdict
    };
    assert_eq!((set(1.1), set(1.0), set(0.9)), (PASS, OPEN, FAIL));
}

#[test]
fn inconclusive_counts_as_the_phase_says() {
    let noisy = |inconclusive: &str| {
        let text = format!("{}inconclusive = \"{inconclusive}\"", gate("latency_p50 <= baseline.latency_p50"));
        let mut fixture = Fixture::new(&text);
        fixture.time(0.02, |v, _| if v == 4 { 10.01 } else { 10.0 });
        // all rounds that the phase allows were measured
        fixture.phase.bench.max_rounds = 60;
        fixture.judge()
    };
    assert_eq!(noisy("inconclusive").verdict, OPEN);
    assert_eq!(noisy("fail").verdict, FAIL);
    let warned = noisy("warn");
    assert_eq!((warned.verdict, warned.gates[0].verdict), (PASS, OPEN));
    assert_eq!(warned.warnings.len(), 1);
    assert!(warned.reason.contains("0 of 1 requirement hold, 1 is inconclusive with a warning"), "{}", warned.reason);
    // noise never only warns if the variant is not proven
    let text = format!("{}inconclusive = \"warn\"\non = \"each\"", gate("latency_p50 <= baseline.latency_p50"));
    let mut unproven = Fixture::new(&text);
    unproven.time(0.02, |_, _| 10.0).unproven(1);
    assert_eq!(unproven.judge().verdict, OPEN);
    // a missing value never only warns
    let missing = Fixture::new(&format!("{}inconclusive = \"warn\"", gate("registers <= 64")));
    assert_eq!(missing.judge().verdict, OPEN);
}

#[test]
fn a_limit_inside_the_machines_own_noise_says_so() {
    use crate::Noise;
    let judged = |require: &str, noise: f64| {
        let mut fixture = Fixture::new(&gate(require));
        fixture.set("latency_p90", |v, _| if v == 4 { 10.0 } else { 10.2 + v as f64 });
        fixture.time(0.05, |v, _| if v == 4 { 10.0 } else { 10.2 + v as f64 });
        let mut context = Context::assuming_latencies(None, TODAY);
        context.noise.insert(shape("large"), Noise { median: noise, p90: Some(noise), rounds: 60, between: None });
        fixture.judge_with(&context).gates.swap_remove(0)
    };
    let said = "noise: a 2 % limit cannot be resolved: this machine's noise is 3.1 % at 60 rounds";
    for require in [
        "latency_p50 <= 1.02 * baseline.latency_p50",
        "speedup(\"baseline\") >= 1 / 1.02",
        "latency_p50 / baseline.latency_p50 <= 1.02",
    ] {
        let told = judged(require, 0.031);
        assert_eq!(told.verdict, OPEN, "{require}");
        assert!(told.reason.contains(said), "{require}: {}", told.reason);
        assert!(judged(require, 0.01).reason.contains("needs more rounds"), "the machine can resolve 2 %");
    }
    assert!(judged("latency_p50 <= 10.2", 0.031).reason.contains("needs more rounds"), "nothing is compared");
    assert_eq!(judged("latency_p50 <= 1.2 * baseline.latency_p50", 0.5).verdict, PASS, "noise makes no verdict");
}

#[test]
fn a_pass_of_one_among_several_takes_samples_that_did_not_select_it() {
    let swept = |text: &str| {
        let mut fixture = Fixture::new(text);
        let rows: Vec<_> = fixture.quantities.rows().cloned().collect();
        let timed = std::mem::replace(&mut fixture.quantities, Quantities::new(rows));
        fixture.quantities.set_column("latency_p50", timed.column("latency_p50").unwrap().cells().to_vec());
        for row in 0..15 {
            fixture.quantities.set_samples(row, timed.samples_at(row).unwrap().clone());
        }
        fixture.first()
    };
    let among = swept(&gate("latency_p50 <= 11"));
    assert_eq!((among.verdict, among.cases[0].outcome.inconclusive), (OPEN, Some(InconclusiveKind::Unconfirmed)));
    assert!(among.reason.contains("not confirmed on fresh samples"), "{}", among.reason);
    let warned = swept(&format!("{}inconclusive = \"warn\"", gate("latency_p50 <= 10")));
    assert_eq!(
        warned.cases[0].outcome.inconclusive,
        Some(InconclusiveKind::Unconfirmed),
        "noise of them is not for a warning"
    );
    assert_eq!(swept(&gate("latency_p50 <= 9")).verdict, FAIL, "luck does not make a failure");
    let alone = format!("{}on = \"REGCAP=64,THREADS=64\"", gate("latency_p50 <= 11"));
    assert_eq!(swept(&alone).verdict, PASS, "it was selected among none");
}

#[test]
fn a_stored_run_takes_the_noise_between_runs() {
    let mut quantities = Quantities::new([(VariantId("winner".into()), shape("large"))]);
    quantities.set_column("latency_p50", vec![Cell::Value(10.0)]);
    quantities.set_samples(0, (0..60).map(|i| 10.0 * (1.0 + 0.002 * wiggle(i, 9))).collect());
    let judged = |noise: Option<f64>, us: f64| {
        let mut fixture = Fixture::new(&gate("latency_p50 <= 1.02 * best.latency_p50"));
        fixture.time(0.002, |v, _| us + v as f64);
        let mut context = Context::assuming_latencies(None, TODAY);
        if let Some(sd) = noise {
            let between = crate::BetweenRuns { runs: 5, median: sd, p90: None };
            let noise = crate::Noise { median: 0.0, p90: None, rounds: 60, between: Some(between) };
            context.noise.insert(shape("large"), noise);
        }
        let stored = StoredRun { label: "run 7".into(), quantities: &quantities, variant: VariantId("winner".into()) };
        context.stored.insert("best".into(), stored);
        fixture.judge_with(&context).gates.swap_remove(0)
    };
    let unknown = judged(None, 10.0);
    assert_eq!((unknown.verdict, unknown.cases[0].outcome.inconclusive), (OPEN, Some(InconclusiveKind::Missing)));
    assert!(unknown.reason.contains("--runs 5` measures it"), "{}", unknown.reason);
    assert_eq!(judged(Some(0.001), 10.0).verdict, PASS);
    assert_eq!(judged(Some(0.001), 10.4).verdict, FAIL);
    assert_eq!(judged(Some(0.009), 10.0).verdict, OPEN, "2 % is less than runs differ by");
    assert_eq!(judged(Some(0.009), 10.3).verdict, OPEN);
}

/// The interval of a gate on the latency, if every variant has these samples.
fn interval(values: &[f64]) -> (f64, f64) {
    let mut fixture = Fixture::new(&gate("latency_p50 <= 1.1 * baseline.latency_p50"));
    for (row, (variant, _)) in fixture.places().into_iter().enumerate() {
        let steady: Vec<f64> = (0..60).map(|i| 10.0 + 0.001 * wiggle(i, 3)).collect();
        fixture.sample(row, samples(if variant == 4 { &steady } else { values }));
    }
    let centre = median(values).unwrap();
    fixture.set("latency_p50", |variant, _| if variant == 4 { 10.0 } else { centre });
    fixture.first().cases[0].outcome.interval.unwrap()
}

#[test]
fn rounds_that_follow_one_another_widen_the_interval() {
    // five rounds at a level, then five at another
    let wandering: Vec<f64> = (0..60).map(|i| 10.0 + 0.1 * wiggle(i / 5, 1) + 0.01 * wiggle(i, 2)).collect();
    let mut order: Vec<usize> = (0..60).collect();
    order.sort_by_key(|i| (i * i * 31 + i * 17) % 61);
    let shuffled: Vec<f64> = order.into_iter().map(|i| wandering[i]).collect();
    let width = |values: &[f64]| interval(values).1 - interval(values).0;
    assert!(width(&wandering) > 1.5 * width(&shuffled), "{} {}", width(&wandering), width(&shuffled));
}

#[test]
fn the_interval_holds_the_rounding_of_the_clock() {
    // equal samples are known to half a step of the clock only
    let (low, high) = interval(&[10.0; 60]);
    let step = ncugate_model::stats::half_step(&[10.0; 60], 1000);
    assert!(high - low >= 2.0 * step, "{low} {high}, half a step is {step}");
    let coarse: Vec<f64> = (0..60).map(|i| if i % 20 == 0 { 10.5 } else { 10.0 }).collect();
    let (low, high) = interval(&coarse);
    assert!(high - low >= 0.5, "{low} {high}: samples are half a microsecond apart");
}

/// Confirmation samples of `a` and the baseline in five processes; `of` gives the level of each.
fn in_processes(require: &str, of: impl Fn(usize, usize) -> f64) -> GateResult {
    let mut fixture = Fixture::new(&gate(require));
    for (row, (variant, _)) in fixture.places().into_iter().enumerate() {
        let samples: Vec<f64> = (0..60).map(|i| of(variant, i / 12) * (1.0 + 0.002 * wiggle(i, variant))).collect();
        fixture.sample(row, samples.into());
        let mut sampling = fixture.quantities.sampling_at(row).unwrap().clone();
        sampling.fresh.as_mut().unwrap().processes = [12; 5].into();
        fixture.quantities.set_sampling(row, sampling);
    }
    fixture.first()
}

#[test]
fn processes_that_differ_are_noise_and_a_difference_that_both_sides_share_is_not() {
    const BY: [f64; 5] = [-0.006, -0.003, 0.0, 0.003, 0.006];
    let own = |variant: usize, process: usize| if variant == 4 { 12.0 } else { 10.0 * (1.0 + BY[process]) };
    let alike = |variant: usize, _: usize| if variant == 4 { 12.0 } else { 10.0 };
    let shared = |variant: usize, process: usize| alike(variant, process) * (1.0 + BY[process]);
    let limit = "latency_p50 <= 10.03";
    assert_eq!((in_processes(limit, alike).verdict, in_processes(limit, own).verdict), (PASS, OPEN));
    assert!(in_processes(limit, own).reason.contains("noise between processes"), "{}", in_processes(limit, own).reason);
    let ratio = "latency_p50 <= 0.836 * baseline.latency_p50";
    assert_eq!((in_processes(ratio, shared).verdict, in_processes(ratio, own).verdict), (PASS, OPEN));
}

#[test]
fn few_rounds_of_one_process_are_not_judged() {
    let mut fixture = Fixture::new(&gate("latency_p50 <= 100"));
    fixture.phase.bench.rounds = 8;
    for row in 0..15 {
        fixture.sample(row, samples(&[10.0; 8]));
    }
    let judged = fixture.first();
    assert_eq!(judged.verdict, OPEN);
    assert!(judged.reason.contains("8 rounds in one process"), "{}", judged.reason);
    assert!(judged.reason.contains("set `[bench] rounds` to at least 12"), "{}", judged.reason);
}

#[test]
fn a_verdict_of_one_process_says_so() {
    let said = |processes: &[u32]| {
        let mut fixture = Fixture::new(&gate("latency_p50 <= 11"));
        for row in 0..15 {
            let mut sampling = fixture.quantities.sampling_at(row).unwrap().clone();
            sampling.fresh.as_mut().unwrap().processes = processes.into();
            fixture.quantities.set_sampling(row, sampling);
        }
        let judged = fixture.judge();
        assert_eq!(judged.verdict, PASS, "{}", judged.reason);
        judged.cautions.into_iter().find(|caution| caution.contains("process"))
    };
    let one = "latencies were confirmed in 1 process: verdicts on them are valid for this process alone; run again for 5 processes";
    assert_eq!(said(&[60]).as_deref(), Some(one));
    assert!(said(&[20, 20, 20]).unwrap_or_default().contains("confirmed in 3 processes"));
    assert_eq!(said(&[12; 5]), None);
}

#[test]
fn each_candidate_of_any_is_a_chance_for_noise() {
    let width = |on: &str| {
        let mut fixture = Fixture::new(&(gate("latency_p50 <= 10") + on));
        fixture.time(0.02, |_, _| 10.0);
        let (low, high) = fixture.first().cases[0].outcome.interval.unwrap();
        high - low
    };
    // four candidates: 99.5 % instead of 97.9 %
    let wider = width("on = \"any\"") / width("on = \"each\"");
    assert!((1.15..1.3).contains(&wider), "{wider}");
}

#[test]
fn a_condition_is_decided_if_open_comparisons_do_not_matter() {
    let judged = |require: &str| {
        let mut fixture = Fixture::new(&gate(require));
        fixture.time(0.02, |v, _| if v == 4 { 10.0 } else { 10.0 + v as f64 });
        fixture.first()
    };
    let open = "latency_p50 <= baseline.latency_p50";
    assert_eq!(judged(&format!("{open} or latency_p50 <= 11")).verdict, PASS);
    assert_eq!(judged(&format!("{open} and latency_p50 <= 9")).verdict, FAIL);
    assert_eq!(judged(&format!("not ({open}) and latency_p50 <= 11")).verdict, OPEN);
    assert_eq!(judged(&format!("latency_p50 <= (11 if {open} else 12)")).verdict, OPEN);
    let within = judged("latency_p50 in [10, 11]");
    assert_eq!(within.verdict, OPEN);
    assert!(within.reason.contains("compare each latency with a limit"), "{}", within.reason);
}

#[test]
fn a_candidate_of_any_that_fails_does_not_end_the_rounds_of_the_others() {
    let open = |on: &str| {
        let mut fixture = Fixture::new(&(gate("latency_p50 <= 10") + on));
        fixture.time(0.02, |v, _| 10.0 + v as f64);
        crate::unresolved(&fixture.phase, &fixture.judge(), &[]).len()
    };
    assert_eq!((open("on = \"any\""), open("on = \"each\"")), (1, 0));
}

//! Fail closed: missing values, empty values and values that are not numbers never pass.

use super::*;
use crate::witness::Witness;
use crate::{InconclusiveKind, LatencyWitness, PhaseRun, correctness, name_cheats, name_profiled_cheats};
use ncugate_fixtures::at_root;
use ncugate_model::{
    BuildOutcome, BuildRecord, CheckOutcome, CheckRecord, Defect, Differences, LatencyOutcome, LatencyRecord,
};

#[test]
fn a_missing_metric_is_inconclusive_with_its_reason() {
    let absent = verdict("eligible_warps >= 2", |f| f);
    assert_eq!(absent.verdict, OPEN);
    assert!(absent.reason.contains("metric 'eligible_warps' was not collected"), "{}", absent.reason);
    let missing = verdict("eligible_warps >= 2", |f| {
        f.quantities.set_column("eligible_warps", vec![Cell::Missing("ncu was killed".into()); 15]);
        f
    });
    assert_eq!(missing.verdict, OPEN);
    assert!(missing.reason.contains("ncu was killed"), "{}", missing.reason);
}

#[test]
fn values_that_are_not_finite_are_inconclusive() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for require in
            ["eligible_warps >= 2", "eligible_warps <= 2", "eligible_warps != 2", "2 * eligible_warps + 1 > 3"]
        {
            assert_eq!(verdict(require, |f| f.set("eligible_warps", |_, _| odd)).verdict, OPEN, "{require} {odd}");
        }
    }
    assert_eq!(
        verdict("registers / spills >= 1", |f| f.set("registers", |_, _| 0.0).set("spills", |_, _| 0.0)).verdict,
        OPEN
    );
}

#[test]
fn a_gate_over_no_variant_does_not_pass() {
    let mut fixture = Fixture::new(&(gate("registers <= 64") + "on = \"each\""));
    fixture.set("registers", |_, _| 1.0);
    fixture.plan.variants.clear();
    let judgement = fixture.judge();
    assert_eq!((judgement.gates[0].verdict, judgement.verdict), (OPEN, OPEN));
    let mut none = Fixture::new(&gate("registers <= 64"));
    none.phase.gates.clear();
    assert_eq!(none.judge().verdict, OPEN);
    let mut glob = Fixture::new(&gate("registers <= 64"));
    glob.phase.gates[0].on = ncugate_model::Scope::Matching("nothing*".to_owned());
    let glob = glob.first();
    assert_eq!((glob.verdict, glob.reason.as_str()), (OPEN, "no variant matches 'nothing*'"));
    let mut shapeless = Fixture::new(&gate("registers <= 64"));
    shapeless.set("registers", |_, _| 1.0).phase.gates[0].shapes.clear();
    assert_eq!(shapeless.first().verdict, OPEN);
}

#[test]
fn unproven_variants_never_pass_and_wrong_ones_fail() {
    let text = gate("registers <= 64") + "on = \"each\"";
    let mut fixture = Fixture::new(&text);
    fixture.set("registers", |_, _| 1.0).unproven(1);
    let result = fixture.first();
    assert_eq!(result.verdict, OPEN);
    assert!(result.reason.contains("not proven correct: seed 2 was not checked"), "{}", result.reason);
    fixture.wrong(1);
    assert_eq!(fixture.first().verdict, FAIL);
    fixture.correctness.clear();
    assert_eq!(fixture.first().verdict, OPEN);
    // a shortfall stays a failure
    fixture.set("registers", |_, _| 100.0);
    assert_eq!(fixture.first().verdict, FAIL);
}

#[test]
fn a_baseline_that_is_absent_or_wrong_compares_with_nothing() {
    let require = "latency_p50 <= baseline.latency_p50";
    assert_eq!(verdict(require, |f| f).verdict, PASS);
    let wrong = verdict(require, |f| f.wrong(4));
    assert_eq!(wrong.verdict, OPEN);
    assert!(wrong.reason.contains("'flash' is not proven correct"), "{}", wrong.reason);
    assert_eq!(
        verdict(require, |f| {
            f.phase.baselines.clear();
            f
        })
        .verdict,
        OPEN
    );
}

fn checks(fixture: &Fixture, outcome: impl Fn(usize, u64) -> Option<CheckOutcome>) -> Vec<CheckRecord> {
    let mut records = Vec::new();
    for (at, variant) in fixture.plan.variants.iter().enumerate() {
        for shape in &fixture.phase.workload.shapes {
            for &seed in &fixture.phase.workload.seeds {
                let record = |outcome| CheckRecord {
                    variant: variant.id.clone(),
                    shape: shape.name.clone(),
                    seed,
                    outcome,
                    nulls: 0,
                };
                records.extend(outcome(at, seed).map(record));
            }
        }
    }
    records
}

fn correct(max_abs: f64) -> CheckOutcome {
    CheckOutcome::Correct {
        differences: Differences { max_abs, rel_l2: 0.0, nonfinite: 0, compared: 8, ..Differences::default() },
    }
}

#[test]
fn correctness_takes_every_shape_and_seed_within_the_tolerance_of_today() {
    let fixture = Fixture::new(&gate("registers <= 64"));
    let records = checks(&fixture, |variant, seed| match (variant, seed) {
        (0, _) => Some(correct(1e-3)),
        (1, 2) => None,
        (2, 1) => Some(correct(3e-3)),
        (3, 1) => Some(CheckOutcome::Crashed { reason: "illegal address".into() }),
        (4, 1) => Some(correct(f64::NAN)),
        _ => Some(correct(0.0)),
    });
    let found: Vec<_> = {
        let map = correctness(&fixture.phase, &fixture.plan, &records, &[]);
        fixture.plan.variants.iter().map(|v| map[&v.id].clone()).collect()
    };
    assert_eq!(found[0], Correctness::Proven { cases: 9, max_abs: 1e-3 });
    assert!(matches!(&found[1], Correctness::Unproven { reason } if reason.contains("seed 2")));
    assert!(
        matches!(&found[2], Correctness::Wrong { reason } if reason.contains("max_abs 3.000e-3 exceeds the tolerance 2e-3"))
    );
    assert!(matches!(&found[3], Correctness::Wrong { reason } if reason.contains("illegal address")));
    assert!(matches!(&found[4], Correctness::Wrong { .. }));
}

#[test]
fn builds_that_failed_are_wrong_and_shared_code_shares_its_cases() {
    let fixture = Fixture::new(&gate("registers <= 64"));
    let id = |at: usize| fixture.plan.variants[at].id.clone();
    let records = checks(&fixture, |variant, _| (variant != 1).then(|| correct(0.0)));
    let failed = BuildOutcome::Failed { message: "copy.cu(3): error: expected a ';'\n".into() };
    let builds = [
        BuildRecord { variant: id(0), shares: None, outcome: failed },
        BuildRecord { variant: id(1), shares: Some(id(2)), outcome: BuildOutcome::NotNeeded },
    ];
    let map = correctness(&fixture.phase, &fixture.plan, &records, &builds);
    assert!(matches!(&map[&id(0)], Correctness::Wrong { reason } if reason.contains("expected a ';'")));
    assert!(matches!(&map[&id(1)], Correctness::Proven { cases: 9, .. }));
}

#[test]
fn a_variant_cheats_although_its_checks_are_right() {
    let fixture = Fixture::new(&gate("registers <= 64"));
    let id = |at: usize| fixture.plan.variants[at].id.clone();
    let records = checks(&fixture, |_, _| Some(correct(0.0)));
    let outcome = LatencyOutcome::Cheats { reason: "output of a timed launch differs".into(), audit: None };
    let cheats = LatencyRecord { variant: id(0), shape: fixture.phase.workload.shapes[0].name.clone(), outcome };
    let builds = [BuildRecord { variant: id(1), shares: Some(id(0)), outcome: BuildOutcome::NotNeeded }];
    let proofs = correctness(&fixture.phase, &fixture.plan, &records, &builds);
    let found = name_cheats(proofs, &[cheats], &builds);
    for at in [0, 1] {
        let reason = "output of a timed launch differs";
        assert!(matches!(&found[&id(at)], Correctness::Cheats { reason: why } if why.ends_with(reason)), "{found:?}");
    }
    assert!(matches!(found[&id(2)], Correctness::Proven { .. }));
}

#[test]
fn a_case_that_was_once_wrong_is_wrong() {
    let fixture = Fixture::new(&gate("registers <= 64"));
    let mut records = checks(&fixture, |_, _| Some(correct(0.0)));
    let wrong = CheckOutcome::Crashed { reason: "hang".into() };
    records.push(CheckRecord { outcome: wrong, ..records[0].clone() });
    records.extend(records.clone().into_iter().take(1));
    let map = correctness(&fixture.phase, &fixture.plan, &records, &[]);
    assert!(matches!(map[&fixture.plan.variants[0].id], Correctness::Wrong { .. }));
}

fn wrong(max_abs: f64, defects: Vec<Defect>) -> CheckOutcome {
    let differences = Differences { max_abs, rel_l2: 0.0, nonfinite: 0, compared: 8, ..Differences::default() };
    CheckOutcome::Wrong { differences, reason: "as it was measured".to_owned(), defects, element: None }
}

#[test]
fn a_case_beyond_an_older_tolerance_is_judged_by_the_one_of_today() {
    let fixture = Fixture::new(&gate("registers <= 64"));
    let place = "input `x` was written (first at byte 0)".to_owned();
    let records = checks(&fixture, |variant, _| {
        Some(match variant {
            0 => wrong(1e-3, Vec::new()),
            1 => wrong(3e-3, Vec::new()),
            2 => wrong(1e-3, vec![Defect::OutOfBoundsWrite { place: place.clone() }]),
            _ => correct(0.0),
        })
    });
    let map = correctness(&fixture.phase, &fixture.plan, &records, &[]);
    let found = |at: usize| &map[&fixture.plan.variants[at].id];
    let reason = |at: usize| match found(at) {
        Correctness::Wrong { reason } => reason.rsplit(": ").next().unwrap_or_default(),
        Correctness::Proven { .. }
        | Correctness::Cheats { .. }
        | Correctness::Unchecked { .. }
        | Correctness::Unproven { .. } => "",
    };
    assert_eq!(*found(0), Correctness::Proven { cases: 9, max_abs: 1e-3 });
    assert_eq!(reason(1), "max_abs 3.000e-3 exceeds the tolerance 2e-3");
    assert_eq!(reason(2), place);
}

#[test]
fn the_worse_of_two_records_of_a_case_counts_by_the_tolerance_of_today() {
    let fixture = Fixture::new(&gate("registers <= 64"));
    let after = |first: CheckOutcome, second: CheckOutcome| {
        let mut records = checks(&fixture, |_, _| Some(correct(0.0)));
        records[0].outcome = first;
        records.push(CheckRecord { outcome: second, ..records[0].clone() });
        correctness(&fixture.phase, &fixture.plan, &records, &[])[&fixture.plan.variants[0].id].clone()
    };
    let crashed = CheckOutcome::Crashed { reason: "hang".into() };
    let near_enough_now = wrong(1e-3, Vec::new());
    assert!(
        matches!(after(near_enough_now.clone(), crashed), Correctness::Wrong { reason } if reason.contains("hang"))
    );
    assert!(matches!(after(near_enough_now, correct(0.0)), Correctness::Proven { .. }));
    assert!(
        matches!(after(correct(0.0), correct(3e-3)), Correctness::Wrong { .. }),
        "too far for the tolerance of today"
    );
}

/// Verdict of a gate when all launches of each candidate have these eligible warps, and the baseline's launches have
/// others.
fn repeated(require: &str, own: &[f64], baseline: &[f64]) -> GateResult {
    verdict(require, |fixture| {
        let of = |variant: usize| if variant == 4 { baseline } else { own };
        fixture.set("eligible_warps", |v, _| of(v)[0]);
        for (row, (v, _)) in fixture.places().into_iter().enumerate() {
            fixture.quantities.details_mut("eligible_warps", row).unwrap().repeats = Some(of(v).into());
        }
        fixture
    })
}

#[test]
fn a_counter_of_several_launches_is_judged_for_every_launch() {
    let launches = |own: &[f64]| repeated("eligible_warps >= 2", own, &[1.0]);
    let inside = launches(&[2.5, 2.1, 2.3]);
    assert_eq!(
        (inside.verdict, inside.cases[0].outcome.interval, inside.cases[0].outcome.samples),
        (PASS, Some((2.1, 2.5)), 3)
    );
    assert_eq!(launches(&[1.5, 1.1, 1.9]).verdict, FAIL);
    let across = launches(&[2.5, 1.9, 2.3]);
    assert_eq!((across.verdict, across.cases[0].outcome.inconclusive), (OPEN, Some(InconclusiveKind::Noise)));
    assert!(across.reason.contains("launches disagree: it holds for 2 of 3"), "{}", across.reason);
    assert_eq!(launches(&[2.5, f64::NAN, 2.3]).verdict, OPEN, "NaN is not a number");
    let compound = |own: &[f64]| repeated("not (eligible_warps < 2 or eligible_warps > 9)", own, &[1.0]).verdict;
    assert_eq!(compound(&[3.0, f64::NAN, 4.0]), OPEN);
    assert_eq!((compound(&[3.0, 4.0]), compound(&[1.0, 1.5]), compound(&[3.0, 10.0])), (PASS, FAIL, OPEN));
}

#[test]
fn launches_of_the_baseline_count_too() {
    let against =
        |own: &[f64], baseline: &[f64]| repeated("eligible_warps >= 1.1 * baseline.eligible_warps", own, baseline);
    assert_eq!(against(&[3.0, 3.2], &[2.0, 2.1]).verdict, PASS);
    assert_eq!(against(&[3.0, 3.1], &[2.9, 3.1]).verdict, FAIL);
    assert_eq!(against(&[3.0, 3.2], &[2.0, 2.9]).verdict, OPEN);
    let other = against(&[3.0], &[2.0, 2.6, 2.9]);
    assert!(other.reason.contains("launches of the compared variant disagree"), "{}", other.reason);
}

#[test]
fn a_counter_of_one_launch_is_as_uncertain_as_the_catalogue_knows() {
    let against = |own: f64| {
        verdict("dram_bytes <= 1.05 * baseline.dram_bytes", |f| {
            f.set("dram_bytes", |v, _| if v == 4 { 1000.0 } else { own })
        })
    };
    // launches of one kernel differ by 4.6 %
    assert_eq!(against(1000.0).verdict, OPEN, "identical kernels may differ by that much");
    assert_eq!((against(850.0).verdict, against(1300.0).verdict), (PASS, FAIL));
    assert!(against(1000.0).reason.contains("[profile] repeat"), "{}", against(1000.0).reason);
    assert_eq!(verdict("dram_bytes <= 1000", |f| f.set("dram_bytes", |_, _| 1000.0)).verdict, PASS, "against a number");
}

#[test]
fn a_latency_without_a_witness_is_inconclusive() {
    let fixture = Fixture::new(&gate("latency_p50 <= 100"));
    let verdict = |witness: LatencyWitness<'_>| {
        let context = Context { witness, ..Context::new(None, TODAY) };
        let gate = fixture.judge_with(&context).gates.swap_remove(0);
        (gate.verdict, gate.reason.to_string())
    };
    assert_eq!(verdict(LatencyWitness::Assumed).0, PASS);
    let (absent, reason) = verdict(Context::new(None, TODAY).witness);
    assert_eq!(absent, OPEN);
    assert!(reason.contains("no counters were compared with it"), "{reason}");
    let (unknown, reason) = verdict(LatencyWitness::Counters(&Witness::default()));
    assert_eq!(unknown, OPEN, "a witness that knows neither variant nor shape");
    assert!(reason.contains("its counters were not compared with it"), "{reason}");
}

#[test]
fn a_fault_replaces_a_proof_but_no_other_fault() {
    let unproven = || Correctness::Unproven { reason: "not verified".to_owned() };
    let wrong = || Correctness::Wrong { reason: "max_abs is 1".to_owned() };
    let cheats = || Correctness::Cheats { reason: "differs".to_owned() };
    let replaced = |mut first: Correctness, second: Correctness| {
        first.replace_by(second);
        first
    };
    assert_eq!(replaced(Correctness::Proven { cases: 9, max_abs: 0.0 }, unproven()), unproven());
    assert_eq!(replaced(unproven(), wrong()), wrong());
    assert_eq!(replaced(wrong(), unproven()), wrong());
    assert_eq!(replaced(cheats(), unproven()), cheats());
}

#[test]
fn a_profiled_launch_whose_outputs_were_not_verified_proves_nothing() {
    at_root();
    let recorded = PhaseRun::load(Path::new("profiles/softmax/h200")).unwrap();
    let mut run = (*recorded.run).clone();
    let variant = run.profiles[0].variant.clone();
    let proven = || BTreeMap::from([(variant.clone(), Correctness::Proven { cases: 1, max_abs: 0.0 })]);
    assert!(matches!(name_profiled_cheats(proven(), &run)[&variant], Correctness::Proven { .. }));
    run.profiles[0].outputs = None;
    let found = name_profiled_cheats(proven(), &run);
    assert!(
        matches!(&found[&variant], Correctness::Unproven { reason } if reason.contains("were not verified")),
        "{found:?}"
    );
}

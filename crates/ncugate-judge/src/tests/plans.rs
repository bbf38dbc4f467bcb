//! Tiers, stages, fallback, waivers.

use super::*;

const TIERS: &str = r#"
[[tier]]
name = "minimum"
required = true
require = ["achieved_occupancy >= 20", "eligible_warps >= 2"]
[[tier]]
name = "target"
require = ["achieved_occupancy >= 25"]
[[tier]]
name = "stretch"
require = ["achieved_occupancy >= 10"]
"#;

#[test]
fn the_highest_tier_takes_all_below_it() {
    let reached = |occupancy: f64| {
        let mut fixture = Fixture::new(TIERS);
        fixture.set("achieved_occupancy", |_, _| occupancy).set("eligible_warps", |_, _| 2.0);
        let judgement = fixture.judge();
        (judgement.tier_reached, judgement.verdict)
    };
    assert_eq!(reached(30.0), (Some("stretch".into()), PASS));
    assert_eq!(reached(22.0), (Some("minimum".into()), PASS));
    assert_eq!(reached(15.0), (None, FAIL));
    let judgement = Fixture::new(TIERS).judge();
    assert_eq!((judgement.tier_reached, judgement.verdict), (None, OPEN));
}

#[test]
fn a_required_tier_stops_variants() {
    let mut fixture = Fixture::new(TIERS);
    fixture.set("achieved_occupancy", |v, _| 19.0 + 0.5 * v as f64).set("eligible_warps", |_, _| 2.0);
    let judgement = fixture.judge();
    assert_eq!(stops(&judgement, 0), ["achieved_occupancy >= 20 by 1 pp"]);
    assert_eq!((judgement.variants[3].verdict, judgement.variants[3].stopped_by.len()), (PASS, 0));
}

fn stages(on_failure: &str) -> String {
    ["REGCAP=64,THREADS=64", "REGCAP=64,THREADS=128", "REGCAP=96,THREADS=64", "REGCAP=96,THREADS=128"]
        .iter()
        .enumerate()
        .map(|(at, variant)| {
            let require = if at == 0 { "" } else { "require = ['speedup(\"previous\") >= 1.05']" };
            format!(
                "[[stage]]\nname = \"s{at}\"\nvariant = \"{variant}\"\nexpect = [1.05, 1.15]\non_failure = \"{on_failure}\"\n{require}\n"
            )
        })
        .collect()
}

fn walk(on_failure: &str, latencies: [f64; 4]) -> Judgement {
    let mut fixture = Fixture::new(&stages(on_failure));
    fixture.time(0.002, move |v, _| *latencies.get(v).unwrap_or(&12.0));
    fixture.judge()
}

#[test]
fn stages_build_on_the_last_accepted_one() {
    let judgement = walk("skip", [20.0, 18.0, 18.5, 16.0]);
    let accepted: Vec<bool> = judgement.stages.iter().map(|s| s.accepted).collect();
    assert_eq!(accepted, [true, true, false, true]);
    assert_eq!(judgement.verdict, PASS, "{}", judgement.reason);
    let last = &judgement.stages[3];
    assert!((last.measured.unwrap() - 18.0 / 16.0).abs() < 1e-3 && (last.cumulative.unwrap() - 1.25).abs() < 1e-3);
    assert!(judgement.stages[2].reason.starts_with("skipped: gate "), "{}", judgement.stages[2].reason);
    assert_eq!(last.elite, [VariantId("REGCAP=96,THREADS=128".into())]);
}

#[test]
fn revert_ends_the_plan() {
    let judgement = walk("revert", [20.0, 19.9, 15.0, 12.0]);
    let accepted: Vec<bool> = judgement.stages.iter().map(|s| s.accepted).collect();
    assert_eq!(accepted, [true, false, false, false]);
    assert!(judgement.stages[3].reason.contains("stage 's1' failed"), "{}", judgement.stages[3].reason);
}

#[test]
fn stages_that_nothing_decides_are_not_failed() {
    for on_failure in ["skip", "revert"] {
        let stages =
            |first: &str| stages(on_failure).replacen("variant", &format!("require = ['{first}']\nvariant"), 1);
        let judged = |first: &str| {
            let mut fixture = Fixture::new(&stages(first));
            fixture.time(0.002, move |_, _| 12.0);
            fixture.set("registers", |v, _| if v == 0 { f64::NAN } else { 70.0 });
            fixture.judge()
        };
        for open in ["registers <= 64", "latency_p50 <= previous.latency_p50", "latency_p50 <= best.latency_p50"] {
            let judgement = judged(open);
            assert_eq!(judgement.verdict, OPEN, "{on_failure}, {open}: {}", judgement.reason);
            assert!(judgement.stages.iter().all(|stage| !stage.reason.contains("failed")), "{:?}", judgement.stages);
        }
        let judgement = judged("latency_p50 <= 11");
        assert_eq!(judgement.verdict, FAIL, "{on_failure}: {}", judgement.reason);
    }
}

#[test]
fn an_unexpected_gain_is_warned_of() {
    let judgement = walk("skip", [20.0, 10.0, 9.0, 8.0]);
    assert!(
        judgement.warnings.iter().any(|w| w == "stage 's1' gained 2x, expected 1.05x to 1.15x"),
        "{:?}",
        judgement.warnings
    );
}

#[test]
fn a_stage_that_is_wrong_is_not_kept() {
    let mut fixture = Fixture::new(&stages("skip"));
    fixture.wrong(0).wrong(1).wrong(2).wrong(3);
    let judgement = fixture.judge();
    assert!(judgement.stages.iter().all(|s| !s.accepted && s.verdict == FAIL));
    assert_eq!(judgement.verdict, FAIL);
}

const FALLBACK: &str = r#"
[[gate]]
name = "registers"
require = "registers <= 64"
[fallback]
variant = "REGCAP=96,*"
require = ["registers <= 100"]
"#;

#[test]
fn the_fallback_stands_in_when_gates_fail() {
    let judged = |selected: f64, other: f64| {
        let mut fixture = Fixture::new(FALLBACK);
        fixture.set("registers", |v, _| if v < 2 { selected } else { other });
        fixture.judge()
    };
    assert!(judged(64.0, 0.0).fallback.is_none());
    let fell = judged(70.0, 90.0);
    assert_eq!(fell.verdict, PASS);
    assert_eq!(fell.fallback.unwrap().variant, Some(VariantId("REGCAP=96,THREADS=64".into())));
    assert!(fell.warnings.iter().any(|w| w.starts_with("falling back")));
    assert_eq!(judged(70.0, 120.0).verdict, FAIL);
    assert_eq!(judged(70.0, f64::NAN).verdict, FAIL);
}

fn waived(expires: &str, variant: &str) -> Fixture {
    let mut fixture = Fixture::new(&format!(
        "{}[[waiver]]\ngate = \"g\"\nvariant = \"{variant}\"\nreason = \"a driver bug\"\nowner = \"ada\"\nexpires = {expires}\n",
        gate("registers <= 64")
    ));
    fixture.set("registers", |_, _| 70.0);
    fixture
}

#[test]
fn a_waiver_lets_a_shortfall_through_until_it_expires() {
    let judgement = waived("2026-06-15", "*").judge();
    assert_eq!((judgement.verdict, judgement.gates[0].verdict), (PASS, FAIL));
    assert_eq!(judgement.gates[0].waived.as_ref().unwrap().owner, "ada");
    let judgement = waived("2026-06-14", "*").judge();
    assert_eq!(judgement.verdict, FAIL);
    assert!(judgement.gates[0].waived.is_none() && judgement.gates[0].expired_waiver.is_some());
    assert_eq!(waived("2026-12-31", "REGCAP=96,*").judge().verdict, FAIL);
}

#[test]
fn a_waiver_without_an_end_excuses_nothing() {
    assert_eq!(waived("2027-06-16", "*").judge().verdict, PASS, "366 days");
    let judgement = waived("2027-06-17", "*").judge();
    assert!(judgement.verdict == FAIL && judgement.gates[0].waived.is_none(), "{}", judgement.reason);
}

#[test]
fn a_waiver_excuses_no_unproven_variant() {
    let mut fixture = waived("2026-12-31", "*");
    fixture.unproven(0).unproven(1).unproven(2).unproven(3);
    let selected = fixture.judge();
    assert_ne!(selected.verdict, PASS, "{}", selected.reason);
    let mut each = waived("2026-12-31", "*");
    each.unproven(1).phase.gates[0].on = ncugate_model::Scope::Each;
    let each = each.judge();
    assert!(each.verdict == FAIL && each.gates[0].waived.is_none(), "{}", each.reason);
}

#[test]
fn a_waiver_excuses_neither_missing_nor_wrong_values() {
    let mut fixture = waived("2026-12-31", "*");
    fixture.set("registers", |_, _| f64::NAN);
    assert_eq!(fixture.judge().verdict, OPEN);
    let mut fixture = waived("2026-12-31", "*");
    fixture.wrong(0).wrong(1).wrong(2).wrong(3);
    assert_eq!(fixture.judge().verdict, FAIL);
}

#[test]
fn the_fallback_does_not_stand_in_for_an_inconclusive_phase() {
    let mut fixture = Fixture::new(FALLBACK);
    fixture.set("registers", |v, _| if v < 2 { f64::NAN } else { 60.0 });
    let judgement = fixture.judge();
    assert_eq!(judgement.verdict, OPEN, "{}", judgement.reason);
    assert!(judgement.fallback.is_none());
}

#[test]
fn a_plan_that_ended_early_does_not_pass() {
    let plan = |on_failure: &str| walk(on_failure, [20.0, 19.9, 15.0, 12.0]);
    let (skipped, reverted) = (plan("skip"), plan("revert"));
    assert_eq!(skipped.verdict, PASS, "{}", skipped.reason);
    assert_eq!(reverted.verdict, FAIL, "{}", reverted.reason);
    assert!(reverted.reason.contains("the plan ended at stage 's1'"), "{}", reverted.reason);
}

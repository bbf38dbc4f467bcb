//! Requirements that differ between two phases.

use super::*;
use crate::requirement_changes::{ChangeEffect, requirement_changes, since_the_base, since_the_measurement};
use ncugate_phase::config::{Base, BaseKernels};

const GATES: &str = r#"
[[gate]]
require = "eligible_warps >= 2"
[[gate]]
name = "speed"
require = "latency_p50 <= 1.01 * baseline.latency_p50"
on = "each"
shapes = ["small", "large"]
[[tier]]
name = "minimum"
required = true
require = ["registers <= 64"]
"#;

fn phase(text: &str) -> Phase {
    let text = format!("{BASE}\n{text}");
    parse(Path::new("fixture.toml"), &text).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// The changes after a replacement in the text of the phase, with their effects.
fn changed(from: &str, to: &str) -> Vec<(String, ChangeEffect)> {
    let before = format!("{BASE}\n{GATES}");
    assert!(before.contains(from), "{from}");
    let now =
        parse(Path::new("fixture.toml"), &before.replace(from, to)).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let changes = requirement_changes(&phase(GATES), &now, TODAY);
    changes.into_iter().map(|change| (change.text, change.effect)).collect()
}

fn one(from: &str, to: &str) -> (String, ChangeEffect) {
    let changes = changed(from, to);
    assert_eq!(changes.len(), 1, "{changes:?}");
    changes[0].clone()
}

use ChangeEffect::{Stricter, Unknown, Weaker};

#[test]
fn the_same_requirements_in_other_words_are_no_change() {
    assert_eq!(changed("eligible_warps >= 2", "eligible_warps  >=  2.0"), []);
    assert_eq!(changed("1.01 * baseline.latency_p50", "baseline.latency_p50 * 1.01"), []);
    assert_eq!(changed("[[gate]]\nrequire", "# a comment\n\n[[gate]]\nrequire"), []);
}

#[test]
fn a_limit_that_moved_is_named_with_its_direction() {
    let text = "`eligible_warps >= 2` became `>= 0.1`".to_owned();
    assert_eq!(one("eligible_warps >= 2", "eligible_warps >= 0.1"), (text, Weaker));
    assert_eq!(one("eligible_warps >= 2", "eligible_warps >= 3").1, Stricter);
    assert_eq!(one("eligible_warps >= 2", "eligible_warps > 2").1, Stricter);
    assert_eq!(one("registers <= 64", "registers <= 70").1, Weaker);
    let (text, effect) = one("1.01 * baseline", "2 * baseline");
    assert_eq!(text, "'speed' (`latency_p50 <= 1.01 * baseline.latency_p50`) became `<= 2 * baseline.latency_p50`");
    assert_eq!(effect, Weaker);
    assert_eq!(one("1.01 * baseline", "0.9 * baseline").1, Stricter);
    assert_eq!(one("registers <= 64", "registers <= 64 or spills == 0").1, Unknown);
}

#[test]
fn a_gate_that_is_dropped_added_moved_or_judged_elsewhere_is_named() {
    let dropped = one("[[gate]]\nrequire = \"eligible_warps >= 2\"\n", "");
    assert_eq!(dropped, ("`eligible_warps >= 2` is missing".to_owned(), Weaker));
    let more = "require = [\"registers <= 64\", \"spills == 0\"]";
    assert_eq!(one("require = [\"registers <= 64\"]", more), ("`spills == 0` is new".to_owned(), Stricter));
    let (scope, effect) = one("on = \"each\"", "on = \"REGCAP=64,*\"");
    assert!(scope.ends_with("has `on = \"REGCAP=64,*\"` instead of \"each\"") && effect == Unknown, "{scope}");
    assert_eq!(one("on = \"each\"", "on = \"each\"\nlevel = \"advisory\"").1, Weaker);
    let (tier, effect) = one("required = true\n", "");
    assert_eq!((tier.as_str(), effect), ("`registers <= 64` is advisory instead of required", Weaker));
    let (shapes, effect) = one("shapes = [\"small\", \"large\"]", "shapes = [\"small\"]");
    assert!(shapes.ends_with("is judged at small instead of small, large") && effect == Unknown, "{shapes}");
    assert_eq!(one("on = \"each\"", "on = \"each\"\nat_least = 1").1, Weaker);
    assert_eq!(one("on = \"each\"", "on = \"each\"\ninconclusive = \"warn\"").1, Weaker);
    let moved = changed(
        "[[tier]]\nname = \"minimum\"\nrequired = true\nrequire = [\"registers <= 64\"]",
        "[[gate]]\nrequire = \"registers <= 64\"",
    );
    assert_eq!(moved[0].0, "`registers <= 64` is among the phase's gates instead of tier 'minimum'");
}

#[test]
fn waivers_fallbacks_tolerances_and_seeds_count() {
    let end = "require = [\"registers <= 64\"]\n";
    let waiver = "[[waiver]]\ngate = \"speed\"\nvariant = \"*\"\nreason = \"a driver bug\"\nowner = \"ada\"\n";
    let with = |text: &str| one(end, &format!("{end}{text}"));
    let (waived, effect) = with(&format!("{waiver}expires = 2026-07-01\n"));
    assert_eq!((waived.as_str(), effect), ("'speed' is waived for `*` until 2026-07-01 by ada", Weaker));
    assert_eq!(changed(end, &format!("{end}{waiver}expires = 2026-06-01\n")), [], "it has expired");
    let fallback = "[fallback]\nvariant = \"REGCAP=96,*\"\nrequire = [\"registers <= 100\"]\n";
    assert_eq!(with(fallback), ("the fallback `REGCAP=96,*` is new".to_owned(), Weaker));
    let (tolerance, effect) = one("max_abs = 2e-3", "max_abs = 2e-2");
    assert_eq!((tolerance.as_str(), effect), ("tolerance `max_abs` is 0.02 instead of 0.002", Weaker));
    let derived = changed("tolerance = { max_abs = 2e-3 }", "tolerance = \"derived\"");
    let texts: Vec<_> = derived.iter().map(|(text, effect)| (text.as_str(), *effect)).collect();
    let written = ("tolerance `max_abs` is no bound instead of 0.002", Weaker);
    assert_eq!(texts, [written, ("the tolerance is derived", Unknown)], "no number of one is compared with the other");
    assert_eq!(one("max_abs = 2e-3", "max_abs = 1e-3").1, Stricter);
    assert_eq!(one("seeds = [0, 1, 2]", "seeds = [0]"), ("1 seed instead of 3".to_owned(), Weaker));
}

#[test]
fn the_recorded_phase_lists_every_change_and_the_base_only_what_may_be_weaker() {
    let now = phase(&GATES.replace("warps >= 2", "warps >= 0.1").replace("<= 64", "<= 32"));
    let measured = phase(GATES);
    assert_eq!(
        since_the_measurement(&measured, &now, TODAY).unwrap(),
        "2 limits differ from the recorded phase: `eligible_warps >= 2` became `>= 0.1`; `registers <= 64` became `<= 32`"
    );
    assert_eq!(since_the_measurement(&measured, &measured, TODAY), None);
    let base =
        |kernels| Base { reference: "main".into(), commit: "3f2a91c0b1d2aa".into(), folder: "base".into(), kernels };
    let of = base(BaseKernels::Of(Box::new(measured)));
    let said = "weaker than at the base main (3f2a91c0b1d2): `eligible_warps >= 2` became `>= 0.1`";
    assert_eq!(since_the_base(&of, &now, TODAY).unwrap(), said);
    let absent = base(BaseKernels::Absent { reason: "it has no such file".into() });
    assert_eq!(since_the_base(&absent, &now, TODAY), None);
    let judged = {
        let mut fixture = Fixture::new(GATES);
        fixture.phase = Phase { base: Some(of), ..now };
        fixture.judge()
    };
    assert_eq!(judged.changed_limits, [said]);
}

//! Gates over variants that are launched at some shapes only.

use super::*;
use crate::gates_without_launch;

/// Two more variants (4 and 5), each launched at the shapes of its condition; the second gets `second`.
fn dispatched(gate: &str, second: &str) -> Fixture {
    let variant = |name: &str, condition: &str| {
        format!(
            "[[variant]]\nname = \"{name}\"\nparams = {{ REGCAP = 64, THREADS = 64 }}\nkernel = {{ where = \"{condition}\" }}\n"
        )
    };
    let mut fixture = Fixture::new(&(variant("part_small", "S < 512") + &variant("part_large", second) + gate));
    fixture.set("registers", |_, _| 60.0);
    fixture.time(0.002, |variant, _| if variant == LARGE { 9.0 } else { 10.0 + variant as f64 });
    for (row, (variant, shape)) in fixture.places().into_iter().enumerate() {
        let out = fixture.plan.variants[variant].left_out_at(&fixture.phase.workload.shapes[shape].name);
        if let Some(reason) = out.map(Arc::from) {
            fixture.quantities.leave_out(row, &reason);
        }
    }
    fixture
}

fn on(scope: &str, shapes: &str) -> String {
    format!("{}on = \"{scope}\"\nshapes = {shapes}\n", gate("registers <= 64"))
}

const ALL: &str = "[\"small\", \"medium\", \"large\"]";
const LARGE: usize = 5;

#[test]
fn a_gate_on_several_variants_judges_each_where_it_is_launched() {
    for (scope, pairs) in [("part_*", "3 of 6"), ("each", "15 of 18")] {
        let judgement = dispatched(&on(scope, ALL), "S >= 512").judge();
        let gate = &judgement.gates[0];
        assert_eq!((gate.verdict, gate.not_launched), (PASS, 3), "{}", gate.reason);
        let said = format!("judged at {pairs} pairs of variant and shape; the others are not launched (`where`)");
        assert!(gate.reason.contains(&said), "{}", gate.reason);
        let listed = format!(
            "of 1 gate, {}1 is judged at {} pairs",
            if scope == "each" { "" } else { "1 judges only \"part_*\", " },
            pairs.replace("of", "of its")
        );
        assert!(judgement.cautions.iter().any(|caution| caution.contains(&listed)), "{:?}", judgement.cautions);
        assert!(
            judgement.warnings.is_empty(),
            "an excluded shape does not count as a missing value: {:?}",
            judgement.warnings
        );
    }
    let mut fixture = dispatched(&on("part_*", ALL), "S >= 512");
    fixture.set("registers", |v, s| if (v, s) == (LARGE, 1) { 70.0 } else { 60.0 });
    let failed = fixture.first();
    assert_eq!(failed.verdict, FAIL);
    assert_eq!(
        failed.deciding_case().map(|case| (case.variant.0.as_str(), case.shape.0.as_str())),
        Some(("part_large", "medium"))
    );
}

#[test]
fn a_shape_without_a_variant_and_a_variant_without_a_shape_are_inconclusive() {
    for (gate, second, said, listed) in [
        (on("part_*", ALL), "S == 512", "no variant is launched at shape `large`", "all its variants at large"),
        (on("part_*", "[\"large\"]"), "S >= 512", "launched at no shape of the gate", "part_small at all its shapes"),
        (on("part_small", ALL), "S >= 512", "no variant is launched at shape", "all its variants at medium"),
    ] {
        let fixture = dispatched(&gate, second);
        let judged = fixture.first();
        assert!(judged.verdict == OPEN && judged.reason.contains(said), "{gate}: {}", judged.reason);
        let before = gates_without_launch(&fixture.phase, &fixture.plan);
        assert!(before.len() == 1 && before[0].contains(listed), "{before:?}");
    }
    let covered = dispatched(&on("part_*", ALL), "S >= 512");
    assert!(gates_without_launch(&covered.phase, &covered.plan).is_empty());
}

#[test]
fn only_the_condition_of_the_phase_excuses_a_pair() {
    let gate = on("part_*", ALL);
    let at =
        |fixture: &Fixture, shape: usize| fixture.places().iter().position(|place| *place == (LARGE, shape)).unwrap();
    // a launch that the chip refuses, as the build records it
    let mut refused = dispatched(&gate, "S >= 512");
    let row = at(&refused, 1);
    refused.quantities.leave_out(row, &"not launched at shape `medium`: too much shared memory".into());
    // a value that is not measured
    let mut missing = dispatched(&gate, "S >= 512");
    missing.set("registers", |v, s| if (v, s) == (LARGE, 1) { f64::NAN } else { 60.0 });
    for fixture in [&refused, &missing] {
        let judged = fixture.first();
        assert_eq!((judged.verdict, judged.not_launched), (OPEN, 3), "{}", judged.reason);
    }
    let mut wrong = dispatched(&gate, "S >= 512");
    assert_eq!(wrong.wrong(LARGE).first().verdict, FAIL);
    // gates that one variant decides, and gates that need only some shapes
    let some = format!("{gate}at_least = 3\n");
    for gate in [on("selected", ALL), on("any", ALL).replace("any", "best:part_*"), some] {
        let judged = dispatched(&gate, "S >= 512").first();
        assert!(judged.verdict == OPEN && judged.not_launched == 0, "{gate}: {}", judged.reason);
    }
    let few = dispatched(&on("part_*", ALL).replace("on =", "at_least = 1\non ="), "S >= 512").first();
    assert_eq!(few.verdict, PASS);
}

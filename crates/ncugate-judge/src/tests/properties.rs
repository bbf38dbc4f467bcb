//! Properties that hold for any measurements.

use super::*;
use proptest::prelude::*;

fn measured() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -100.0..100.0_f64,
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
        1 => Just(0.0),
    ]
}

fn cell() -> impl Strategy<Value = Cell> {
    prop_oneof![5 => measured().prop_map(Cell::Value), 1 => Just(Cell::Missing("gone".into()))]
}

fn requirement() -> impl Strategy<Value = String> {
    let comparison = prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]);
    let side = prop::sample::select(vec!["eligible_warps", "2 * eligible_warps", "eligible_warps + registers"]);
    (side, comparison, 2..50_i32).prop_map(|(side, comparison, limit)| format!("{side} {comparison} {limit}"))
}

fn on() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["selected", "each", "any", "REGCAP=64,*", "best:REGCAP=64,*"])
}

fn filled(text: &str, cells: &[Cell], standing: &[u8]) -> Fixture {
    let mut fixture = Fixture::new(text);
    fixture.quantities.set_column("eligible_warps", cells.to_vec());
    fixture.set("registers", |_, _| 1.0);
    for (variant, standing) in standing.iter().enumerate() {
        match standing {
            0 => fixture.wrong(variant),
            1 => fixture.unproven(variant),
            _ => &mut fixture,
        };
    }
    fixture
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// A pass rests only on finite values of proven variants.
    #[test]
    fn nothing_missing_becomes_a_pass(
        require in requirement(),
        on in on(),
        cells in prop::collection::vec(cell(), 15),
        standing in prop::collection::vec(0..6_u8, 4),
    ) {
        let fixture = filled(&format!("{}on = \"{on}\"", gate(&require)), &cells, &standing);
        let judgement = fixture.judge();
        for case in judgement.gates[0].cases.iter().filter(|c| c.outcome.verdict == PASS) {
            let finite = fixture.quantities.read(&case.variant, &case.shape, "eligible_warps").value();
            prop_assert!(finite.is_some_and(f64::is_finite));
            let proven = matches!(fixture.correctness[&case.variant], Correctness::Proven { .. });
            prop_assert!(proven);
        }
        if judgement.verdict == PASS {
            prop_assert!(judgement.gates[0].cases.iter().any(|c| c.outcome.verdict == PASS));
        }
        if on == "each" && judgement.verdict == PASS {
            prop_assert!(judgement.gates[0].cases.iter().all(|c| c.outcome.verdict == PASS));
        }
    }

    /// The order of the plan and of the table has no influence.
    #[test]
    fn order_does_not_change_verdicts(
        require in requirement(),
        on in on(),
        cells in prop::collection::vec(cell(), 15),
        standing in prop::collection::vec(0..6_u8, 4),
        latencies in prop::collection::vec(1..4_u32, 5),
        order in Just((0..5_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut fixture = filled(&format!("{}on = \"{on}\"", gate(&require)), &cells, &standing);
        fixture.time(0.01, |v, _| f64::from(latencies[v]));
        let before = fixture.judge();
        fixture.plan.variants = order.iter().map(|&at| fixture.plan.variants[at].clone()).collect();
        let after = fixture.judge();
        prop_assert_eq!(before.verdict, after.verdict);
        prop_assert_eq!(before.gates[0].verdict, after.gates[0].verdict);
        prop_assert_eq!(before.selected, after.selected);
        for variant in &before.variants {
            prop_assert!(after.variants.contains(variant));
        }
    }

    /// A stricter limit never helps.
    #[test]
    fn tightening_never_turns_fail_into_pass(
        cells in prop::collection::vec(cell(), 15),
        standing in prop::collection::vec(0..6_u8, 4),
        on in on(),
        limit in 1..50_i32,
        tighter in 0..50_i32,
        up in any::<bool>(),
    ) {
        let (comparison, tight) = if up { (">=", limit + tighter) } else { ("<=", (limit - tighter).max(0)) };
        let judged = |limit: i32| {
            let text = format!("{}on = \"{on}\"", gate(&format!("eligible_warps {comparison} {limit}")));
            filled(&text, &cells, &standing).first().verdict
        };
        let (loose, tight) = (judged(limit), judged(tight));
        prop_assert!(!(loose == FAIL && tight != FAIL), "{loose:?} -> {tight:?}");
        prop_assert!(!(tight == PASS && loose != PASS), "{loose:?} -> {tight:?}");
    }

    /// The same under noise.
    #[test]
    fn tightening_a_latency_gate_never_helps(
        spread in 0.0..0.05_f64,
        limit in 9.0..11.0_f64,
        tighter in 0.0..1.0_f64,
    ) {
        let judged = |limit: f64| {
            let mut fixture = Fixture::new(&gate(&format!("latency_p50 <= {limit:.6}")));
            fixture.time(spread, |_, _| 10.0);
            fixture.first().verdict
        };
        let (loose, tight) = (judged(limit), judged(limit - tighter));
        prop_assert!(!(loose == FAIL && tight != FAIL));
        prop_assert!(!(tight == PASS && loose != PASS));
    }
}

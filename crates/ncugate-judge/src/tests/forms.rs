//! Every form a requirement can take.

use super::*;
use crate::{StaticCheck, StoredRun, preconditions, static_check};
use ncugate_model::ComputeCapability;
use ncugate_model::quantities::Bounds;

#[test]
fn absolute() {
    for (metric, require, inside, outside) in [
        ("registers", "registers <= 64", 64.0, 65.0),
        ("bank_conflict_pct", "bank_conflict_pct < 5", 4.9, 5.0),
        ("spills", "spills == 0", 0.0, 1.0),
        ("blocks_per_sm", "blocks_per_sm >= 4", 4.0, 3.0),
        ("dram_pct", "dram_pct > 60", 60.1, 60.0),
        ("waves", "waves != 1", 2.0, 1.0),
    ] {
        assert_eq!(verdict(require, |f| f.set(metric, |_, _| inside)).verdict, PASS, "{require}");
        assert_eq!(verdict(require, |f| f.set(metric, |_, _| outside)).verdict, FAIL, "{require}");
    }
}

#[test]
fn a_failure_names_its_shortfall_and_a_pass_the_number_of_variants() {
    let failed = verdict("eligible_warps >= 2", |f| f.set("eligible_warps", |_, _| 0.27));
    assert_eq!(failed.reason, "REGCAP=64,THREADS=64: eligible_warps is 0.27, needs at least 2 (short by 1.73)");
    let case = &failed.cases[failed.deciding.unwrap()];
    assert!((case.outcome.margin.unwrap() + 1.73).abs() < 1e-12);
    assert_eq!((failed.metric.as_deref(), failed.unit.as_str()), (Some("eligible_warps"), "warp"));
    let mut fixture = Fixture::new(&(gate("registers <= 64") + "on = \"each\""));
    let passed = fixture.set("registers", |v, _| 60.0 + v as f64).first();
    assert_eq!(passed.reason, "held for 4 variants at shape 'large', tightest by 1");
    assert_eq!(passed.cases.len(), 4);
    // Next to the numbers of its row.
    assert_eq!(failed.summary.why, "short by 1.73 at shape large");
    let failed = fixture.set("registers", |v, _| 63.0 + v as f64).first();
    assert_eq!(failed.verdict, FAIL);
    assert_eq!(failed.summary.why, format!("{}: over by 2", failed.summary.variant.unwrap()).as_str());
}

#[test]
fn relative_to_the_baseline() {
    // selected 10 us, baseline 12 us
    assert_eq!(verdict("latency_p50 <= 0.98 * baseline.latency_p50", |f| f).verdict, PASS);
    assert_eq!(verdict("latency_p50 <= 0.8 * baseline.latency_p50", |f| f).verdict, FAIL);
    let faster = verdict("speedup(\"flash\") >= 1.10", |f| f);
    assert_eq!((faster.verdict, faster.unit.as_str()), (PASS, "x"));
    assert!((faster.cases[0].outcome.measured.unwrap() - 1.2).abs() < 1e-9);
    assert_eq!(verdict("speedup(\"flash\") >= 1.25", |f| f).verdict, FAIL);
    assert_eq!(verdict("speedup(\"baseline\") >= 1.15", |f| f).verdict, PASS);
}

#[test]
fn relative_to_stored_runs() {
    let fixture = Fixture::new(
        &[
            gate("registers <= 1.05 * previous.registers"),
            gate("latency_p50 <= 1.02 * best.latency_p50"),
            gate("latency_p90 <= baseline.latency_p90"),
        ]
        .concat()
        .replacen("\"g\"", "\"a\"", 1)
        .replacen("\"g\"", "\"b\"", 1),
    );
    let stored = |scale: f64| {
        let mut quantities = Quantities::new([(VariantId("winner".into()), shape("large"))]);
        for (metric, value) in [("registers", 1000.0), ("latency_p50", 10.0), ("latency_p90", 10.1)] {
            quantities.set_column(metric, vec![Cell::Value(value * scale)]);
        }
        let times: Vec<f64> = (0..60).map(|i| 10.0 * scale * (1.0 + 0.002 * wiggle(i, 9))).collect();
        quantities.set_samples(0, samples(&times));
        quantities
    };
    let judged = |scale: f64| {
        let mut now = Fixture { phase: fixture.phase.clone(), ..Fixture::new("") };
        now.set("registers", |_, _| 1000.0).set("latency_p90", |v, _| 10.02 + v as f64);
        let quantities = stored(scale);
        let mut context = calibrated(Context::assuming_latencies(None, TODAY));
        for name in ["previous", "best", "baseline"] {
            let label = "run 7".to_owned();
            context
                .stored
                .insert(name.into(), StoredRun { label, quantities: &quantities, variant: VariantId("winner".into()) });
        }
        now.judge_with(&context).gates.iter().map(|g| g.verdict).collect::<Vec<_>>()
    };
    assert_eq!(judged(1.02), [PASS, PASS, PASS]);
    assert_eq!(judged(0.9), [FAIL, FAIL, FAIL]);
    // nothing stored under that name
    let now = Fixture { phase: fixture.phase.clone(), ..Fixture::new("") };
    let judgement = now.judge();
    assert_eq!(judgement.gates[0].verdict, OPEN);
    assert!(judgement.gates[1].reason.contains("no stored run for 'best'"), "{}", judgement.gates[1].reason);
}

#[test]
fn over_shapes() {
    let at_least = |needed: &str, held: usize| {
        let text = format!("{}shapes = [\"small\", \"medium\", \"large\"]\n{needed}", gate("registers <= 64"));
        let mut fixture = Fixture::new(&text);
        fixture.set("registers", move |_, s| if s < held { 64.0 } else { 70.0 });
        fixture.first().verdict
    };
    assert_eq!(at_least("at_least = 2", 2), PASS);
    assert_eq!(at_least("at_least = 2", 1), FAIL);
    assert_eq!(at_least("", 2), FAIL);
    assert_eq!(at_least("", 3), PASS);
}

#[test]
fn over_seeds_and_shapes_for_correctness() {
    let text = gate("correct and max_abs <= 2e-3") + "shapes = [\"small\", \"large\"]";
    let mut fixture = Fixture::new(&text);
    fixture.set("max_abs", |_, _| 1e-4);
    assert_eq!(fixture.first().verdict, PASS);
    for v in 0..4 {
        fixture.wrong(v);
    }
    let judgement = fixture.judge();
    assert_eq!((judgement.gates[0].verdict, judgement.verdict), (FAIL, FAIL));
    assert!(judgement.selected.is_none());
}

#[test]
fn compound() {
    let require = "not (dram_pct > 80 and tensor_pct < 40)";
    let set = |dram: f64, tensor: f64| {
        verdict(require, move |f| f.set("dram_pct", |_, _| dram).set("tensor_pct", |_, _| tensor))
    };
    assert_eq!(set(85.0, 50.0).verdict, PASS);
    assert_eq!(set(70.0, 10.0).verdict, PASS);
    let failed = set(85.0, 10.0);
    assert_eq!(failed.verdict, FAIL);
    assert!(failed.reason.contains("dram_pct is 85, tensor_pct is 10"), "{}", failed.reason);
    // a deciding side does not excuse the missing value on the other side
    assert_eq!(verdict(require, |f| f.set("dram_pct", |_, _| 10.0)).verdict, OPEN);
}

#[test]
fn over_parameters_dimensions_and_verbatim_metrics() {
    assert_eq!(
        verdict("dtype == \"f16\" and cc >= 8.9 and spills == 0", |f| f.set("spills", |_, _| 0.0)).verdict,
        PASS
    );
    assert_eq!(verdict("grid_blocks * THREADS == S", |f| f.set("grid_blocks", |_, _| 32.0)).verdict, PASS);
    let name = "sm__warps_active.avg.per_cycle_active";
    let verbatim = |value: f64| verdict(&format!("{name} >= 3"), move |f| f.set(name, |_, _| value));
    assert_eq!(verbatim(4.0).verdict, PASS);
    assert!(verbatim(2.0).reason.contains("sm__warps_active.avg.per_cycle_active is 2, needs at least 3"));
    let sum = format!("{name} + 1 <= baseline.{name}");
    assert_eq!(verdict(&sum, |f| f.set(name, |v, _| if v == 4 { 9.0 } else { 2.0 })).verdict, PASS);
}

#[test]
fn over_scalars_as_the_workload_defines_them() {
    let judged = |require: &str| {
        let mut fixture = Fixture::new("");
        let text = format!("{BASE}\n{}", gate(require)).replace(
            "[workload.shapes]",
            "scalars = { scale = \"1 / S ** 0.5\", per = \"S // THREADS\" }\n[workload.shapes]",
        );
        fixture.phase = parse(Path::new("fixture.toml"), &text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        fixture.set("registers", |_, _| 64.0).first()
    };
    // at shape 'large' S is 2048; the selected variant has 64 threads
    assert_eq!(judged("registers * scale < 1.5").verdict, PASS);
    assert_eq!(judged("registers * scale > 1.5").verdict, FAIL);
    assert_eq!(judged("registers <= 2 * per").verdict, PASS);
    assert_eq!(judged("registers == 2 * per").verdict, PASS);
    assert_eq!(judged("registers > 2 * per").verdict, FAIL);
    assert_eq!(judged("scale > 0 and S == 2048 and registers > 1").verdict, PASS);
}

#[test]
fn on_selected_each_any_or_a_glob() {
    let on = |on: &str| {
        let mut fixture = Fixture::new(&format!("{}on = \"{on}\"", gate("registers <= 64")));
        fixture.set("registers", |v, _| if v < 2 { 64.0 } else { 96.0 });
        fixture.first()
    };
    assert_eq!(on("selected").verdict, PASS);
    assert_eq!(on("each").verdict, FAIL);
    assert_eq!(on("any").verdict, PASS);
    assert_eq!(on("REGCAP=64,*").verdict, PASS);
    assert_eq!(on("REGCAP=96,*").verdict, FAIL);
    let each = on("each");
    assert!(
        each.reason.starts_with("2 of 4 failed") || each.reason.starts_with("2 variants of 4 failed"),
        "{}",
        each.reason
    );
}

#[test]
fn on_the_best_of_a_glob() {
    let mut fixture = Fixture::new(&format!("{}on = \"best:REGCAP=96,*\"", gate("registers <= 64")));
    fixture.set("registers", |v, _| [0.0, 0.0, 64.0, 70.0, 0.0][v]);
    let held = fixture.first();
    assert_eq!((held.verdict, held.cases.len()), (PASS, 1));
    assert_eq!(held.cases[0].variant.0, "REGCAP=96,THREADS=64");
    assert_eq!(stops(&fixture.judge(), 3), ["registers <= 64 by 6"], "it would fail, were it the best");
    assert!(stops(&fixture.judge(), 0).is_empty());
    // the next best if the best is wrong; no variant if none is proven correct
    assert_eq!(fixture.wrong(2).first().verdict, FAIL);
    let unproven = fixture.unproven(2).unproven(3).first();
    let reason = "no variant is both proven correct and measured by latency_p50";
    assert!(unproven.verdict == OPEN && unproven.reason.starts_with(reason), "{unproven:?}");
    assert_eq!(fixture.wrong(2).wrong(3).first().verdict, FAIL);
    fixture.phase.gates[0].on = ncugate_model::Scope::Best("nothing*".to_owned());
    assert_eq!(fixture.first().reason, "no variant matches 'nothing*'");
    let mut text = format!("{BASE}\n{}on = \"best:NOTHING*\"", gate("registers <= 64"));
    let phase = parse(Path::new("fixture.toml"), &text).unwrap();
    assert!(unroll(&phase).unwrap_err().to_string().contains("which matches no candidate"));
    text.push_str("\nshapes = [\"small\", \"large\"]");
    assert!(parse(Path::new("fixture.toml"), &text.replace("best:NOTHING*", "best:[")).is_err());
}

#[test]
fn the_best_of_a_glob_is_asked_of_any_before_anything_runs() {
    let of = |registers: f64| {
        let mut fixture = Fixture::new(&(named("g", "registers <= 64") + "on = \"best:REGCAP=96,*\""));
        fixture.set("registers", |v, _| if v == 3 { registers } else { 100.0 });
        let told = static_check(
            &fixture.phase,
            &fixture.plan,
            &fixture.quantities,
            &none(),
            &Context::assuming_latencies(None, TODAY),
        );
        told.groups[0].judged[0].verdict
    };
    assert_eq!((of(64.0), of(65.0)), (PASS, FAIL));
}

#[test]
fn selection_is_the_best_correct_candidate_and_ties_do_not_depend_on_order() {
    let mut fixture = Fixture::new(&gate("registers <= 64"));
    fixture.set("registers", |_, _| 60.0).wrong(0);
    let selected = fixture.judge().selected.unwrap();
    assert_eq!((selected.variant.0.as_str(), selected.among), ("REGCAP=64,THREADS=128", 3));
    fixture.time(0.0, |_, _| 10.0);
    let tied = fixture.judge().selected.unwrap().variant;
    fixture.plan.variants.reverse();
    assert_eq!(fixture.judge().selected.unwrap().variant, tied);
}

#[test]
fn the_best_that_passes_is_selected_and_the_best_where_none_does() {
    let mut fixture = Fixture::new(&(gate("registers <= 64") + &gate("eligible_warps >= 2").replace("\"g\"", "\"w\"")));
    fixture.set("registers", |v, _| [70.0, 64.0, 60.0, 60.0, 0.0][v]).set("eligible_warps", |_, _| 3.0).wrong(1);
    let best = fixture.judge();
    assert_eq!((best.selected.unwrap().variant.0.as_str(), best.verdict), ("REGCAP=64,THREADS=64", FAIL));
    fixture.phase.select = ncugate_phase::config::Selection::BestThatPasses;
    let passing = fixture.judge();
    assert_eq!((passing.selected.unwrap().variant.0.as_str(), passing.verdict), ("REGCAP=96,THREADS=64", PASS));
    assert_eq!(passing.variants[0].rank, Some(1), "the objective ranks as before");
    // an advisory gate does not prevent selection, but an undecided required gate does
    fixture.set("eligible_warps", |v, _| if v == 2 { f64::NAN } else { 3.0 });
    let selected = fixture.judge().selected.unwrap().variant.0;
    assert_eq!(selected, "REGCAP=96,THREADS=128");
    fixture.set("eligible_warps", |_, _| 1.0);
    let none = fixture.judge();
    assert_eq!((none.selected.unwrap().variant.0.as_str(), none.verdict), ("REGCAP=64,THREADS=64", FAIL));
}

#[test]
fn variants_list_their_failing_gates() {
    let mut fixture = Fixture::new(&(gate("registers <= 64") + &gate("eligible_warps >= 2").replace("\"g\"", "\"w\"")));
    fixture.set("registers", |v, _| [64.0, 70.0, 64.0, 64.0, 0.0][v]).set("eligible_warps", |_, _| 1.0).wrong(2);
    let judgement = fixture.judge();
    assert_eq!(stops(&judgement, 1), ["eligible_warps >= 2 by 1", "registers <= 64 by 6"]);
    assert_eq!(judgement.variants[1].verdict, FAIL);
    assert_eq!(stops(&judgement, 2), ["max_abs is 1"]);
    assert_eq!((judgement.variants[2].rank, judgement.variants[3].rank), (None, Some(3)));
    assert_eq!((judgement.variants[4].verdict, judgement.variants[4].stopped_by.len()), (PASS, 0));
}

#[test]
fn preconditions_are_judged_before_anything_is_built() {
    let judged = |require: &str, cc| {
        let fixture = Fixture::new(&format!("{}[[precondition]]\nrequire = '{require}'", gate("registers <= 64")));
        preconditions(&fixture.phase, cc)[0].verdict
    };
    assert_eq!(judged("S % 16 == 0", None), PASS);
    assert_eq!(judged("S % 256 == 0", None), FAIL);
    assert_eq!(judged("dtype == \"f16\"", None), PASS);
    assert_eq!(judged("cc >= 8.9", Some(ComputeCapability::new(8, 9))), PASS);
    assert_eq!(judged("cc >= 8.9", Some(ComputeCapability::new(10, 0))), PASS);
    assert_eq!(judged("cc >= 8.9", Some(ComputeCapability::new(8, 6))), FAIL);
    assert_eq!(judged("cc >= 8.9", None), OPEN);
}

/// A value per gate, with the gate's name.
type Named<'a, T> = Vec<(&'a str, T)>;

/// Judged gates with their verdicts, and the others with the reason.
fn shown(told: &StaticCheck) -> (Named<'_, Verdict>, Named<'_, &str>) {
    let own = &told.groups[0];
    let judged = own.judged.iter().map(|g| (g.name.as_str(), g.verdict));
    let unjudged = own.unjudged.iter().map(|g| (g.name.as_str(), g.reason.as_str()));
    (judged.collect(), unjudged.collect())
}

fn named(name: &str, require: &str) -> String {
    gate(require).replace("\"g\"", &format!("\"{name}\""))
}

#[test]
fn gates_on_build_and_launch_are_judged_without_a_gpu() {
    let text = [
        named("g", "registers <= 64"),
        named("s", "shared_mem <= 49152"),
        named("w", "eligible_warps >= 2 and registers <= 64"),
        named("c", "correct == 1"),
        named("n", "sm__warps_active.avg.per_cycle_active > 1"),
        named("f", "speedup(\"flash\") > 1"),
    ];
    let mut fixture = Fixture::new(&text.concat());
    fixture.set("registers", |v, _| 63.0 + v as f64).set("shared_mem", |_, _| 50_000.0);
    let told = static_check(
        &fixture.phase,
        &fixture.plan,
        &fixture.quantities,
        &none(),
        &Context::assuming_latencies(None, TODAY),
    );
    let (judged, unjudged) = shown(&told);
    assert_eq!(judged, [("g", PASS), ("s", FAIL)]);
    assert_eq!(unjudged, ["w", "c", "n", "f"].map(|name| (name, "measured on a GPU")));
}

#[test]
fn theoretical_occupancy_fails_gates_on_more_and_passes_none() {
    let text = [
        named("more", "achieved_occupancy >= 50"),
        named("warps", "active_warps > 3"),
        named("eligible", "eligible_warps >= 2.7"),
        named("less", "achieved_occupancy >= 10"),
        named("most", "achieved_occupancy <= 5"),
        named("both", "achieved_occupancy >= 50 and registers <= 64"),
    ];
    let tier = "[[tier]]\nname = \"t\"\nrequired = true\nrequire = ['achieved_occupancy >= 20']\n";
    let mut fixture = Fixture::new(&(text.concat() + tier));
    let context = Context::new(Some(ComputeCapability::new(9, 0)), TODAY);
    let told = |fixture: &Fixture| static_check(&fixture.phase, &fixture.plan, &fixture.quantities, &none(), &context);
    fixture.set("registers", |_, _| 64.0);
    assert_eq!(shown(&told(&fixture)).0, [], "unknown occupancy bounds nothing");
    fixture.set("theoretical_occupancy", |_, _| f64::NAN);
    assert_eq!(shown(&told(&fixture)).0, []);
    // 16.7 % of 64 warps are 10.7 of an SM and 2.67 of a scheduler
    fixture.set("theoretical_occupancy", |_, _| 16.7);
    let found = told(&fixture);
    assert_eq!(shown(&found).0, [("more", FAIL), ("warps", FAIL), ("eligible", FAIL)]);
    assert_eq!(shown(&found).1, ["less", "most", "both"].map(|name| (name, "measured on a GPU")));
    let more = &found.groups[0].judged[0];
    assert_eq!(more.require.text(), "achieved_occupancy >= 50");
    assert!(more.reason.contains("theoretical_occupancy") && more.reason.contains("16.7"), "{}", more.reason);
    assert!(found.groups[1].impossible.as_ref().is_some_and(|why| why.contains("16.7")), "{:?}", found.groups[1]);
    assert_eq!(found.verdict(), FAIL);
    // one candidate can reach all limits, and at 20 % none can reach 50 % and 2.7 warps together
    fixture.set("theoretical_occupancy", |v, _| if v == 2 { 50.0 } else { 16.7 });
    let found = told(&fixture);
    assert_eq!((shown(&found).0, found.verdict()), (vec![], PASS));
    assert!(found.narrow.iter().any(|line| line.starts_with("only 1 of 4 candidates can pass 'more'")), "{found:?}");
}

#[test]
fn a_kernel_baseline_is_compared_with_before_anything_runs() {
    let kernel = "[[baseline]]\nname = \"good\"\nparams = { REGCAP = 64, THREADS = 32 }\n";
    let text = [
        named("built", "registers <= good.registers"),
        named("worse", "registers < good.registers"),
        named("command", "registers <= flash.registers"),
        named("first", "registers <= baseline.registers"),
        named("stored", "registers <= best.registers"),
        named("counted", "eligible_warps > good.eligible_warps"),
    ];
    let mut fixture = Fixture::new(&(kernel.to_owned() + &text.concat()));
    fixture.set("registers", |_, _| 64.0);
    let told = static_check(
        &fixture.phase,
        &fixture.plan,
        &fixture.quantities,
        &none(),
        &Context::assuming_latencies(None, TODAY),
    );
    let (judged, unjudged) = shown(&told);
    assert_eq!(judged, [("built", PASS), ("worse", FAIL)]);
    let command = "'flash' is an external command; its launches are known only after it runs";
    let stored = "'best' is known only after a measurement";
    let expected = [("command", command), ("first", command), ("stored", stored), ("counted", "measured on a GPU")];
    assert_eq!(unjudged, expected);
}

#[test]
fn a_baseline_that_did_not_build_leaves_its_comparison_open() {
    let kernel = "[[baseline]]\nname = \"good\"\nparams = { REGCAP = 64, THREADS = 32 }\n";
    let fixture = Fixture::new(&(kernel.to_owned() + &named("g", "registers <= good.registers")));
    let told = static_check(
        &fixture.phase,
        &fixture.plan,
        &fixture.quantities,
        &none(),
        &Context::assuming_latencies(None, TODAY),
    );
    assert_eq!(shown(&told).0, [("g", OPEN)]);
}

#[test]
fn jointly_impossible_gates_are_reported_with_the_arithmetic() {
    let tier = "[[tier]]\nname = \"all\"\nrequired = true\nrequire = ['shared_mem <= 48 KiB']\n";
    let mut fixture =
        Fixture::new(&(named("lean", "registers <= 64") + &named("full", "blocks_per_sm >= 4 blocks") + tier));
    // two candidates hold each gate, but none holds both
    fixture.set("registers", |v, _| if v < 2 { 64.0 } else { 96.0 }).set("shared_mem", |_, _| 1024.0);
    let told = |fixture: &mut Fixture, blocks: fn(usize) -> f64, refused: &[usize]| {
        fixture.set("blocks_per_sm", move |v, _| blocks(v));
        let refused = refused.iter().map(|&at| fixture.plan.variants[at].id.clone()).collect();
        let context = Context::assuming_latencies(None, TODAY);
        static_check(&fixture.phase, &fixture.plan, &fixture.quantities, &refused, &context)
    };
    let apart = told(&mut fixture, |v| if v < 2 { 2.0 } else { 8.0 }, &[]);
    assert!(apart.groups[0].judged.iter().all(|gate| gate.verdict == PASS), "each can be held by somebody");
    let said = apart.impossible.unwrap();
    let arithmetic =
        "of 4 candidates, 2 can pass 'lean' (registers <= 64), 2 can pass 'full' (blocks_per_sm >= 4 blocks), 4 can";
    assert!(said.contains(arithmetic) && said.contains("and none can pass all; the nearest"), "{said}");
    assert_eq!(told(&mut fixture, |v| if v == 0 { 8.0 } else { 2.0 }, &[]).impossible, None);
    let refused = told(&mut fixture, |v| if v == 0 { 8.0 } else { 2.0 }, &[0]).impossible.unwrap();
    assert!(refused.contains("3 can be launched"), "{refused}");
    let refused = told(&mut fixture, |_| 8.0, &[0, 1, 2, 3]).impossible.unwrap();
    assert!(refused.ends_with(": none of 4 candidates can be built and launched"), "{refused}");
}

#[test]
fn waves_wait_for_the_number_of_multiprocessors() {
    let mut fixture = Fixture::new(&named("w", "waves >= 1"));
    fixture.set("waves", |_, _| 2.0);
    let of = |sms| {
        let context = Context { sms, ..Context::assuming_latencies(None, TODAY) };
        static_check(&fixture.phase, &fixture.plan, &fixture.quantities, &none(), &context)
    };
    assert_eq!(shown(&of(Some(132))).0, [("w", PASS)]);
    assert_eq!(shown(&of(None)), (vec![], vec![("w", "the GPU's number of SMs is unknown; give it with --sms")]));
}

fn none() -> std::collections::BTreeSet<VariantId> {
    std::collections::BTreeSet::new()
}

/// The verdict for the variant `solo` of a gate that names it.
fn of_itself(require: &str) -> GateResult {
    let solo = "[[variant]]\nname = \"solo\"\nparams = { REGCAP = 64, THREADS = 32 }\n";
    let mut fixture = Fixture::new(&format!("{solo}{}on = \"solo\"\n", gate(require)));
    fixture.time(0.002, |_, _| 10.0).set("registers", |_, _| 60.0);
    fixture.first()
}

#[test]
fn a_comparison_with_itself_is_inconclusive_in_every_form() {
    for require in [
        "latency_p50 <= solo.latency_p50",
        "latency_p50 <= solo.latency_p50 and registers <= 64",
        "registers <= 64 and (registers <= 8 or 1.5 * latency_p50 <= 2 * solo.latency_p50)",
        "latency_p50 <= solo.latency_p50 or registers <= 64",
        "not latency_p50 > solo.latency_p50",
        "not (latency_p50 / solo.latency_p50 > 1.1 or registers > 64)",
        "speedup(\"solo\") >= 1",
        "speedup(\"solo\") >= 1 and registers <= 64",
        "speedup(\"solo\") >= 1 if registers <= 64 else registers <= 70",
        "registers <= solo.registers and latency_p50 <= flash.latency_p50",
    ] {
        let judged = of_itself(require);
        assert_eq!(judged.verdict, OPEN, "{require}: {}", judged.reason);
        assert!(judged.reason.contains("it compares 'solo' with itself"), "{require}: {}", judged.reason);
    }
    assert_eq!(of_itself("latency_p50 <= flash.latency_p50 * 1.1 and registers <= 64").verdict, PASS);
    assert_eq!(
        of_itself("latency_p50 <= max(solo.latency_p50, flash.latency_p50) * 1.1 and registers <= 64").verdict,
        PASS
    );
    assert_eq!(of_itself("solo.registers <= 64 and registers <= 64").verdict, PASS, "a number is no comparison");
    assert_eq!(of_itself("latency_p50 <= solo.latency_p50 and registers <= 32").verdict, FAIL, "a failure stays");
}

#[test]
fn a_gate_without_a_best_variant_fails_only_if_all_are_wrong() {
    let mut fixture = Fixture::new(&(gate("registers <= 64") + "on = \"best:*\"\n"));
    fixture.set("registers", |_, _| 60.0).wrong(0).unproven(1).unproven(2).unproven(3);
    let some = fixture.first();
    assert_eq!(some.verdict, OPEN, "{}", some.reason);
    fixture.wrong(1).wrong(2).wrong(3);
    assert_eq!(fixture.first().verdict, FAIL);
}

#[test]
fn a_pass_needs_a_required_gate_on_the_selected_variant() {
    let judged = |on: &str| {
        let mut fixture = Fixture::new(&(gate("registers <= 64") + &format!("on = \"{on}\"\n")));
        fixture.set("registers", |_, _| 60.0).judge()
    };
    assert_eq!(judged("REGCAP=64,*").verdict, PASS);
    let elsewhere = judged("REGCAP=96,*");
    assert_eq!((elsewhere.gates[0].verdict, elsewhere.verdict), (PASS, OPEN), "{}", elsewhere.reason);
    assert!(elsewhere.reason.contains("no required gate judged the selected variant"), "{}", elsewhere.reason);
}

#[test]
fn a_precondition_counts_as_well_as_gates() {
    let judged = |condition: &str| {
        let precondition = format!("[[precondition]]\nname = \"chip\"\nrequire = \"{condition}\"\n");
        let mut fixture = Fixture::new(&(gate("registers <= 64") + &precondition));
        fixture.set("registers", |_, _| 60.0);
        (fixture.judge().verdict, fixture.judge_with(&Context::assuming_latencies(None, TODAY)).verdict)
    };
    assert_eq!(judged("cc >= 8"), (PASS, OPEN), "the second chip is unknown");
    assert_eq!(judged("cc >= 10").0, FAIL);
}

#[test]
fn values_that_fills_and_copies_may_raise_hold_at_both_bounds() {
    let judged = |require: &str| {
        let mut fixture = Fixture::new(&gate(require));
        fixture.set("dram_bytes", |_, _| 100.0);
        for row in 0..15 {
            let bounds = Bounds { low: 80.0, high: 100.0, added: 20.0, steps: Some("1 fill".into()) };
            fixture.quantities.details_mut("dram_bytes", row).unwrap().bounds = Some(bounds);
        }
        fixture.first()
    };
    let verdicts =
        ["dram_bytes <= 100", "dram_bytes <= 90", "dram_bytes >= 90", "dram_bytes >= 80", "dram_bytes <= 70"];
    assert_eq!(verdicts.map(|require| judged(require).verdict), [PASS, OPEN, OPEN, PASS, FAIL]);
    let open = judged("dram_bytes >= 90");
    assert!(open.reason.contains("ncu does not count fills and copies (1 fill)"), "{}", open.reason);
}

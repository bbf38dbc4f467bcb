//! The phases that ship, and defaults.

use super::{SMALL, read, right};
use crate::config::{Amount, Init, WorkloadReference, load};
use ncugate_fixtures::root;
use ncugate_model::expr::Expr;
use ncugate_model::{Better, Level, Scope};
use std::path::Path;
use std::time::Duration;

const TODAY: jiff::civil::Date = jiff::civil::date(2026, 6, 15);

#[test]
fn every_shipped_phase_is_right() {
    for file in std::fs::read_dir(root().join("configs")).unwrap() {
        let path = file.unwrap().path();
        let phase = load(&path, &root(), TODAY).unwrap_or_else(|e| panic!("{e}"));
        crate::plan::unroll(&phase).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let errors = load(Path::new("configs/none.toml"), &root(), TODAY).unwrap_err();
    insta::assert_snapshot!(errors, @r##"
    error: cannot read the phase: No such file or directory (os error 2)
    --> configs/none.toml
     = help: give the path of a phase file, such as configs/phase_d.toml
    "##);
}

#[test]
fn defaults() {
    let phase = read(SMALL).unwrap();
    assert_eq!(phase.title, "small");
    assert_eq!((phase.objective.metric.as_str(), phase.objective.better), ("latency_p50", Better::Lower));
    assert_eq!(phase.objective.shape.0, "big");
    assert_eq!((phase.bench.warmup, phase.bench.rounds, phase.bench.max_launches), (5, 60, 50));
    assert_eq!((phase.bench.min_sample, phase.bench.timeout), (Duration::from_micros(200), Duration::from_secs(30)));
    assert_eq!((phase.bench.buffer_sets, phase.profile.repeat), (4, 1));
    assert_eq!(phase.profile.timeout, Duration::from_secs(300));
    assert_eq!(phase.bench.shapes, phase.profile.shapes);
    assert_eq!(phase.bench.shapes.len(), 1);
    assert_eq!(
        phase.workload.buffers[0].init,
        Some(Init::Normal { mean: Amount::Number(0.0), std: Amount::Number(1.0) })
    );
    assert_eq!(phase.workload.buffers[1].init, None);
    let gate = &phase.gates[0];
    assert_eq!((&gate.on, gate.level, gate.at_least, gate.line), (&Scope::Selected, Level::Required, None, 29));
    assert_eq!(gate.shapes, std::slice::from_ref(&phase.objective.shape));
}

#[test]
fn shapes_that_gates_name_are_measured_in_the_order_of_the_file() {
    let names = |shapes: &[ncugate_model::ShapeName]| shapes.iter().map(|shape| shape.0.clone()).collect::<Vec<_>>();
    let gate = |require: &str| {
        right(&[("require = \"spills == 0\"", &format!("require = \"{require}\"\nshapes = [\"big\", \"tiny\"]"))])
    };
    let timed = gate("latency_p50 < 5");
    assert_eq!(names(&timed.bench.shapes), ["tiny", "big"]);
    assert_eq!(names(&timed.profile.shapes), ["big"]);
    let counted = gate("eligible_warps > 1");
    assert_eq!(names(&counted.bench.shapes), ["big"]);
    assert_eq!(names(&counted.profile.shapes), ["tiny", "big"]);
    assert_eq!(names(&gate("spills == 0").profile.shapes), ["big"]);
}

#[test]
fn objective_says_its_direction() {
    let phase =
        right(&[("name = \"small\"", "name = \"small\"\nobjective = { maximise = \"sm__cycles_active.avg\" }")]);
    assert_eq!(phase.objective.better, Better::Higher);
}

#[test]
fn references_of_every_kind() {
    let reference = |text: &str| right(&[("reference = \"copy\"", &format!("reference = {text}"))]).workload.reference;
    assert!(matches!(
        reference("{ builtin = \"reduce\", op = \"max\" }"),
        WorkloadReference::Builtin { options, .. } if options == [("op".into(), "max".into())]
    ));
    assert!(matches!(
        reference("{ entry = \"ref\", grid = [\"N\", 2], block = [32] }"),
        WorkloadReference::Entry { grid, block, .. } if grid.iter().map(Expr::text).eq(["N", "2"]) && block[0].text() == "32"
    ));
    assert!(matches!(
        reference("{ npy = \"a_{{ shape }}_{{ seed }}.npy\" }"),
        WorkloadReference::Npy { path } if path == Path::new("a_{{ shape }}_{{ seed }}.npy")
    ));
}

#[test]
fn a_variant_overrides_keys_of_the_kernel() {
    let phase = right(&[(
        "[sweep]",
        "[[variant]]\nname = \"wide\"\nparams = { THREADS = 32, CAP = 255 }\nkernel = { block = [\"2 * THREADS\"] }\n\n[sweep]",
    )]);
    let crate::config::VariantSpecKind::Kernel(kernel) = &phase.variants[0].kind else { panic!("a kernel") };
    let launch = kernel.launches().next().unwrap();
    assert_eq!(launch.block[0].text(), "2 * THREADS");
    assert_eq!(launch.entry.text(), "copy");
    assert_eq!(crate::plan::unroll(&phase).unwrap().variants.len(), 5);
}

#[test]
fn tiers_stages_fallback_preconditions_and_waivers() {
    let phase = right(&[(
        "[[gate]]",
        r#"[[tier]]
name = "low"
required = true
require = ["registers < 64", { require = "spills == 0", on = "each" }]

[[stage]]
name = "first"
variant = "CAP=32*"
expect = [1.1, 1.2]
require = ["speedup(\"first\") >= 1.0", "dram_bytes <= previous.dram_bytes"]
on_failure = "skip"

[fallback]
variant = "*CAP=64"
require = ["registers <= 64"]

[[precondition]]
require = "N % 16 == 0 and cc >= 8.9 and dtype == 'f32'"

[[waiver]]
gate = "registers < 64"
variant = "*"
reason = "a known defect"
owner = "kernels"
expires = 2026-12-31

[[gate]]"#,
    )]);
    let plan = &phase.gate_plan;
    assert_eq!(plan.tiers[0].gates[0].level, Level::Required);
    assert_eq!((plan.tiers[0].gates[1].line, &plan.tiers[0].gates[1].on), (32, &Scope::Each));
    assert_eq!(plan.stages[0].expect, Some((1.1, 1.2)));
    assert_eq!(plan.fallback.as_ref().unwrap().gates.len(), 1);
    assert_eq!(plan.preconditions.len(), 1);
    assert_eq!(plan.waivers[0].expires, jiff::civil::date(2026, 12, 31));
}

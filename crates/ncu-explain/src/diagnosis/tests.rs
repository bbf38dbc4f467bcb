use super::*;
use crate::planned_variant::VariantCode;
use ncugate_model::{Ablation, AblationOutcome, AblationRecord, Cell, ComputeCapability, Gain};
use std::path::Path;
use std::time::Instant;

const CHIP: ChipKnowledge =
    ChipKnowledge { capability: Some(ComputeCapability::new(9, 0)), sms: Some(132), dram_peak: Some(4.8e12) };

fn shape(name: &str, b: i64) -> ShapeFacts {
    let work = DeclaredWork { flops: Some(1e9 * b as f64), bytes: Some(1e6 * b as f64), ..DeclaredWork::default() };
    let dims = vec![("B".to_owned(), b), ("S".to_owned(), 512)];
    ShapeFacts { name: ShapeName(name.into()), dims, work }
}

fn diagnose(quantities: &Quantities, shapes: &[ShapeFacts], variants: &[VariantId]) -> Vec<Finding> {
    diagnose_on((&CHIP, &[]), quantities, shapes, variants)
}

fn diagnose_on(
    (chip, ablations): (&ChipKnowledge, &[AblationRecord]),
    quantities: &Quantities,
    shapes: &[ShapeFacts],
    variants: &[VariantId],
) -> Vec<Finding> {
    let diagnosis = Diagnosis { ablations, ..Diagnosis::of(RuleBook::shipped(), quantities, shapes, chip) };
    diagnosis.findings(variants)
}

fn found(values: &[(&str, f64)]) -> Vec<Finding> {
    found_beside(values, &[])
}

fn found_beside(values: &[(&str, f64)], ablations: &[AblationRecord]) -> Vec<Finding> {
    let (variant, shape) = (VariantId("v".into()), shape("s", 1));
    let mut quantities = Quantities::new([(variant.clone(), shape.name.clone())]);
    for (metric, value) in values {
        quantities.set_column(metric, vec![Cell::finite(*value)]);
    }
    quantities.set_launches(0, ["k".into()].into());
    diagnose_on((&CHIP, ablations), &quantities, &[shape], &[variant])
}

/// Stalls of a warp at barriers, of 30 % of its time.
const WAITING: [(&str, f64); 4] =
    [("issue_slot_utilisation", 40.0), ("warp_latency", 10.0), ("eligible_warps", 0.7), ("stall_barrier", 3.0)];

fn ablation(edit: Ablation, left: u32, outcome: AblationOutcome) -> AblationRecord {
    let (variant, shape) = (VariantId("v".into()), ShapeName("s".into()));
    AblationRecord { variant, shape, edit, changed: 8, left, outcome }
}

fn gained(edit: Ablation, percent: f64) -> AblationRecord {
    ablation(edit, 0, AblationOutcome::Measured(Gain { percent, low: percent - 1.0, high: percent + 1.0 }))
}

#[test]
fn a_measured_gain_takes_the_place_of_an_estimate_and_a_cause_without_one_is_no_finding() {
    let estimated = found(&WAITING);
    let saving = |found: &[Finding]| {
        let finding = found.iter().find(|finding| finding.rule == "barriers")?;
        finding.saving.as_ref().map(|saving| (saving.percent, saving.source))
    };
    let estimate = saving(&estimated).unwrap();
    assert_eq!(estimate.1, EstimateSource::Model);
    let beside = |record| found_beside(&WAITING, &[record]);
    let measured = beside(gained(Ablation::Barriers, 18.0));
    assert_eq!(saving(&measured), Some((18.0, EstimateSource::Ablation)));
    let gain = measured[0].saving.as_ref().unwrap().ablation.as_ref().unwrap();
    assert_eq!(gain.words(), "measured: without its barriers, 18 % less time (17 to 19 %)");
    assert_eq!(saving(&beside(gained(Ablation::Barriers, 0.2))), None, "measured: nothing");
    assert_eq!(saving(&beside(gained(Ablation::Barriers, -6.0))), None);
    let failed = AblationOutcome::NotMeasured { reason: "it hung".to_owned() };
    assert_eq!(saving(&beside(ablation(Ablation::Barriers, 0, failed))), Some(estimate));
    let half = Gain { percent: 0.0, low: 0.0, high: 0.0 };
    let half = ablation(Ablation::Barriers, 3, AblationOutcome::Measured(half));
    assert_eq!(saving(&beside(half)), Some(estimate), "those that were left may be the cause");
    let mut other = gained(Ablation::Barriers, 0.0);
    other.shape = ShapeName("t".into());
    assert_eq!(saving(&beside(other)), Some(estimate), "of another shape");
}

#[test]
fn what_removes_more_than_a_cause_bounds_its_estimate() {
    let waiting = [("issue_slot_utilisation", 40.0), ("warp_latency", 10.0), ("stall_long_scoreboard", 5.0)];
    let percent = |found: &[Finding]| {
        let finding = found.iter().find(|finding| finding.rule == "load_latency")?;
        finding.saving.as_ref().map(|saving| saving.percent)
    };
    let estimate = percent(&found(&waiting)).unwrap();
    let bounded = found_beside(&waiting, &[gained(Ablation::GlobalMemory, 10.0)]);
    assert!(estimate > 20.0 && percent(&bounded) == Some(11.0), "{estimate}");
    assert_eq!(percent(&found_beside(&waiting, &[gained(Ablation::GlobalMemory, 90.0)])), Some(estimate));
}

#[test]
fn the_start_of_blocks_is_a_finding_if_no_other_cost_could_hide_it() {
    let saving = |others: f64| {
        let records = [gained(Ablation::BlockStarts, 60.0), gained(Ablation::GlobalMemory, others)];
        let finding = found_beside(&BUSY, &records).into_iter().find(|finding| finding.rule == "tiny_blocks")?;
        finding.saving.map(|saving| (saving.percent, saving.source))
    };
    assert_eq!(saving(10.0), Some((60.0, EstimateSource::AblationBound)));
    assert_eq!(saving(55.0), None, "blocks start while the others wait for memory");
    let failed = AblationOutcome::NotMeasured { reason: "it hung".to_owned() };
    let unknown = [gained(Ablation::BlockStarts, 60.0), ablation(Ablation::GlobalMemory, 0, failed)];
    for records in [&unknown[..], &unknown[..1]] {
        assert!(
            found_beside(&BUSY, records).iter().all(|finding| finding.rule != "tiny_blocks"),
            "nothing was compared"
        );
    }
}

#[test]
fn a_measured_cost_that_no_rule_names_is_a_finding() {
    let found = found_beside(&BUSY, &[gained(Ablation::Shuffles, 20.0), gained(Ablation::Atomics, 3.0)]);
    let [only] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((&*only.rule, only.severity), ("shuffles", Severity::Advice));
    assert_eq!(only.sentence, "Without shuffles, an evaluation takes 20 % less time (19 to 21 %); no rule names this.");
    assert!(!only.advice.is_empty());
}

fn rules(values: &[(&str, f64)]) -> Vec<String> {
    found(values).into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn without_measurements_nothing_is_found() {
    assert!(found(&[]).is_empty());
    assert!(found(&[("issue_slot_utilisation", f64::NAN), ("waves", f64::INFINITY)]).is_empty());
}

/// A warp of 10 cycles between instructions, at which schedulers issue in 40 % of cycles: a share of 1 cycle is 10 %.
const BUSY: [(&str, f64); 3] = [("issue_slot_utilisation", 40.0), ("warp_latency", 10.0), ("eligible_warps", 0.7)];

#[test]
fn rules_hold_from_their_thresholds_on() {
    for (values, rule) in [
        (&[("grid_blocks", 128.0)][..], "small_grid"),
        (&[("waves", 1.1)], "tail"),
        (&[("stall_long_scoreboard", 3.0)], "load_latency"),
        (&[("stall_barrier", 1.0)], "barriers"),
        (&[("stall_no_instruction", 1.0), ("code_bytes", 65_536.0)], "instruction_cache"),
        (&[("stall_imc_miss", 1.0)], "constants"),
        (&[("stall_membar", 1.0)], "fences"),
        (&[("stall_sleeping", 1.0)], "sleeping"),
        (&[("stall_wait", 4.0)], "fixed_latency"),
        (&[("stall_short_scoreboard", 3.0)], "short_scoreboard"),
        (&[("stall_mio_throttle", 2.0)], "mio_throttle"),
        (&[("stall_branch_resolving", 2.0)], "branches"),
        (&[("stall_math_pipe_throttle", 3.0)], "math_pipe"),
        (&[("stall_drain", 2.0)], "drain"),
        (&[("bank_conflict_pct", 12.0)], "bank_conflicts"),
        (&[("threads_per_inst", 20.0)], "divergence"),
        (&[("dram_pct", 91.0)], "memory_bound"),
        (&[("spills", 40.0), ("local_bytes", 128.0), ("stall_long_scoreboard", 2.0)], "spills"),
        (&[("sectors_per_request", 32.0), ("stall_long_scoreboard", 1.0)], "uncoalesced"),
    ] {
        let with: Vec<(&str, f64)> = BUSY.into_iter().chain(values.iter().copied()).collect();
        assert!(rules(&with).iter().any(|found| found == rule), "{rule}: {:?}", rules(&with));
    }
    for values in [
        &[("grid_blocks", 132.0)][..],
        &[("waves", 5.95)],
        &[("stall_barrier", 0.7)],
        &[("stall_wait", 2.9)],
        &[("bank_conflict_pct", 9.9)],
        &[("bank_conflict_pct", 50.0), ("shared_excessive_pct", 0.0), ("l1_pct", 1.0)],
        &[("threads_per_inst", 30.0)],
        &[("sectors_per_request", 16.0), ("stall_long_scoreboard", 1.0)],
        &[("latency_p50", 5.0), ("duration", 7_500.0)],
    ] {
        let with: Vec<(&str, f64)> = BUSY.into_iter().chain(values.iter().copied()).collect();
        let unwanted: Vec<String> = rules(&with).into_iter().filter(|rule| rule != "bank_conflicts").collect();
        assert_eq!(unwanted, Vec::<String>::new(), "{values:?}");
    }
}

#[test]
fn rules_of_the_machine_code_hold_from_their_thresholds_on() {
    let accident = [("f64_conversion_pct", 1.0), ("f64_time_pct", 12.0), ("f64_instruction_pct", 4.0)];
    let division = [("integer_division_pct", 20.0), ("integer_division_time_pct", 30.0), ("dram_pct", 10.0)];
    let exact = [("exact_function_pct", 20.0), ("exact_function_time_pct", 30.0), ("dram_pct", 10.0)];
    let swaps = [("cas_pct", 2.0), ("cas_time_pct", 40.0)];
    let shared = [("shared_atomic_pct", 3.0), ("shared_atomic_time_pct", 30.0), ("cas_time_pct", 0.0)];
    let constants = [("indexed_constant_pct", 3.0), ("indexed_constant_time_pct", 30.0), ("stall_mio_throttle", 2.0)];
    let narrow = [
        ("narrow_access_pct", 90.0),
        ("global_access_bytes", 1.5),
        ("narrow_access_time_pct", 40.0),
        ("dram_pct", 10.0),
        ("global_excessive_pct", 0.0),
        ("waits_for_global_loads_pct", 30.0),
        ("waits_for_atomics_pct", 0.0),
    ];
    let unfused = [("unfused_pct", 10.0), ("unfused_time_pct", 20.0), ("dram_pct", 10.0)];
    let predicated =
        [("predicated_off_pct", 30.0), ("threads_per_inst", 31.0), ("dram_pct", 10.0), ("stall_barrier", 0.1)];
    for (values, rule) in [
        (&accident[..], "double_by_accident"),
        (&division, "integer_division"),
        (&exact, "slow_math"),
        (&swaps, "compare_and_swap"),
        (&shared, "shared_atomics"),
        (&constants, "divergent_constants"),
        (&narrow, "narrow_accesses"),
        (&unfused, "unfused_multiply_add"),
        (&predicated, "predicated_off"),
    ] {
        let with: Vec<(&str, f64)> = BUSY.into_iter().chain(values.iter().copied()).collect();
        assert!(rules(&with).iter().any(|found| found == rule), "{rule}: {:?}", rules(&with));
        // a tenth of it is no finding
        let little: Vec<(&str, f64)> = BUSY
            .into_iter()
            .chain(
                values.iter().map(|(name, value)| (*name, if name.ends_with("_pct") { value / 10.0 } else { *value })),
            )
            .collect();
        assert!(!rules(&little).iter().any(|found| found == rule), "{rule}: {:?}", rules(&little));
        // nor is anything found while its input is unknown
        let unknown = &with[..with.len() - values.len()];
        assert!(!rules(unknown).iter().any(|found| found == rule), "{rule}");
    }
}

#[test]
fn the_costliest_cause_leads_and_its_symptoms_fold() {
    let all: Vec<(&str, f64)> = BUSY
        .into_iter()
        .chain([
            ("grid_blocks", 128.0),
            ("sectors_per_request", 32.0),
            ("stall_long_scoreboard", 5.0),
            ("stall_barrier", 1.5),
        ])
        .collect();
    let found = found(&all);
    assert_eq!(found[0].rule, "uncoalesced");
    assert_eq!(found[0].saving.as_ref().unwrap().modelled, 50.0);
    assert!(found[0].sentence.contains("touches 32 sectors"), "{}", found[0].sentence);
    let of = |rule: &str| found.iter().find(|finding| finding.rule == rule).unwrap();
    assert_eq!(of("load_latency").symptom_of.as_deref(), Some("uncoalesced"));
    assert_eq!((of("small_grid").severity, of("small_grid").is_leading()), (Severity::Note, false), "3 %");
}

#[test]
fn an_exact_counter_that_says_no_outweighs_a_coarse_one() {
    let mut values = vec![("bank_conflict_pct", 50.0)];
    values.extend(BUSY);
    assert!(rules(&values).contains(&"bank_conflicts".to_owned()));
    let signal = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed";
    values.extend([
        ("shared_excessive_pct", 0.0),
        ("stall_short_scoreboard", 0.1),
        ("stall_mio_throttle", 0.1),
        (signal, 10.0),
    ]);
    assert_eq!(rules(&values), Vec::<String>::new());
}

#[test]
fn time_that_grows_while_the_grid_does_not_is_serialised() {
    let variant = VariantId("v".into());
    let shapes = [shape("b1", 1), shape("b8", 8)];
    let grown = |grid: [f64; 2], time: [f64; 2], waves: [f64; 2]| {
        let mut quantities = Quantities::new(shapes.iter().map(|s| (variant.clone(), s.name.clone())));
        for (metric, values) in [("latency_p50", time), ("grid_blocks", grid), ("waves", waves)] {
            quantities.set_column(metric, values.map(Cell::Value).to_vec());
        }
        diagnose(&quantities, &shapes, std::slice::from_ref(&variant))
    };
    let first = grown([32.0, 32.0], [10.7, 82.1], [0.12, 0.12]).into_iter().find(|f| f.shape.0 == "b8").unwrap();
    assert_eq!(first.rule, "serialised");
    assert!(
        first.sentence.starts_with("Serialised over B: compared with 'b1', 8 times the work"),
        "{}",
        first.sentence
    );
    assert_eq!(first.advice, ["make B an axis of the grid instead of a loop in the kernel"]);
    let is_named = |findings: Vec<Finding>| findings.iter().any(|f| f.rule == "serialised");
    assert!(!is_named(grown([32.0, 256.0], [10.7, 17.9], [0.12, 0.97])), "the grid grew");
    assert!(!is_named(grown([132.0, 132.0], [10.7, 82.1], [1.0, 1.0])), "a persistent grid fills the chip");
    let outgrown = grown([32.0, 256.0], [10.0, 160.0], [0.12, 0.97]);
    assert!(outgrown.iter().any(|f| f.rule == "superlinear"), "{outgrown:?}");
}

/// Shapes of B and H, whose work is their product.
fn grown_in_both(names: [&str; 2], grid: [f64; 2], time: [f64; 2], work: f64) -> Option<Finding> {
    let variant = VariantId("v".into());
    let of = |name: &str, b: i64, h: i64, flops: f64| ShapeFacts {
        name: ShapeName(name.into()),
        dims: vec![("B".to_owned(), b), ("H".to_owned(), h), ("S".to_owned(), 512)],
        work: DeclaredWork { flops: Some(flops), ..DeclaredWork::default() },
    };
    let shapes = [of(names[0], 1, 8, 1e9), of(names[1], 8, 16, work * 1e9)];
    let mut quantities = Quantities::new(shapes.iter().map(|s| (variant.clone(), s.name.clone())));
    let columns =
        [("latency_p50", time), ("grid_blocks", grid), ("waves", [0.1, 0.2]), ("issue_slot_utilisation", [9.0; 2])];
    for (metric, values) in columns {
        quantities.set_column(metric, values.map(Cell::Value).to_vec());
    }
    diagnose(&quantities, &shapes, &[variant]).into_iter().find(|finding| finding.rule == "serialised")
}

#[test]
fn of_several_dimensions_those_that_the_grid_leaves_out_are_serialised() {
    let sentence = |grid, time, work| Some(grown_in_both(["small", "large"], grid, time, work)?.sentence);
    let said = sentence([32.0, 64.0], [10.7, 83.4], 16.0).unwrap();
    assert!(
        said.starts_with("Serialised over B: compared with 'small', 16 times the work on 2 times the blocks"),
        "{said}"
    );
    let said = sentence([32.0, 32.0], [10.7, 166.0], 16.0).unwrap();
    assert!(said.starts_with("Serialised over B and H: compared with 'small'"), "{said}");
    assert_eq!(sentence([32.0, 512.0], [10.7, 83.4], 16.0), None, "the grid covers both");
    assert_eq!(
        sentence([32.0, 96.0], [10.7, 60.0], 16.0),
        None,
        "no choice of dimensions makes three times the blocks"
    );
    assert_eq!(sentence([32.0, 64.0], [10.7, 20.0], 16.0), None, "blocks take twice as long for eight times the work");
    assert_eq!(sentence([32.0, 64.0], [10.7, 170.0], 16.0), None, "they take longer than their work");
    assert_eq!(sentence([32.0, 64.0], [10.7, 83.4], 64.0), None, "the work is no product of the dimensions");
}

/// One case whose evaluation launches these kernels, with a metric at each launch. Durations add up, and the other
/// metrics are means weighted by them, as for counters.
fn launched(kernels: &[&str], metrics: &[(&str, &[f64])]) -> Quantities {
    let mut quantities = Quantities::new([(VariantId("v".into()), ShapeName("s".into()))]);
    quantities.set_launches(0, kernels.iter().map(|kernel| Arc::from(*kernel)).collect());
    let times = metrics.iter().find(|(metric, _)| *metric == "duration").unwrap().1;
    let total: f64 = times.iter().sum();
    for (metric, values) in metrics {
        let mean = values.iter().zip(times).map(|(value, time)| value * time).sum::<f64>() / total;
        quantities.set_column(metric, vec![Cell::Value(if *metric == "duration" { total } else { mean })]);
        quantities.set_steps(metric, 0, values.iter().map(|value| Cell::Value(*value)).collect());
    }
    quantities
}

fn of_launches(quantities: &Quantities) -> Vec<Finding> {
    diagnose(quantities, &[shape("s", 1)], &[VariantId("v".into())])
}

/// The means of both launches hide the short one: 3 of 114 cycles are a share of 2 %.
#[test]
fn a_launch_beside_a_longer_one_keeps_its_stalls() {
    let mut quantities = launched(
        &["void scale<float>(float*)", "void gather<float>(float*)"],
        &[
            ("duration", &[25_000.0, 75_000.0]),
            ("warp_latency", &[4.0, 150.0]),
            ("stall_wait", &[3.0, 1.0]),
            ("stall_long_scoreboard", &[0.5, 140.0]),
            ("issue_slot_utilisation", &[40.0, 10.0]),
            ("eligible_warps", &[0.7, 0.1]),
        ],
    );
    let found = of_launches(&quantities);
    let of = |rule: &str| found.iter().find(|finding| finding.rule == rule).unwrap();
    let (wait, load) = (of("fixed_latency"), of("load_latency"));
    let launches = wait.launches.as_ref().unwrap();
    assert_eq!((&*launches.kernel, launches.number, launches.count, launches.percent), ("scale", 1, 1, 25.0));
    assert_eq!(wait.saving.as_ref().unwrap().modelled, 15.0, "a quarter of the 60 % of idle issue slots");
    assert!(wait.sentence.starts_with("Warps wait 75 % of the time"), "{}", wait.sentence);
    assert_eq!((wait.id().as_str(), wait.severity), ("fixed_latency:v@s#1", Severity::Advice));
    let launches = load.launches.as_ref().unwrap();
    assert_eq!((&*launches.kernel, launches.number, launches.percent), ("gather", 2, 75.0));
    assert!((load.saving.as_ref().unwrap().modelled - 0.75 * 90.0).abs() < 1e-9);
    assert_eq!(found[0].rule, "load_latency");
    // without the durations of launches only the means are known
    quantities.set_steps("duration", 0, Vec::new());
    let found = of_launches(&quantities);
    assert!(found.iter().all(|finding| finding.launches.is_none() && finding.rule != "fixed_latency"), "{found:?}");
}

#[test]
fn equal_launches_are_one_finding_and_short_kernels_are_left_out() {
    let mut kernels = vec!["scan"; 24];
    kernels.push("clear");
    let each = |of_scan: f64, of_clear: f64| [vec![of_scan; 24], vec![of_clear]].concat();
    let quantities = launched(
        &kernels,
        &[
            ("duration", &each(40_000.0, 9_000.0)),
            ("warp_latency", &each(10.0, 10.0)),
            ("stall_barrier", &each(3.0, 9.0)),
            ("issue_slot_utilisation", &each(40.0, 40.0)),
        ],
    );
    let found = of_launches(&quantities);
    let barriers: Vec<&Finding> = found.iter().filter(|finding| finding.rule == "barriers").collect();
    let launches = barriers[0].launches.as_ref().unwrap();
    assert_eq!((barriers.len(), launches.count, launches.number), (1, 24, 1));
    assert!((launches.percent - 100.0 * 960.0 / 969.0).abs() < 1e-9);
    assert!((barriers[0].saving.as_ref().unwrap().modelled - 0.3 * launches.percent).abs() < 1e-9);
    assert!(found.iter().all(|finding| finding.rule != "many_launches"), "40 µs each");
}

#[test]
fn a_launch_without_a_counter_leaves_the_rule_unasked() {
    let mut quantities = launched(
        &["a", "b"],
        &[
            ("duration", &[50_000.0, 50_000.0]),
            ("warp_latency", &[10.0, 10.0]),
            ("stall_barrier", &[0.1, 0.1]),
            ("issue_slot_utilisation", &[40.0, 40.0]),
        ],
    );
    let unasked = |quantities: &Quantities| {
        let shapes = [shape("s", 1)];
        let diagnosis = Diagnosis::of(RuleBook::shipped(), quantities, &shapes, &CHIP);
        diagnosis.unasked(&VariantId("v".into()), &ShapeName("s".into())).lacking_counters
    };
    let is_unasked = |quantities: &Quantities| unasked(quantities).iter().any(|rule| rule == "barriers");
    assert!(!is_unasked(&quantities));
    quantities.set_steps("stall_barrier", 0, vec![Cell::Value(0.1), Cell::Missing("not collected".into())]);
    assert!(is_unasked(&quantities));
}

#[test]
fn many_short_launches_are_a_finding_of_the_evaluation() {
    let mut quantities = launched(&["scan"; 24], &[("duration", &[4_000.0; 24]), ("grid_blocks", &[132.0; 24])]);
    let first = |quantities: &Quantities| of_launches(quantities).into_iter().find(|f| f.rule == "many_launches");
    let found = first(&quantities).unwrap();
    assert_eq!(
        found.sentence,
        "24 launches of 4 µs on average, of which up to 2 µs is start and end: fusing all into one saves at most 47.9 % of their time."
    );
    assert!((found.saving.as_ref().unwrap().modelled - 50.0 * 23.0 / 24.0).abs() < 1e-9);
    // 96 of 120 µs are inside the launches
    quantities.set_column("latency_p50", vec![Cell::Value(120.0)]);
    let found = first(&quantities).unwrap();
    assert!(found.sentence.starts_with("20 % of the latency is between 24 launches of 4 µs "), "{}", found.sentence);
    assert!((found.saving.as_ref().unwrap().modelled - (20.0 + 0.8 * 50.0 * 23.0 / 24.0)).abs() < 1e-9);
    assert!(found.launches.is_none());
    let one = launched(&["scan"], &[("duration", &[4_000.0])]);
    assert!(first(&one).is_none());
    // the long one hides none of the short ones: nine of 29 µs
    let uneven = [vec![20_000.0], vec![1_000.0; 9]].concat();
    let uneven = launched(&["scan"; 10], &[("duration", &uneven)]);
    assert!((first(&uneven).unwrap().saving.unwrap().modelled - 100.0 * 9.0 / 29.0).abs() < 1e-9);
    let long = launched(&["scan"; 2], &[("duration", &[4_000.0, 20_000.0])]);
    assert!(first(&long).is_none());
}

#[test]
fn flags_say_how_it_was_compiled() {
    let of = |flags: &[&str]| {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let found = Compilation::of_flags(&flags);
        (found.debug.unwrap(), found.optimisation.unwrap())
    };
    assert_eq!(of(&["-O3", "-lineinfo"]), (false, 3));
    assert_eq!(of(&["-G"]), (true, 3));
    assert_eq!(of(&["-Xptxas", "-O1"]), (false, 1));
    assert_eq!(of(&["-Xptxas=-O0,-v"]), (false, 0));
    assert_eq!(of(&["-O0"]), (false, 3), "nvcc's own level is for the host");
}

/// Prints the time of a diagnosis of 1,000 variants: `cargo test --release --lib a_thousand -- --nocapture`.
#[test]
fn a_thousand_variants_are_diagnosed_quickly() {
    let param = |at: i64| vec![("A".to_owned(), Value::Int(at % 32)), ("B".to_owned(), Value::Int(at / 32))];
    let params: Vec<_> = (0..1_000).map(param).collect();
    let shapes = [shape("b1", 1)];
    let ids: Vec<VariantId> = (0..1_000).map(|at| VariantId(format!("v{at}").into())).collect();
    let code = |at: usize| VariantCode {
        source: Path::new("copy.cu"),
        entries: vec!["copy"],
        flags: &[],
        params: &params[at],
    };
    let variant = |at: usize| PlannedVariant { id: &ids[at], code: Some(code(at)), evaluations: Vec::new() };
    let variants: Vec<_> = (0..1_000).map(variant).collect();
    let mut quantities = Quantities::new(ids.iter().map(|id| (id.clone(), shapes[0].name.clone())));
    let metrics = Catalogue::embedded().names().map(str::to_owned).collect::<Vec<_>>();
    for (at, metric) in metrics.iter().enumerate() {
        let cells = (0..1_000).map(|row| Cell::Value(((row * 7_919 + at * 131) % 1_000) as f64 / 10.0));
        quantities.set_column(metric, cells.collect());
    }
    let started = Instant::now();
    let measured = Diagnosis::of(RuleBook::shipped(), &quantities, &shapes, &CHIP);
    let diagnosis = Diagnosis { variants: &variants, ..measured };
    let findings = diagnosis.findings(&ids);
    let took = started.elapsed();
    println!("1,000 variants, {} findings: {:.0} ms", findings.len(), took.as_secs_f64() * 1e3);
    assert!(findings.len() > 1_000);
    // the limit applies to optimised code
    assert!(cfg!(debug_assertions) || took.as_millis() < 200, "{took:?}");
}

/// 12.0 has no other matrix instructions than mma.sync.
#[test]
fn mma_sync_is_old_on_chips_with_asynchronous_matrix_instructions() {
    const WGMMA: &str = "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active";
    const TCGEN05: &str = "sm__inst_executed_pipe_tc.avg.pct_of_peak_sustained_active";
    let of_types = |single: f64, chip: (u32, u32), counter: &str, executed: f64| {
        let (variant, shape) = (VariantId("v".into()), shape("s", 1));
        let mut quantities = Quantities::new([(variant.clone(), shape.name.clone())]);
        let tensor = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active";
        for (metric, value) in [(tensor, 70.0), ("tensor_pct", single), (counter, executed)] {
            quantities.set_column(metric, vec![Cell::finite(value)]);
        }
        quantities.set_launches(0, ["k".into()].into());
        let chip = ChipKnowledge { capability: Some(chip.into()), ..CHIP };
        let findings = diagnose_on((&chip, &[]), &quantities, &[shape], &[variant]);
        findings
            .into_iter()
            .find(|finding| finding.rule == "old_tensor_instructions")?
            .saving
            .map(|saving| saving.modelled)
    };
    let saving = |chip, counter, executed| of_types(65.0, chip, counter, executed);
    assert_eq!(of_types(0.0, (9, 0), WGMMA, 0.0), None, "products in double precision");
    assert_eq!((saving((9, 0), WGMMA, 0.0), saving((9, 0), WGMMA, 1.0)), (Some(33.0), None));
    assert_eq!((saving((10, 3), TCGEN05, 0.0), saving((10, 3), TCGEN05, 1.0)), (Some(70.0), None));
    assert_eq!((saving((11, 0), TCGEN05, 0.0), saving((12, 0), TCGEN05, 0.0)), (Some(70.0), None));
    assert_eq!(saving((10, 0), "duration", 1e4), None, "not counted");
}

/// On chips without `tcgen05`, launches of clusters have no such finding.
#[test]
fn products_of_single_ctas_in_clusters_are_found() {
    let found = |chip: (u32, u32), one: f64, two: f64, cluster: f64| {
        let (variant, shape) = (VariantId("v".into()), shape("s", 1));
        let mut quantities = Quantities::new([(variant.clone(), shape.name.clone())]);
        let pipe = ["sm__inst_executed_pipe_tc_scope_1cta.sum", "sm__inst_executed_pipe_tc_scope_2cta.sum"];
        for (metric, value) in [(pipe[0], one), (pipe[1], two), ("launch__cluster_size", cluster)] {
            quantities.set_column(metric, vec![Cell::finite(value)]);
        }
        quantities.set_launches(0, ["k".into()].into());
        let chip = ChipKnowledge { capability: Some(chip.into()), ..CHIP };
        let findings = diagnose_on((&chip, &[]), &quantities, &[shape], &[variant]);
        findings.iter().any(|finding| finding.rule == "single_cta_products")
    };
    assert!(found((10, 0), 64.0, 0.0, 2.0) && found((11, 0), 64.0, 0.0, 4.0));
    assert!(!found((10, 0), 64.0, 0.0, 1.0), "no cluster");
    assert!(!found((10, 0), 0.0, 64.0, 2.0), "pairs");
    assert!(!found((10, 0), 0.0, 0.0, 2.0), "no product");
    assert!(!found((9, 0), 0.0, 0.0, 2.0));
}

/// What a fix leaves can shrink too, but never below nothing, and one launch saves no more than its share.
#[test]
fn a_bound_is_above_its_estimate_and_below_its_share() {
    for share in [100.0, 25.0] {
        for part in [0.0, 0.1, 0.5, 0.9, 1.0] {
            for counts in [CountedTime::Busy, CountedTime::Idle] {
                let of = bound(part * share, share, counts);
                assert!(of >= part * share && of <= share, "{part} of {share}: {of}");
            }
        }
    }
    let half = |counts| bound(50.0, 100.0, counts);
    assert!((half(CountedTime::Busy) - 67.0).abs() < 0.1, "{}", half(CountedTime::Busy));
    assert_eq!(half(CountedTime::Idle), 50.0, "what is idle is all that a fix saves");
}

/// Without buffers of f64 it is a defect, with them it is what the kernel is for, and with unknown ones it is a guess.
#[test]
fn double_precision_is_a_defect_only_without_f64_buffers() {
    let (variant, plain) = (VariantId("v".into()), shape("s", 1));
    let counters = [
        ("issue_slot_utilisation", 40.0),
        ("sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active", 80.0),
        ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", 5.0),
        ("sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", 5.0),
    ];
    let mut quantities = Quantities::new([(variant.clone(), plain.name.clone())]);
    for (metric, value) in counters {
        quantities.set_column(metric, vec![Cell::finite(value)]);
    }
    quantities.set_launches(0, ["k".into()].into());
    let confidence = |has_f64_buffers| {
        let work = DeclaredWork { has_f64_buffers, ..plain.work };
        let shapes = [ShapeFacts { work, ..plain.clone() }];
        let findings = diagnose(&quantities, &shapes, std::slice::from_ref(&variant));
        findings.into_iter().find(|finding| finding.rule == "double_precision").map(|finding| finding.confidence)
    };
    let expected = (Some(Confidence::Medium), None, Some(Confidence::Low));
    assert_eq!((confidence(Some(false)), confidence(Some(true)), confidence(None)), expected);
}

/// Double precision is no accident in a launch of a program whose buffers are f64.
#[test]
fn launches_have_the_buffers_of_their_evaluation() {
    let quantities = launched(
        &["a", "b"],
        &[
            ("duration", &[50_000.0, 50_000.0]),
            ("f64_conversion_pct", &[2.0, 2.0]),
            ("f64_instruction_pct", &[20.0, 20.0]),
            ("f64_time_pct", &[30.0, 30.0]),
        ],
    );
    let is_accident = |has_f64_buffers| {
        let plain = shape("s", 1);
        let shapes = [ShapeFacts { work: DeclaredWork { has_f64_buffers, ..plain.work }, ..plain }];
        let found = diagnose(&quantities, &shapes, &[VariantId("v".into())]);
        found.iter().any(|finding| finding.rule == "double_by_accident" && finding.launches.is_some())
    };
    assert_eq!((is_accident(Some(true)), is_accident(Some(false))), (false, true));
}

#[test]
fn few_samples_or_an_empty_queue_are_no_contention() {
    let with = |values: &[(&str, f64)]| rules(&[&BUSY[..], values].concat());
    let atomics = |time: f64| {
        with(&[
            ("shared_atomic_pct", 0.6),
            ("shared_atomic_time_pct", time),
            ("cas_time_pct", 0.0),
            ("stall_mio_throttle", 3.0),
        ])
    };
    assert!(atomics(6.0).iter().any(|rule| rule == "shared_atomics"), "{:?}", atomics(6.0));
    assert!(!atomics(1.0).iter().any(|rule| rule == "shared_atomics"), "loads fill the queue");
    let indexed = |throttle: f64| {
        with(&[("indexed_constant_pct", 9.0), ("indexed_constant_time_pct", 30.0), ("stall_mio_throttle", throttle)])
    };
    assert!(indexed(2.0).iter().any(|rule| rule == "divergent_constants"), "{:?}", indexed(2.0));
    assert!(!indexed(0.1).iter().any(|rule| rule == "divergent_constants"), "all lanes have the same index");
}

/// Barriers of a kernel that keeps the tensor pipe busy can cost no more than the rest.
#[test]
fn a_busy_unit_leaves_little_to_barriers() {
    let tensor = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active";
    let estimate = |busy: f64| {
        let found =
            found(&[("issue_slot_utilisation", 15.0), ("warp_latency", 10.0), ("stall_barrier", 3.0), (tensor, busy)]);
        found.into_iter().find(|finding| finding.rule == "barriers").and_then(|finding| Some(finding.saving?.modelled))
    };
    assert_eq!((estimate(0.0), estimate(90.0)), (Some(30.0), Some(10.0)));
}

const TENSOR: &str = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active";
const WGMMA: &str = "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active";

/// Counters of attention with persistent blocks on an H200, 8,192 keys: asynchronous products keep the tensor pipe busy.
const PERSISTENT: [(&str, f64); 22] = [
    ("issue_slot_utilisation", 34.4),
    ("warp_latency", 6.54),
    ("active_warps", 2.25),
    ("eligible_warps", 0.455),
    ("stall_wait", 2.47),
    ("stall_barrier", 0.805),
    ("stall_long_scoreboard", 0.618),
    ("stall_short_scoreboard", 0.217),
    ("waits_for_products_pct", 8.5),
    ("barrier_pct", 0.342),
    ("start_wait_pct", 0.0),
    ("registers", 168.0),
    ("block_threads", 384.0),
    ("shared_mem", 225_000.0),
    ("grid_blocks", 132.0),
    ("blocks_per_sm", 1.0),
    ("waves", 1.0),
    ("theoretical_occupancy", 18.8),
    ("achieved_occupancy", 14.1),
    ("tensor_pct", 81.6),
    (TENSOR, 85.2),
    (WGMMA, 4.6),
];

/// Values in the place of those of the same name.
fn with<'v>(values: &[(&'v str, f64)], others: &[(&'v str, f64)]) -> Vec<(&'v str, f64)> {
    let is_kept = |(name, _): &&(&str, f64)| !others.iter().any(|(other, _)| other == name);
    values.iter().filter(is_kept).chain(others).copied().collect()
}

fn bound_of(found: &[Finding], rule: &str) -> Option<f64> {
    found.iter().find(|finding| finding.rule == rule).and_then(|finding| Some(finding.saving.as_ref()?.percent))
}

/// A pipe that is busy for 75 % of the time leaves 25 %, although a fix also saves instructions that no counter books to the
/// defect.
#[test]
fn a_bound_is_what_the_busiest_unit_leaves() {
    assert!(!rules(&PERSISTENT).iter().any(|rule| rule == "fixed_latency"), "{:?}", rules(&PERSISTENT));
    let less = with(&PERSISTENT, &[("tensor_pct", 72.0), (TENSOR, 75.0), (WGMMA, 0.0)]);
    let bound = bound_of(&found(&less), "fixed_latency").unwrap();
    assert!((bound - 25.0).abs() < 1e-9, "{bound}");
    // Spills add work to other units, so that their rule does not read the headroom. Products remain.
    let spilling =
        [("spills", 40.0), ("local_share_pct", 30.0), ("stall_long_scoreboard", 2.0), ("stall_lg_throttle", 0.1)];
    let found = found(&with(&PERSISTENT, &spilling));
    assert!((bound_of(&found, "spills").unwrap() - 18.4).abs() < 1e-9, "{found:?}");
}

/// Sectors that L1 holds, and barriers, move no bytes through DRAM: what DRAM does remains.
#[test]
fn a_bound_is_what_dram_leaves_if_the_fix_saves_none_of_its_bytes() {
    let full = [("dram_pct", 89.2)];
    let access = [("global_excessive_pct", 75.0), ("sectors_per_request", 32.0), ("stall_long_scoreboard", 8.0)];
    let of = |hit: f64, rule: &str, values: &[(&str, f64)]| {
        let values = with(&with(&BUSY, values), &[("l1_hit_pct", hit)]);
        bound_of(&found(&with(&values, &full)), rule).unwrap()
    };
    let held = of(75.0, "uncoalesced", &access);
    assert!((held - 10.8).abs() < 1e-9, "the excess stays in L1: {held}");
    assert!(of(10.0, "uncoalesced", &access) > 50.0, "the excess reaches L2, and can be DRAM's");
    let barriers = of(75.0, "barriers", &[("stall_barrier", 5.0)]);
    assert!(barriers <= 10.8 + 1e-9, "{barriers}");
    // 268 MB are stored, in four times as many sectors, and DRAM writes them once
    let stores = |written: f64| {
        let sectors = 268.4e6 / 32.0;
        let values = [
            ("global_excessive_pct", 60.0),
            ("store_excess_pct", 60.0),
            ("load_excess_pct", 0.0),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", sectors),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 4.0 * sectors),
            ("dram_bytes", 268.5e6 + written),
            ("dram_read_bytes", 268.5e6),
        ];
        of(75.0, "uncoalesced_stores", &values)
    };
    assert!((stores(248.6e6) - 10.8).abs() < 1e-9, "{}", stores(248.6e6));
    assert!(stores(700e6) > 50.0, "{}", stores(700e6));
}

#[test]
fn a_finding_that_saves_less_than_one_percent_is_none() {
    let full = [("dram_pct", 99.4), ("stall_barrier", 1.0)];
    let held = found(&with(&BUSY, &full));
    assert!(!held.iter().any(|finding| finding.rule == "barriers"), "{held:?}");
    assert!(held.iter().all(|finding| finding.saving.as_ref().is_none_or(|saving| saving.percent >= 1.0)), "{held:?}");
    let one = found(&[("grid_blocks", 131.0)]);
    assert_eq!(one.len(), 0, "0.8 %: {one:?}");
    let single = found(&[("grid_blocks", 1.0)]);
    assert!(single[0].sentence.starts_with("1 block on 132 SMs: 131 SMs ("), "{single:?}");
}

/// Two launches of a kernel, one third and two thirds of the time.
#[test]
fn a_bound_of_launches_is_what_their_busiest_units_leave() {
    let quantities = launched(
        &["scale", "gather"],
        &[
            ("duration", &[25_000.0, 75_000.0]),
            ("warp_latency", &[10.0, 10.0]),
            ("stall_wait", &[9.0, 0.1]),
            ("issue_slot_utilisation", &[40.0, 10.0]),
            ("dram_pct", &[60.0, 5.0]),
        ],
    );
    let bound = bound_of(&of_launches(&quantities), "fixed_latency").unwrap();
    assert!((bound - 10.0).abs() < 1e-9, "DRAM leaves 40 % of a quarter of the time: {bound}");
}

#[test]
fn registers_that_hold_accumulators_limit_nothing() {
    let few = [("tensor_pct", 18.0), (TENSOR, 20.0), ("stall_long_scoreboard", 2.0), ("block_threads", 256.0)];
    let few = with(&PERSISTENT, &few);
    let by_registers = [("registers", 186.0), ("shared_mem", 20_000.0)];
    let by_memory = [("registers", 60.0), ("shared_mem", 225_000.0)];
    for (limit, rule) in [(by_registers, "registers_fill_the_sm"), (by_memory, "low_occupancy")] {
        let found = |wgmma: f64| rules(&with(&with(&few, &limit), &[(WGMMA, wgmma)]));
        assert!(found(0.0).iter().any(|found| found == rule), "{rule}: {:?}", found(0.0));
        assert!(!found(2.0).iter().any(|found| found == rule), "{rule}: {:?}", found(2.0));
    }
}

/// Without a deep profile, the declared operations tell matrix products: another variant's profile has the peak.
#[test]
fn registers_of_a_kernel_at_the_rate_of_the_tensor_pipe_limit_nothing() {
    let (variants, shape) = ([VariantId("a".into()), VariantId("b".into())], shape("s", 1));
    let of = |duration: f64| {
        let mut quantities = Quantities::new(variants.each_ref().map(|id| (id.clone(), shape.name.clone())));
        for (metric, value) in [
            ("issue_slot_utilisation", 34.4),
            ("active_warps", 2.0),
            ("registers", 186.0),
            ("block_threads", 256.0),
            ("grid_blocks", 512.0),
            ("blocks_per_sm", 1.0),
            ("waves", 3.9),
            ("theoretical_occupancy", 12.5),
            ("duration", duration),
        ] {
            quantities.set_column(metric, vec![Cell::finite(value), Cell::finite(value)]);
        }
        quantities.set_column("tensor_peak_fp16", vec![Cell::Missing("not collected".into()), Cell::finite(8.8e14)]);
        let shapes = std::slice::from_ref(&shape);
        let diagnosis = Diagnosis::of(RuleBook::shipped(), &quantities, shapes, &CHIP);
        let rules: Vec<String> = diagnosis.findings(&variants[..1]).into_iter().map(|finding| finding.rule).collect();
        (rules, diagnosis.busiest(&variants[0], &shape.name).unwrap())
    };
    // 1 Gflop needs 1.14 µs at the peak
    let (rules, busiest) = of(1_500.0);
    assert!(!rules.iter().any(|rule| ["registers_fill_the_sm", "low_occupancy"].contains(&rule.as_str())), "{rules:?}");
    assert_eq!(
        busiest,
        "The declared operations run at 75.8 % of the tensor pipe's FP16 peak. Of the counted units, the issue stage is the busiest, 34.4 %."
    );
    let (rules, busiest) = of(15_000.0);
    assert!(rules.iter().any(|rule| rule == "registers_fill_the_sm"), "{rules:?}");
    assert_eq!(busiest, "The busiest counted unit is the issue stage, 34.4 % of its peak.");
}

/// Attention with 512 blocks of 8 warps, in which a barrier follows the setup and the first copies. Persistent blocks are 1.23
/// times as fast.
#[test]
fn blocks_that_wait_at_their_start_are_no_needless_barriers() {
    let many = [
        ("issue_slot_utilisation", 28.2),
        ("warp_latency", 7.04),
        ("stall_wait", 1.97),
        ("stall_barrier", 0.822),
        ("waits_for_products_pct", 6.9),
        ("barrier_pct", 0.131),
        ("start_wait_pct", 15.7),
        ("grid_blocks", 512.0),
        ("block_threads", 256.0),
        ("waves", 3.88),
        ("theoretical_occupancy", 12.5),
        ("achieved_occupancy", 12.4),
        ("tensor_pct", 43.7),
        (TENSOR, 50.3),
        (WGMMA, 3.1),
    ];
    let many = with(&PERSISTENT, &many);
    let all = found(&many);
    let first = &all[0];
    assert_eq!(first.rule, "block_start", "{all:?}");
    assert!(first.saving.as_ref().is_some_and(|saving| (18.8..30.0).contains(&saving.percent)), "{first:?}");
    assert!(first.advice[0].starts_with("keep blocks on the SMs: a persistent grid of 132 blocks"), "{first:?}");
    assert!(!all.iter().any(|finding| finding.rule == "barriers"), "4.8 % at barriers: {all:?}");
    let products = |values: &[(&str, f64)]| {
        let found = found(values).into_iter().find(|finding| finding.rule == "products_not_overlapped");
        found.map(|finding| (finding.confidence, finding.symptom_of))
    };
    assert_eq!(products(&many), Some((Confidence::Low, Some("block_start".to_owned()))));
    assert_eq!(products(&with(&many, &[("start_wait_pct", 2.0)])), Some((Confidence::Low, None)));
    for other in [("waves", 1.0), ("blocks_per_sm", 4.0), ("start_wait_pct", 5.0)] {
        assert!(!rules(&with(&many, &[other])).iter().any(|rule| rule == "block_start"), "{other:?}");
    }
    // the other waits in that state are at barriers
    assert!(rules(&with(&many, &[("waits_for_products_pct", 0.0)])).iter().any(|rule| rule == "barriers"));
    assert!(!rules(&PERSISTENT).iter().any(|rule| rule == "products_not_overlapped"));
}

/// A cooperative reduction: its warps meet at the barrier of the grid after loops that wait for loads.
#[test]
fn warps_that_wait_for_loads_before_a_barrier_are_not_uneven() {
    let reduction = [
        ("issue_slot_utilisation", 10.5),
        ("warp_latency", 76.1),
        ("stall_long_scoreboard", 55.2),
        ("stall_barrier", 12.8),
        ("barrier_pct", 1.27),
        ("stall_short_scoreboard", 1.5),
        ("dram_pct", 14.1),
        ("waits_at_mbarriers_pct", 0.0),
    ];
    assert_eq!(rules(&reduction), ["load_latency"]);
    let uneven = with(&reduction, &[("stall_long_scoreboard", 25.0)]);
    assert_eq!(rules(&uneven)[0], "uneven_warps");
}

/// A bound is at most the waits that the sentence names, and a block with a warp that copies is not told to be even.
#[test]
fn a_block_with_a_warp_that_copies_has_advice_for_roles() {
    let waits = [
        ("issue_slot_utilisation", 19.6),
        ("warp_latency", 50.0),
        ("stall_barrier", 9.0),
        ("stall_long_scoreboard", 11.0),
        ("stall_short_scoreboard", 15.0),
        ("barrier_pct", 0.28),
        ("waits_at_mbarriers_pct", 0.0),
    ];
    let first = |values: &[(&str, f64)]| found(values).into_iter().next().unwrap();
    let uneven = first(&waits);
    assert_eq!(uneven.rule, "uneven_warps");
    assert!(
        uneven.sentence.contains("loads 22 %") && uneven.sentence.contains("shared memory 30 %"),
        "{}",
        uneven.sentence
    );
    let roles = first(&with(&waits, &[("copying_warps_pct", 20.0)]));
    assert_eq!(roles.rule, "producer_warps");
    assert!(roles.sentence.contains("20 % of the warps"), "{}", roles.sentence);
    let saving = roles.saving.as_ref().unwrap().modelled;
    assert!((saving - 70.0).abs() < 0.5, "the three waits that the sentence names: {saving}");
    assert_eq!(first(&with(&waits, &[("copying_warps_pct", 100.0)])).rule, "uneven_warps");
}

/// Without counters of issue slots, the launch alone says that most schedulers have no warp.
#[test]
fn a_grid_of_fewer_warps_than_schedulers_leaves_schedulers_idle() {
    let values = [("grid_blocks", 31.0), ("block_threads", 32.0), ("waves", 0.06), ("achieved_occupancy", 3.2)];
    let found = found(&values);
    let few = found.iter().find(|finding| finding.rule == "few_warps").unwrap();
    assert_eq!(few.sentence, "31 warps on 132 SMs of four schedulers each: 94.1 % of the schedulers have none.");
    assert_eq!(bound_of(&found, "few_warps").map(f64::round), Some(94.0));
    assert!(!rules(&[("grid_blocks", 132.0), ("block_threads", 128.0)]).contains(&"few_warps".to_owned()));
}

/// Atomics on one line are few of the sectors, and most of the time.
#[test]
fn waits_for_atomics_name_them_whatever_their_share_of_the_sectors() {
    let values = |waits: f64| {
        let of = [("atomic_share_pct", 6.0), ("dram_pct", 20.0), ("waits_for_atomics_pct", waits)];
        let states = ["lg_throttle", "drain", "membar", "tex_throttle"].map(|state| format!("stall_{state}"));
        let mut all: Vec<(String, f64)> = states.into_iter().map(|state| (state, 0.1)).collect();
        all.extend(of.into_iter().chain(BUSY).chain([("stall_long_scoreboard", 6.0)]).map(|(n, v)| (n.to_owned(), v)));
        all
    };
    let holds = |waits: f64| {
        let values = values(waits);
        let values: Vec<(&str, f64)> = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        found(&values).iter().any(|finding| finding.rule == "atomics")
    };
    assert!(holds(60.0) && !holds(10.0));
}

/// A loop over the grid in 128 blocks, whatever the size of the data.
#[test]
fn loads_of_a_small_grid_wait_for_more_blocks() {
    let grid = |waves: f64| {
        [
            ("issue_slot_utilisation", 4.4),
            ("warp_latency", 91.4),
            ("stall_long_scoreboard", 86.2),
            ("waits_at_mbarriers_pct", 0.0),
            ("waits_for_global_loads_pct", 94.0),
            ("waits_for_atomics_pct", 0.0),
            ("waits_for_local_pct", 0.0),
            ("dram_pct", 15.6),
            ("waves", waves),
            ("achieved_occupancy", 12.3),
            ("theoretical_occupancy", 100.0),
            ("eligible_warps", 0.02),
        ]
    };
    let advice = |waves: f64| {
        let found = found(&grid(waves)).into_iter().find(|finding| finding.rule == "load_latency");
        let found = found.unwrap_or_else(|| panic!("{:?}", rules(&grid(waves))));
        (found.sentence, found.advice[0].clone())
    };
    let (sentence, first) = advice(0.121);
    assert!(sentence.contains("the grid gives each SM few warps"), "{sentence}");
    assert!(first.starts_with("launch more blocks"), "{first}");
    assert!(advice(8.0).1.starts_with("load earlier"), "{first}");
}

/// Attention with persistent blocks and a causal mask, 512 keys. Consumers wait for tiles, the producer for free slots.
#[test]
fn waits_at_mbarriers_are_no_waits_for_loads() {
    const TMA: &str = "sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_active";
    const L2: &str = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
    let causal = [
        ("issue_slot_utilisation", 29.3),
        ("warp_latency", 7.67),
        ("stall_long_scoreboard", 2.4),
        ("waits_at_mbarriers_pct", 29.6),
        ("mbarrier_data_pct", 23.7),
        ("mbarrier_slot_pct", 5.9),
        (L2, 68.9),
        ("tensor_pct", 40.0),
        (TENSOR, 44.6),
        (TMA, 0.25),
    ];
    let causal = with(&PERSISTENT, &causal);
    let all = found(&causal);
    assert_eq!((all[0].rule.as_str(), all[0].confidence), ("bulk_copies", Confidence::Medium), "{all:?}");
    assert!(!all.iter().any(|finding| finding.rule == "load_latency"), "{all:?}");
    // as many waits, of a producer
    let ahead = rules(&with(&causal, &[("mbarrier_data_pct", 5.9), ("mbarrier_slot_pct", 23.7)]));
    assert!(!ahead.iter().any(|rule| ["bulk_copies", "load_latency"].contains(&rule.as_str())), "{ahead:?}");
    // loads of global memory in a kernel with bulk copies
    let loads = [("waits_at_mbarriers_pct", 1.0), ("mbarrier_data_pct", 1.0), ("mbarrier_slot_pct", 0.0)];
    let loads = rules(&with(&causal, &loads));
    assert!(loads.contains(&"load_latency".to_owned()) && !loads.contains(&"bulk_copies".to_owned()), "{loads:?}");
    // without samples the two cannot be told apart
    let is_sampled = |(name, _): &(&str, f64)| name.contains("mbarrier");
    let counted: Vec<(&str, f64)> = causal.into_iter().filter(|value| !is_sampled(value)).collect();
    let hint = found(&counted).into_iter().find(|finding| finding.rule == "bulk_copies").map(|found| found.confidence);
    assert_eq!(hint, Some(Confidence::Low));
    assert!(!rules(&counted).contains(&"load_latency".to_owned()), "{:?}", rules(&counted));
    let plain = rules(&with(&counted, &[(TMA, 0.0)]));
    assert!(plain.contains(&"load_latency".to_owned()) && !plain.contains(&"bulk_copies".to_owned()), "{plain:?}");
}

/// DRAM needs its time for every byte that a fix leaves.
#[test]
fn no_fix_saves_more_than_dram_leaves_unless_it_lowers_its_bytes() {
    let atomics = [
        ("dram_pct", 55.0),
        ("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_atom.sum", 5e5),
        ("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_red.sum", 0.0),
        ("lts__t_sectors.sum", 1e6),
        ("warp_latency", 10.0),
        ("stall_lg_throttle", 9.0),
        ("stall_long_scoreboard", 0.5),
        ("stall_drain", 0.0),
        ("stall_membar", 0.0),
        ("stall_tex_throttle", 0.0),
        ("issue_slot_utilisation", 10.0),
    ];
    assert_eq!(bound_of(&found(&atomics), "atomics"), Some(45.0), "{:?}", found(&atomics));
    // half of the writes are not needed, so that DRAM could be busy for half of its time
    let stores = |written: f64| {
        [
            ("dram_pct", 90.0),
            ("dram_bytes", written),
            ("dram_read_bytes", 0.0),
            ("global_excessive_pct", 75.0),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 1e6),
            ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", 1e5),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 0.0),
            ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1e5),
        ]
    };
    let (compulsory, doubled) =
        (bound_of(&found(&stores(8e6)), "uncoalesced_stores"), bound_of(&found(&stores(16e6)), "uncoalesced_stores"));
    assert!(compulsory.is_some_and(|most| (most - 10.0).abs() < 0.1), "{compulsory:?}");
    assert!(doubled.is_some_and(|most| (most - 55.0).abs() < 0.1), "{doubled:?}");
}

/// 64 blocks on 132 SMs leave 51.5 % of them idle, and a launch that gives them work saves no more than that.
#[test]
fn idle_multiprocessors_save_what_is_idle() {
    let small = [
        ("grid_blocks", 64.0),
        ("waves", 0.1),
        ("blocks_per_sm", 4.0),
        ("theoretical_occupancy", 50.0),
        ("achieved_occupancy", 6.0),
        ("issue_slot_utilisation", 5.0),
    ];
    let saved = bound_of(&found(&small), "small_grid").unwrap();
    assert!((saved - 51.5).abs() < 0.1, "{saved}");
    // 200 blocks, one on an SM: the second wave has work for 68 of 132
    let tail = bound_of(&found(&[("waves", 200.0 / 132.0), ("blocks_per_sm", 1.0)]), "tail").unwrap();
    assert!((tail - 24.2).abs() < 0.1, "{tail}");
    // two blocks share an SM whose pipe is full: the one that is left alone takes half the time
    let shared = [("waves", 300.0 / 264.0), ("blocks_per_sm", 2.0), ("issue_slot_utilisation", 100.0)];
    let tail = bound_of(&found(&shared), "tail").unwrap();
    assert!((tail - 24.2).abs() < 0.1, "{tail}");
}

/// A certain small gain does not come before a large one.
#[test]
fn findings_are_ranked_by_gain_and_confidence_breaks_ties() {
    let values = [
        ("waves", 200.0 / 132.0),
        ("blocks_per_sm", 1.0),
        ("measured_tail_pct", 24.0),
        ("sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active", 57.0),
        ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", 5.0),
        ("sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", 5.0),
        ("sm__cycles_active.max", 100.0),
        ("sm__cycles_active.avg", 76.0),
    ];
    let found = found(&values);
    let rules: Vec<(&str, Confidence)> = found.iter().map(|f| (f.rule.as_str(), f.confidence)).collect();
    assert_eq!(rules, [("double_precision", Confidence::Low), ("tail", Confidence::High)]);
}

/// SMs that never have work are idle at the peak of the samples too.
#[test]
fn sms_that_no_sample_shows_running_out_of_work_are_no_imbalance() {
    let of = |tail: Option<f64>| {
        let mut values = vec![("sm__cycles_active.max", 100.0), ("sm__cycles_active.avg", 80.0), ("waves", 1.0)];
        values.extend([("grid_blocks", 132.0), ("theoretical_occupancy", 50.0), ("achieved_occupancy", 49.0)]);
        values.extend([("duration", 40_000.0), ("warp_latency", 10.0), ("stall_barrier", 0.1)]);
        values.push(("issue_slot_utilisation", 40.0));
        values.extend(tail.map(|percent| ("measured_tail_pct", percent)));
        found(&values).into_iter().any(|finding| finding.rule == "imbalance")
    };
    assert_eq!([None, Some(30.0), Some(2.0)].map(of), [true, true, false]);
}

/// A block of one thread has work for one lane of 32; nothing but the launch tells it.
#[test]
fn lanes_without_a_thread_are_told_without_counters() {
    let of = |threads: f64| found(&[("block_threads", threads)]).into_iter().find(|f| f.rule == "partial_warps");
    let one = of(1.0).unwrap();
    assert_eq!(one.sentence, "A block size of 1 leaves 96.9 % of the lanes of its warps without a thread.");
    assert!((one.saving.unwrap().percent - 96.875).abs() < 1e-9);
    assert!(of(48.0).is_some_and(|half| half.saving.unwrap().percent == 25.0));
    assert!(of(256.0).is_none());
}

/// The bound of a launch of 2.5 µs is not what is idle, and the sentence says why.
#[test]
fn a_sentence_names_the_limit_of_its_bound() {
    let few = found(&[("grid_blocks", 8.0), ("duration", 2_500.0)]);
    let few = few.iter().find(|finding| finding.rule == "small_grid").unwrap();
    assert_eq!(few.sentence, "8 blocks on 132 SMs: 124 SMs (93.9 %) are idle; the declared work leaves 60 %.");
    assert!((few.saving.as_ref().unwrap().percent - 60.0).abs() < 1e-9);
}

use super::*;
use crate::reference_runs::ReferenceRuns;
use crate::{Correctness, InconclusiveKind, JudgedRun, PhaseRun};
use ncugate_fixtures::at_root;
use ncugate_model::{ComputeCapability, Verdict};
use ncugate_phase::config::parse;
use std::path::Path;

const TODAY: jiff::civil::Date = jiff::civil::date(2026, 6, 15);

const PHASE: &str = r#"
[phase]
name = "copy"
[workload]
seeds = [0]
reference = "copy"
tolerance = { max_abs = 0 }
bytes = "8 * N"
flops = "100 * N"
[workload.shapes]
s = { N = 1000000 }
[workload.buffers]
x = { dtype = "f32", shape = ["N"], init = "normal" }
y = { dtype = "f32", shape = ["N"], role = "output" }
[kernel]
source = "copy.cu"
entry = "copy"
grid = ["N // 128"]
block = [128]
args = ["x", "y"]
"#;

/// An H200.
const CHIP: ChipFacts = ChipFacts {
    l2_bytes: Some(62_914_560.0),
    memory_hz: Some(3.201e9),
    bus_bits: Some(6016.0),
    sm_hz: Some(1.98e9),
    sms: Some(132.0),
    capability: Some(ComputeCapability::new(9, 0)),
};

/// The counters' judgement of a launch with the given `latency` in microseconds, whose work takes as long alone.
fn agreement(latency: f64, counted: &[(&str, f64)]) -> Agreement {
    agreement_of(latency, counted, vec![&[unrepeated(&[latency + 1.0; 3])]], Some(vec![&alone(latency)]))
}

/// Samples without repeats.
fn unrepeated(samples: &[f64]) -> UnrepeatedSamples {
    UnrepeatedSamples { launches: 1, fixed_us: 0.0, samples: samples.to_vec(), unseen: 1 }
}

/// Launches under the conditions of the profiler, whose work takes `us` microseconds.
fn alone(us: f64) -> IsolatedSamples {
    let samples = vec![us + 2.0; 8];
    IsolatedSamples { kernels: 1, empty_us: 2.0, evaluations: samples.clone(), samples, clock_mhz: vec![1980.0; 8] }
}

fn agreement_of(
    latency: f64,
    counted: &[(&str, f64)],
    unrepeated: Vec<&[UnrepeatedSamples]>,
    isolated: Option<Vec<&IsolatedSamples>>,
) -> Agreement {
    case(PHASE, (1.0, latency), counted, |case| CaseCounters { unrepeated, isolated, ..case }.witness().agreement)
}

/// Runs `judge` over a case of a phase with a number of sets, a latency and counters.
fn case<T>(
    text: &str,
    (sets, latency): (f64, f64),
    counted: &[(&str, f64)],
    judge: impl FnOnce(CaseCounters<'_>) -> T,
) -> T {
    let phase = parse(Path::new("copy.toml"), text).unwrap();
    let (variant, shape) = (VariantId("copy".into()), &phase.workload.shapes[0]);
    let mut counters = Quantities::new([(variant.clone(), shape.name.clone())]);
    for (metric, value) in counted {
        counters.set_column(metric, vec![Cell::Value(*value)]);
    }
    let (honest, alone) = (unrepeated(&[latency; 3]), alone(latency));
    judge(CaseCounters {
        phase: &phase,
        chip: &CHIP,
        shape,
        variant: &variant,
        counters: &counters,
        latency,
        shortest: latency,
        sets,
        profiler: DurationSource::Ncu,
        empty_ns: Some(1000.0),
        planned: Some(1),
        unrepeated: vec![std::slice::from_ref(&honest)],
        isolated: Some(vec![&alone]),
    })
}

#[test]
fn a_latency_needs_samples_without_repeats_and_launches_alone() {
    let timed = [("duration", 2.5e3)];
    let found = agreement_of(1.5, &timed, Vec::new(), Some(vec![&alone(1.5)]));
    assert!(reason(&found).starts_with("0 samples without repeats, 3 are needed"), "{found:?}");
    let of = |samples: &[f64]| {
        let unrepeated = UnrepeatedSamples { launches: 2, fixed_us: 1.0, samples: samples.to_vec(), unseen: 2 };
        agreement_of(1.5, &timed, vec![&[unrepeated]], Some(vec![&alone(1.5)]))
    };
    assert_eq!(of(&[5.0, 5.1, 5.2]), Agreement::Agrees);
    assert!(reason(&of(&[5.0, 5.1])).starts_with("2 samples without repeats, 3 are needed"));
    assert!(reason(&of(&[5.0, 5.1, f64::NAN])).contains("samples without repeats"));
    assert!(matches!(of(&[7.0, 7.1, 7.2]), Agreement::Doubtful(_)));
    assert!(matches!(of(&[12.0; 3]), Agreement::Cheats(_)));
    let without = agreement_of(1.5, &timed, vec![&[unrepeated(&[1.5; 3])]], Some(Vec::new()));
    assert!(reason(&without).starts_with("0 launches were timed under the conditions of the profiler"), "{without:?}");
    let shipped = agreement_of(1.5, &[("duration", 90e3)], vec![&[unrepeated(&[1.5; 3])]], None);
    assert_eq!(shipped, Agreement::Agrees, "a recording of a form without them, which came with the program");
}

#[test]
fn unmet_inputs_are_judged_by_the_confirmation_and_by_the_sweep_only_without_one() {
    let timed = [("duration", 11e3)];
    let of = |measured: &[[f64; 4]]| {
        let each: Vec<_> =
            measured.iter().map(|samples| [UnrepeatedSamples { unseen: 2, ..unrepeated(samples) }]).collect();
        agreement_of(10.0, &timed, each.iter().map(<[_; 1]>::as_slice).collect(), Some(vec![&alone(10.0)]))
    };
    let (even, slow) = ([11.0; 4], [15.0, 15.0, 11.0, 11.0]);
    assert_eq!(of(&[even, [15.0, 11.0, 11.0, 15.0]]), Agreement::Agrees, "noise lengthens one");
    assert_eq!(of(&[slow, even]), Agreement::Agrees, "the confirmation's latencies are judged");
    for measured in [&[even, slow][..], &[slow]] {
        let found = of(measured);
        assert!(reason(&found).contains("on inputs that it has not met"), "{found:?}");
    }
    let sweep = [UnrepeatedSamples { unseen: 2, ..unrepeated(&slow) }];
    let without = [UnrepeatedSamples { unseen: 0, ..unrepeated(&even) }];
    let found = agreement_of(10.0, &timed, vec![&sweep, &without], Some(vec![&alone(10.0)]));
    assert!(reason(&found).contains("on inputs that it has not met"), "no such sample in the confirmation: {found:?}");
}

#[test]
fn outputs_that_l2_cannot_hold_are_written_whatever_the_phase_declares() {
    let text = PHASE.replace("bytes = \"8 * N\"\nflops = \"100 * N\"\n", "").replace("N = 1000000 ", "N = 100000000 ");
    let of = |text: &str, counted: f64| {
        case(text, (1.0, 300.0), &[("duration", 301e3), ("dram_bytes", counted)], |case| case.witness().agreement)
    };
    assert_eq!(of(&text, 8e8), Agreement::Agrees);
    assert_eq!(of(&text, 3.4e8), Agreement::Agrees, "L2 may hold the rest");
    let found = of(&text, 1e6);
    assert!(
        matches!(found, Agreement::Cheats(_))
            && reason(&found).contains("400,000,000 that its outputs have")
            && reason(&found).starts_with("work was not done: ")
            && !reason(&found).contains("`bytes`"),
        "{found:?}"
    );
    let changed = text.replace("role = \"output\"", "role = \"output\", init = \"zeros\"");
    assert!(
        parse(Path::new("copy.toml"), &changed).is_err() || of(&changed, 1e6) == Agreement::Agrees,
        "not written whole"
    );
}

fn reason(agreement: &Agreement) -> &str {
    match agreement {
        Agreement::Agrees => "",
        Agreement::Unwitnessed(reason) | Agreement::Doubtful(reason) | Agreement::Cheats(reason) => reason,
    }
}

#[test]
fn a_launch_that_no_counter_saw_is_doubtful() {
    let found = agreement(10.0, &[]);
    assert!(
        matches!(found, Agreement::Unwitnessed(_)) && reason(&found).starts_with("no counter saw this kernel"),
        "{found:?}"
    );
    for duration in [0.0, -1.0] {
        assert!(matches!(agreement(10.0, &[("duration", duration)]), Agreement::Doubtful(_)));
    }
}

#[test]
fn durations_have_to_agree_under_equal_conditions() {
    let at = |us: f64, profiled: f64| {
        agreement_of(us, &[("duration", profiled * 1e3)], vec![&[unrepeated(&[us; 3])]], Some(vec![&alone(us)]))
    };
    assert_eq!(at(60.0, 67.6), Agreement::Agrees);
    assert!(matches!(at(60.0, 67.9), Agreement::Doubtful(_)));
    assert!(matches!(at(3.0, 62.0), Agreement::Cheats(_)), "20 times shorter than the launch that ncu saw");
    assert!(matches!(at(2000.0, 62.0), Agreement::Doubtful(_)), "shorter under the profiler proves no cheat");
    assert_eq!(
        reason(&at(3.0, 62.0)),
        "two durations disagree under equal conditions: 3 µs timed alone, 61 µs under ncu; ±1.05 µs are accepted"
    );
    let low = [("duration", 41e3), ("sm_clock", 0.99e9)];
    let slow = agreement_of(20.0, &low, vec![&[unrepeated(&[20.0; 3])]], Some(vec![&alone(20.0)]));
    assert_eq!(slow, Agreement::Agrees, "as many clocks as alone");
}

#[test]
fn bytes_and_operations_below_the_declared_are_work_that_was_not_done() {
    let timed = ("duration", 11e3);
    // 8 MB are declared; the output's 4 MB may stay in L2
    assert_eq!(agreement(10.0, &[timed, ("dram_bytes", 4.0e6)]), Agreement::Agrees);
    let half = agreement(10.0, &[timed, ("dram_bytes", 2.0e6)]);
    assert!(matches!(half, Agreement::Doubtful(_)) && reason(&half).contains("bytes of DRAM counted"), "{half:?}");
    let [masked, skipped] = ["lower `bytes` if a kernel may skip some", "otherwise work was not done"];
    assert!(reason(&half).find(masked) < reason(&half).find(skipped), "the declaration comes first: {half:?}");
    assert!(reason(&half).contains(masked), "{half:?}");
    assert!(matches!(agreement(10.0, &[timed, ("dram_bytes", 1e5)]), Agreement::Doubtful(_)), "a mask skips much");

    let operations = |single: f64, tensor: f64, busy: f64| {
        let mut counted = vec![timed, ("fp32_flop", single), ("tensor_ops_fp16", tensor), ("tensor_pct", busy)];
        counted.extend(crate::frame::required_metrics::OTHER_ARITHMETIC.iter().map(|(name, _)| (*name, 0.0)));
        agreement(10.0, &counted)
    };
    assert_eq!(operations(1e8, 0.0, 0.0), Agreement::Agrees);
    assert_eq!(operations(0.0, 1e8, 10.0), Agreement::Agrees);
    assert!(matches!(operations(5e7, 0.0, 0.0), Agreement::Doubtful(_)));
    assert!(matches!(operations(1e6, 0.0, 0.0), Agreement::Doubtful(_)));
    assert_eq!(operations(0.0, 0.0, 10.0), Agreement::Agrees, "a type of the tensor pipe that is not counted");
    assert_eq!(agreement(10.0, &[timed, ("fp32_flop", 0.0)]), Agreement::Agrees, "other arithmetic was not counted");
}

#[test]
fn a_median_below_the_limit_of_the_chip_is_rejected() {
    // 8 MB through the ports of 132 multiprocessors take 0.24 us
    let found = agreement(0.2, &[("duration", 1.2e3)]);
    assert!(reason(&found).contains("at its L2 peak"), "{found:?}");
    assert!(matches!(agreement(0.01, &[("duration", 1.01e3)]), Agreement::Cheats(_)));
}

#[test]
fn a_duration_of_cupti_is_compared_without_a_clock() {
    let of = |duration: f64, empty_ns| {
        let counted = [("duration", duration), ("sm_clock", 0.99e9)];
        case(PHASE, (1.0, 4.0), &counted, |case| {
            CaseCounters { profiler: DurationSource::Cupti, empty_ns, ..case }.witness().agreement
        })
    };
    assert_eq!(of(5.4e3, Some(1000.0)), Agreement::Agrees);
    assert!(matches!(of(8e3, Some(1000.0)), Agreement::Doubtful(_)));
    assert!(matches!(of(90e3, Some(1000.0)), Agreement::Cheats(_)));
    assert!(reason(&of(5e3, None)).starts_with("CUPTI measured no empty kernel"));
}

#[test]
fn minimum_dram_traffic_depends_on_the_sets_beyond_l2() {
    let text = PHASE.replace("N = 1000000", "N = 100000000");
    let of = |sets, latency| case(&text, (sets, latency), &[], |case| case.floors());
    // 800 MB over 4.8 TB/s are 166 us, less the 63 MB that may still be in L2
    assert!(of(1.0, 155.0).is_empty());
    assert!(!of(1.0, 150.0).is_empty());
    assert!(!of(4.0, 162.0).is_empty(), "four sets leave a sixteenth of each in L2 at most");
}

fn recordings() -> Vec<PhaseRun> {
    let phases = std::fs::read_dir("profiles").unwrap().map(|entry| entry.unwrap().path());
    let runs = phases.flat_map(|phase| ["h200", "h100"].map(|chip| phase.join(chip)));
    let mut folders: Vec<_> = runs.filter(|folder| folder.is_dir()).collect();
    folders.sort();
    folders.iter().map(|folder| PhaseRun::load(folder).unwrap()).collect()
}

#[test]
fn honest_variants_of_every_recording_agree_with_their_counters() {
    at_root();
    let mut cases = 0;
    for run in recordings().into_iter().filter(|run| run.phase.name != "cheats") {
        let session = JudgedRun::of(&run, ReferenceRuns::default(), TODAY).unwrap();
        let measured = session.measurements();
        for variant in &run.plan.variants {
            for shape in &run.phase.workload.shapes {
                let read = |metric: &str| measured.quantities().read(&variant.id, &shape.name, metric).value();
                if read("latency_p50").and(read("duration")).is_some() {
                    let case = format!("{} {} at {}", run.run.folder.display(), variant.id, shape.name);
                    assert_eq!(measured.witness().doubt(&variant.id, &shape.name), None, "{case}");
                    cases += 1;
                }
            }
        }
        let cheats = |c: &Correctness| matches!(c, Correctness::Cheats { .. });
        assert!(!measured.correctness().values().any(cheats), "{}: no variant of it cheats", run.phase.name);
    }
    assert!(cases > 200, "{cases}");
}

/// A recording with the latencies of its selected variant, or of all variants, changed.
fn forged(factor: f64, all: bool) -> (PhaseRun, VariantId) {
    let mut run = PhaseRun::load(Path::new("profiles/softmax/h200")).unwrap();
    let selected = JudgedRun::of(&run, ReferenceRuns::default(), TODAY).unwrap().selected().cloned().unwrap();
    let mut changed = (*run.run).clone();
    for record in changed.latencies.iter_mut().filter(|record| all || record.variant == selected) {
        if let LatencyOutcome::Timed { samples, .. } = &mut record.outcome {
            samples.iter_mut().for_each(|us| *us *= factor);
        }
    }
    run.run = Arc::new(changed);
    (run, selected)
}

#[test]
fn a_variant_that_is_too_fast_for_its_counters_is_selected_after_all_others() {
    at_root();
    let (run, forged_one) = forged(0.5, false);
    let session = JudgedRun::of(&run, ReferenceRuns::default(), TODAY).unwrap();
    assert_ne!(session.selected(), Some(&forged_one));
    let found = session.judgement().variants.iter().find(|v| v.variant == forged_one).unwrap();
    assert!(found.doubt.as_deref().unwrap().contains("repeats take less time"), "{found:?}");
    assert_eq!(found.verdict, Verdict::Inconclusive, "{found:?}");
}

#[test]
fn a_contradiction_rejects_counters_too_and_a_missing_witness_does_not() {
    at_root();
    let contradiction = |run: &PhaseRun, variant: &VariantId| {
        let session = JudgedRun::of(run, ReferenceRuns::default(), TODAY).unwrap();
        let witness = session.measurements().witness();
        let shapes = run.phase.workload.shapes.iter();
        shapes.filter_map(|shape| witness.contradiction(variant, &shape.name)).map(str::to_owned).next()
    };
    let (mut run, selected) = forged(0.5, false);
    assert!(contradiction(&run, &selected).is_some_and(|reason| reason.contains("repeats take less time")));
    let (mut honest, _) = forged(1.0, false);
    assert_eq!(contradiction(&honest, &selected), None);
    let mut failed = (*honest.run).clone();
    failed.confirmations.clear();
    for record in failed.latencies.iter_mut().filter(|record| record.variant == selected) {
        record.outcome = LatencyOutcome::Failed { reason: "crashed during timing".to_owned() };
    }
    honest.run = Arc::new(failed);
    assert!(contradiction(&honest, &selected).is_some(), "it ran under the profiler alone");
    let mut without = (*run.run).clone();
    without.latencies.clear();
    without.confirmations.clear();
    run.run = Arc::new(without);
    assert_eq!(contradiction(&run, &selected), None, "no latency contradicts nothing");
}

#[test]
fn a_variant_whose_durations_disagree_is_not_selected_by_its_duration() {
    at_root();
    let (mut run, _) = forged(1.0, false);
    run.phase.objective.metric = "duration".to_owned();
    let best = JudgedRun::of(&run, ReferenceRuns::default(), TODAY).unwrap().selected().cloned().unwrap();
    let mut changed = (*run.run).clone();
    for record in changed.latencies.iter_mut().filter(|record| record.variant == best) {
        if let LatencyOutcome::Timed { samples, .. } = &mut record.outcome {
            samples.iter_mut().for_each(|us| *us *= 0.5);
        }
    }
    run.run = Arc::new(changed);
    let session = JudgedRun::of(&run, ReferenceRuns::default(), TODAY).unwrap();
    assert_ne!(session.selected(), Some(&best), "launches of another duration were timed");
    let cautions = session.judgement().cautions.join("\n");
    assert!(cautions.contains(&format!("no gate holds by a latency or counter of {best} at ")), "{cautions}");
}

#[test]
fn a_gate_on_a_latency_that_does_not_count_is_inconclusive() {
    at_root();
    let (run, _) = forged(0.5, true);
    let session = JudgedRun::of(&run, ReferenceRuns::default(), TODAY).unwrap();
    let gate = &session.judgement().gates[0];
    let wide = gate.cases.iter().find(|case| case.shape.0 == "wide").unwrap();
    let outcome = &wide.outcome;
    assert_eq!((outcome.verdict, outcome.inconclusive), (Verdict::Inconclusive, Some(InconclusiveKind::Missing)));
    let reason = gate.reason_of(wide).unwrap();
    assert!(reason.contains("does not count: ") && reason.contains("repeats take less time"), "{wide:?}");
    assert_ne!(session.judgement().verdict, Verdict::Pass);
}

#[test]
fn a_variant_twenty_times_too_fast_for_its_counters_cheats() {
    at_root();
    let (run, forged_one) = forged(0.01, false);
    let session = JudgedRun::of(&run, ReferenceRuns::default(), TODAY).unwrap();
    assert_ne!(session.selected(), Some(&forged_one), "a cheat is never selected");
    let found = session.judgement().variants.iter().find(|v| v.variant == forged_one).unwrap();
    assert!(matches!(&found.correctness, Correctness::Cheats { .. }), "{found:?}");
    assert_eq!((found.verdict, found.rank), (Verdict::Fail, None));
}

#[test]
fn unverified_kernels_are_rejected_if_others_are_verified() {
    at_root();
    let (mut run, selected) = forged(1.0, false);
    let mut changed = (*run.run).clone();
    for record in changed.latencies.iter_mut().filter(|record| record.variant == selected) {
        if let LatencyOutcome::Timed { audit, .. } = &mut record.outcome {
            assert!(audit.take().is_some(), "the recording was audited");
        }
    }
    run.run = Arc::new(changed);
    let session = JudgedRun::of(&run, ReferenceRuns::default(), TODAY).unwrap();
    assert_ne!(session.selected(), Some(&selected));
    let doubt = session.measurements().witness().doubt(&selected, &run.phase.objective.shape);
    assert_eq!(doubt, Some("outputs of its timed launches were not verified"));
}

#[test]
fn a_run_of_an_older_form_does_not_pass_unless_it_came_with_the_program() {
    at_root();
    let mut run = PhaseRun::load(Path::new("profiles/softmax/h200")).unwrap();
    let judged = |run: &PhaseRun| {
        let session = JudgedRun::of(run, ReferenceRuns::default(), TODAY).unwrap();
        let selected = session.selected().cloned().unwrap();
        let doubt = session.measurements().witness().doubt(&selected, &run.phase.objective.shape).map(str::to_owned);
        (doubt, session.judgement().cautions.join(" "))
    };
    let (doubt, cautions) = judged(&run);
    assert_eq!(doubt, None);
    assert!(cautions.contains("older form"), "{cautions}");
    let mut sealed_again = (*run.run).clone();
    sealed_again.manifest.seal.as_mut().unwrap().manifest_sha256 = "0".repeat(64);
    run.run = Arc::new(sealed_again);
    let (doubt, _) = judged(&run);
    assert!(doubt.unwrap().starts_with("the run has form 1, in which no launch was timed under the conditions"));
}

/// A phase that compares with a library keeps its verdict only if ncu saw a kernel of the library.
#[test]
fn a_library_that_no_counter_saw_is_refused_as_a_comparison() {
    at_root();
    let mut run = PhaseRun::load(Path::new("profiles/sdpa_fast/h200")).unwrap();
    let library = VariantId("sdpa_default".into());
    let doubt_and_verdict = |run: &PhaseRun| {
        let session = JudgedRun::of(run, ReferenceRuns::default(), TODAY).unwrap();
        let doubt = session.measurements().witness().doubt(&library, &run.phase.objective.shape);
        (doubt.map(|reason| reason.to_string()), session.judgement().verdict)
    };
    assert_eq!(doubt_and_verdict(&run), (None, Verdict::Pass));
    let mut unseen = (*run.run).clone();
    unseen.profiles.retain(|record| record.variant != library);
    run.run = Arc::new(unseen);
    let (doubt, verdict) = doubt_and_verdict(&run);
    assert!(doubt.as_deref().is_some_and(|reason| reason.starts_with("no counter saw this kernel")), "{doubt:?}");
    assert_eq!(verdict, Verdict::Inconclusive);
}

#[test]
fn a_program_that_measures_itself_is_a_baseline_only_if_a_counter_saw_it() {
    let text = format!("{PHASE}[[baseline]]\nname = \"library\"\ncommand = [\"true\"]\n");
    let phase = parse(Path::new("copy.toml"), &text).unwrap();
    let plan = ncugate_phase::plan::unroll(&phase).unwrap();
    let run = crate::static_gates::built_run(&phase, &plan, Vec::new());
    let (library, shape) = (VariantId("library".into()), phase.workload.shapes[0].name.clone());
    let table = |metric: &str, value: Option<f64>| {
        let mut table = Quantities::new([(library.clone(), shape.clone())]);
        table.set_column(metric, vec![value.map_or_else(|| Cell::Missing("not measured".into()), Cell::Value)]);
        table
    };
    let doubt = |duration: Option<f64>| {
        let (latencies, counters) = (table("latency_p50", Some(10.0)), table("duration", duration));
        let (phase, plan, run, latencies, counters) = (&phase, &plan, &run, &latencies, &counters);
        let input = WitnessInput {
            phase,
            plan,
            run,
            latencies,
            counters,
            chip: &CHIP,
            empty_ns: None,
            traced: &HashMap::new(),
        };
        Witness::compare(&input).doubt(&library, &shape).map(str::to_owned)
    };
    assert_eq!(doubt(Some(9e3)), None);
    for unseen in [None, Some(0.0)] {
        let doubt = doubt(unseen);
        assert!(doubt.as_deref().is_some_and(|reason| reason.ends_with("it was never profiled")), "{doubt:?}");
    }
}

#[test]
fn counters_of_a_function_that_was_traced_in_its_own_process_do_not_count() {
    let text = format!("{PHASE}[[variant]]\nname = \"called\"\npython = \"f.py:f\"\n");
    let phase = parse(Path::new("copy.toml"), &text).unwrap();
    let plan = ncugate_phase::plan::unroll(&phase).unwrap();
    let run = crate::static_gates::built_run(&phase, &plan, Vec::new());
    let case = (VariantId("called".into()), phase.workload.shapes[0].name.clone());
    let table = |metric: &str| {
        let mut table = Quantities::new([case.clone()]);
        table.set_column(metric, vec![Cell::Value(10.0)]);
        table
    };
    let (latencies, counters) = (table("latency_p50"), table("duration"));
    let traced = HashMap::from([(case.clone(), Some(1000))]);
    let (phase, plan, run) = (&phase, &plan, &run);
    let (latencies, counters, traced) = (&latencies, &counters, &traced);
    let witness =
        Witness::compare(&WitnessInput { phase, plan, run, latencies, counters, chip: &CHIP, empty_ns: None, traced });
    let reason = "its own code ran in the process that traced it";
    assert_eq!(
        (witness.doubt(&case.0, &case.1), witness.contradiction(&case.0, &case.1)),
        (Some(reason), Some(reason))
    );
}

//! The test run of this crate: a real phase with synthetic measurements, judged by the real judge.

mod records;
mod values;

use super::inputs::{DeepProfileInputs, ReportInputs, RunSource};
use super::rule_answers::{planned_variants, shape_facts};
use super::run_report::RunReport;
use ncu_explain::{
    ChipKnowledge, Clocks, Collection, Diagnosis, DiagnosisRow, Finding, HotLine, HotSpot, NcuObservations,
    NcuRuleMessage, RuleBook, Utilisation,
};
use ncu_rep::SpeedupScope;
use ncugate_judge::reference_runs::ComparisonRun;
use ncugate_judge::store::Run;
use ncugate_judge::{Context, Judgement, correctness, judge};
use ncugate_model::{
    BuildOutcome, BuildRecord, Cell, ComputeCapability, DeepProfile, Line, Listing, ProfileOutcome, ProfiledOutputs,
    Quantities, ShapeName, VariantId,
};
use ncugate_phase::config::{Phase, parse};
use ncugate_phase::plan::{Plan, unroll};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A run and its judgement.
pub struct Fixture {
    pub phase: Phase,
    pub plan: Plan,
    pub run: Run,
    pub quantities: Quantities,
    pub judgement: Judgement,
    pub findings: Vec<Finding>,
    pub subjects: Vec<(VariantId, ShapeName)>,
    pub diagnosis: Vec<DiagnosisRow>,
    /// Utilisation of the units.
    pub speed_of_light: Vec<Utilisation>,
    pub said: Vec<NcuObservations>,
    pub deep: Quantities,
}

/// A file of this folder.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fixture").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Values of each parameter, enough for `variants` combinations.
fn axes(variants: usize) -> Vec<(&'static str, Vec<i64>)> {
    let (regcaps, tiles, stages) = match variants {
        0..=6 => (vec![64, 72, 80], vec![16], vec![2]),
        7..=90 => (vec![64, 72, 80, 88, 96], vec![16, 32, 64], vec![2]),
        91..=1_000 => ((0..28).map(|n| 40 + 4 * n).collect(), vec![16, 24, 32, 40, 48, 64], vec![2]),
        _ => ((0..28).map(|n| 40 + 4 * n).collect(), vec![16, 24, 32, 40, 48, 64], (1..=10).collect()),
    };
    let threads = if variants <= 6 { vec![128, 256] } else { vec![128, 192, 256] };
    let tile_m = if variants <= 6 { vec![32] } else { vec![32, 64] };
    let mut axes = vec![("REGCAP", regcaps), ("THREADS", threads), ("TILE_M", tile_m), ("K_TILE", tiles)];
    if stages.len() > 1 {
        axes.push(("STAGES", stages));
    }
    axes
}

/// The phase with about `variants` variants and the given gates.
fn phase(variants: usize, gates: &str) -> Phase {
    let axes = axes(variants);
    let names: Vec<String> = axes.iter().map(|(name, _)| format!("{name:?}")).collect();
    let sweep: Vec<String> = axes.iter().map(|(name, values)| format!("{name} = {values:?}")).collect();
    let text = file("phase.toml").replace("DEFINES", &names.join(", ")).replace("SWEEP", &sweep.join("\n"));
    parse(Path::new("configs/phase_d.toml"), &(text + gates)).map_err(|e| e.render(false)).unwrap()
}

impl Fixture {
    /// A phase with about `variants` variants (6, 90, 1,000 or 10,000).
    pub fn new(variants: usize) -> Self {
        Self::with_gates(variants, &file("gates.toml"))
    }

    /// The same with the gates of a test.
    pub fn with_gates(variants: usize, gates: &str) -> Self {
        let phase = phase(variants, gates);
        let plan = unroll(&phase).unwrap();
        Self::judged(phase, plan)
    }

    fn judged(mut phase: Phase, plan: Plan) -> Self {
        let rounds: u32 = if plan.variants.len() <= 8 { 12 } else { 60 };
        (phase.bench.rounds, phase.bench.max_rounds) = (rounds, rounds);
        let quantities = values::quantities(&plan, u64::from(rounds));
        let builds: Vec<BuildRecord> = plan.variants.iter().enumerate().map(|(at, v)| records::build(at, v)).collect();
        let checks = records::checks(&phase, &plan);
        let context = Context::assuming_latencies(Some(ComputeCapability::new(9, 0)), "2026-11-21".parse().unwrap());
        let proven = correctness(&phase, &plan, &checks, &builds);
        let judgement = judge(&phase, &plan, &quantities, &proven, &context);
        let selected = judgement.selected.as_ref().unwrap().variant.clone();
        let capability = Some(ComputeCapability::new(9, 0));
        let chip = ChipKnowledge { capability, sms: Some(132), dram_peak: Some(4.8e12) };
        let (shapes, variants) = (shape_facts(&phase), planned_variants(&phase, &plan));
        let baseline = plan.baselines().next().map(|baseline| &baseline.id);
        let measured = Diagnosis::of(RuleBook::shipped(), &quantities, &shapes, &chip);
        let diagnosis = Diagnosis { variants: &variants, baseline, ..measured };
        let found = diagnosis.findings(std::slice::from_ref(&selected));
        Self {
            run: Run {
                folder: PathBuf::from("profiles/phase_d/example"),
                manifest: records::manifest(),
                phase: String::new(),
                plan: plan.clone(),
                workload: serde_json::Value::Null,
                latencies: records::latencies(&phase, &plan, &quantities),
                profiles: records::profiles(&phase, &plan),
                confirmations: Vec::new(),
                deep_profiles: deep_profiles(&selected, &phase),
                sanitizer: Vec::new(),
                bitwise: Vec::new(),
                search: Vec::new(),
                builds,
                checks,
            },
            speed_of_light: diagnosis.speed_of_light(&selected, &phase.objective.shape),
            findings: found.clone(),
            subjects: vec![(selected.clone(), phase.objective.shape.clone())],
            diagnosis: vec![DiagnosisRow::new(
                (selected.0.clone(), phase.objective.shape.0.clone()),
                found.iter().any(|f| f.is_cause() && f.shape == phase.objective.shape),
                &diagnosis.unasked(&selected, &phase.objective.shape),
                None,
                &Collection::Deep(format!("ncugate run configs/phase_d.toml --deep {selected}")),
            )],
            said: said(&selected, &phase),
            deep: deep(&selected, &phase),
            phase,
            plan,
            quantities,
            judgement,
        }
    }

    pub fn report(&self) -> RunReport {
        RunReport::new(&ReportInputs {
            phase: &self.phase,
            plan: &self.plan,
            run: &self.run,
            quantities: &self.quantities,
            judgement: &self.judgement,
            ablations: &[],
            findings: &self.findings,
            subjects: &self.subjects,
            diagnosis: &self.diagnosis,
            speed_of_light: &self.speed_of_light,
            said: &self.said,
            dram_peak: None,
            deep: DeepProfileInputs { quantities: &self.deep, problem: None },
            source: RunSource::Recorded { folder: "profiles/phase_d/example".to_owned() },
            compared: &[],
            earlier: &[ComparisonRun {
                what: "previous run",
                label: "run 20261120T090000Z of 2026-11-20, variant REGCAP=64,THREADS=128,TILE_M=32,K_TILE=16"
                    .to_owned(),
                variant: &self.plan.variants[0].id,
                quantities: &self.quantities,
            }],
            clocks: &Clocks { free: 3, highest: vec![("SMs", 1.98e9)], ..Clocks::default() },
            now: Some("2026-11-24T09:00:00Z".parse().unwrap()),
        })
    }
}

/// Synthetic messages of ncu's rules and sampler for the selected variant.
fn said(selected: &VariantId, phase: &Phase) -> Vec<NcuObservations> {
    let line = |line: u32, text: &str| Line {
        file: "kernels/sdpa_scalar/sdpa_scalar.cu".to_owned(),
        line,
        text: Some(text.to_owned()),
    };
    let hot = line(57, "acc += q[k] * keys[row][k];");
    vec![NcuObservations {
        variant: selected.clone(),
        shape: phase.objective.shape.clone(),
        kernel: "k".to_owned(),
        rules: vec![NcuRuleMessage {
            rule: "CPIStall".to_owned(),
            title: "Uncoalesced accesses".to_owned(),
            text: "Half of the sectors are not used.".to_owned(),
            speedup: Some((SpeedupScope::Global, 12.5)),
        }],
        hot: vec![HotSpot {
            offset: 0x1a0,
            samples: 1_234,
            share: 40.0,
            stall: "long_scoreboard".to_owned(),
            text: Some("LDS.128 R4, [R2+0x10]".to_owned()),
            line: Some(hot.clone()),
            inlined: Some(Line { file: "cuda_fp16.hpp".to_owned(), line: 708, text: None }),
        }],
        lines: vec![HotLine {
            line: hot,
            samples: 2_468,
            share: 80.0,
            stall: "long_scoreboard".to_owned(),
            states: vec![("long_scoreboard".to_owned(), 2_468)],
            instructions: Vec::new(),
            dependency: None,
        }],
        lacks: Vec::new(),
        timeline: None,
        facts: Vec::new(),
    }]
}

fn deep_profiles(selected: &VariantId, phase: &Phase) -> Vec<DeepProfile> {
    vec![DeepProfile {
        variant: selected.clone(),
        shape: phase.objective.shape.clone(),
        metrics: Vec::new(),
        sections: Vec::new(),
        passes: Some(33),
        seconds: 3.2,
        listing: Listing::default(),
        other_listings: BTreeMap::new(),
        outcome: ProfileOutcome::Profiled { report: "deep-1.ncu-rep".to_owned() },
        outputs: Some(ProfiledOutputs::Right { seed: 3, evaluations: 1 }),
    }]
}

/// Counters of a deep profile: consistent warp states, and the peaks of the chip.
fn deep(selected: &VariantId, phase: &Phase) -> Quantities {
    let mut table = Quantities::new([(selected.clone(), phase.objective.shape.clone())]);
    for (metric, value) in [
        ("sm_pct", 41.5),
        ("stall_long_scoreboard", 3.1),
        ("stall_wait", 1.9),
        ("stall_selected", 1.0),
        ("fp32_peak", 6.0e13),
        ("dram_peak", 4.8e12),
    ] {
        table.set_column(metric, vec![Cell::Value(value)]);
    }
    table.set_column("l2_hit_pct", vec![Cell::Missing("no value".into())]);
    table
}

/// A small run with markup in every text.
pub fn hostile() -> Fixture {
    const NAME: &str = "</script><img src=x onerror=alert(1)>";
    let mut phase = phase(6, &file("gates.toml"));
    let mut plan = unroll(&phase).unwrap();
    let long = format!("kernel<{}>", "T,".repeat(10_000));
    let names = [NAME.to_owned(), "a\0b\u{202E}txt.exe\u{1b}[31m".to_owned(), "שלום|`x`<!--".to_owned(), long];
    for (variant, name) in plan.variants.iter_mut().zip(names) {
        variant.id = VariantId(name.into());
    }
    phase.title = format!("{NAME} ]]> \0");
    phase.file = "configs/<b>x</b>,line=1.toml".into();
    phase.text = format!("# {NAME}\n{{{{ 7 * 7 }}}}\n");
    for gate in &mut phase.gates {
        gate.name = format!("{} {NAME} ]]>\n::error::smuggled\n@everyone", gate.name).into();
    }
    let mut fixture = Fixture::judged(phase, plan);
    for finding in &mut fixture.findings {
        finding.cause = NAME.to_owned();
    }
    fixture.judgement.warnings.push(NAME.to_owned());
    for said in &mut fixture.said {
        said.rules[0].title = NAME.to_owned();
        said.rules[0].text = format!("{NAME}\0");
        said.hot[0].text = Some(format!("{NAME}\u{202E}"));
        said.hot[0].line = Some(Line { file: NAME.to_owned(), line: 1, text: Some(format!("{NAME}|`{{{{ 7 }}}}`")) });
        said.lines[0].line = Line { file: NAME.to_owned(), line: 1, text: Some(NAME.to_owned()) };
        said.lacks.push(NAME.to_owned());
    }
    for build in &mut fixture.run.builds {
        if let BuildOutcome::Built { log, .. } = &mut build.outcome {
            *log = format!("{NAME}\0{}", "w".repeat(20_000));
        }
    }
    fixture
}

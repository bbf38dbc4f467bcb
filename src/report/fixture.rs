//! A made-up run for the tests of this room: every number comes from formulas below, none from a GPU.

mod judged;
mod records;

use super::deltas::Earlier;
use super::inputs::{Closely, Inputs, Source};
use super::model::Report;
use crate::config::GatePlan;
use crate::config::{
    BenchSettings, BuildSettings, CloseLookAt, Objective, Phase, ProfileSettings, Reference, Shape, Sweep, Workload,
};
use crate::explain::{Clocks, Finding, HotLine, HotSpot, NcuObservations, NcuRuleMessage};
use crate::expr::{Expr, Value};
use crate::frame::Quantities;
use crate::judge::Judgement;
use crate::model::{
    Better, BuildOutcome, BuildRecord, Cell, CheckOutcome, CheckRecord, DeepProfile, Differences, Gpu, LatencyOutcome,
    LatencyRecord, Line, Listing, ProfileOutcome, ProfileRecord, Resources, ShapeName, Tolerance, VariantId,
};
use crate::plan::{KernelPlan, Launch, Method, Plan, Standing, Variant};
use crate::store::{Fingerprint, Git, Manifest, RunState};
use judged::{findings, judgement};
use ncu_rep::SpeedupScope;
use records::{build, checks, latencies, manifest, profiles};
use std::sync::Arc;
use std::time::Duration;

/// A run and its judgement.
pub struct Fixture {
    pub phase: Phase,
    pub plan: Plan,
    pub manifest: Manifest,
    pub builds: Vec<BuildRecord>,
    pub checks: Vec<CheckRecord>,
    pub latencies: Vec<LatencyRecord>,
    pub profiles: Vec<ProfileRecord>,
    pub quantities: Quantities,
    pub judgement: Judgement,
    pub findings: Vec<Finding>,
    pub said: Vec<NcuObservations>,
    pub close_looks: Vec<DeepProfile>,
    pub close: Quantities,
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

/// A number in 0..1 that depends on nothing but its seed.
fn noise(seed: u64) -> f64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

const SHAPES: [(&str, i64, i64, i64); 3] = [("small", 1, 2, 512), ("mission", 1, 8, 512), ("wide", 1, 16, 512)];
const OBJECTIVE: &str = "mission";

impl Fixture {
    /// A phase of about so many variants (6, 90, 1,000 or 10,000).
    pub fn new(variants: usize) -> Self {
        let plan = plan(variants);
        let phase = phase();
        let quantities = quantities(&plan, if variants <= 6 { 12 } else { 60 });
        let judgement = judgement(&plan, &quantities);
        Self {
            builds: plan.variants.iter().enumerate().map(|(at, v)| build(at, v)).collect(),
            checks: checks(&plan),
            latencies: latencies(&plan, &quantities),
            profiles: profiles(&plan),
            manifest: manifest(),
            findings: findings(&judgement),
            said: said(&judgement, &phase),
            close_looks: close_looks(&judgement, &phase),
            close: close(&judgement, &phase),
            phase,
            plan,
            quantities,
            judgement,
        }
    }

    /// The report on it.
    pub fn report(&self) -> Report {
        Report::new(&Inputs {
            phase: &self.phase,
            plan: &self.plan,
            manifest: &self.manifest,
            builds: &self.builds,
            checks: &self.checks,
            latencies: &self.latencies,
            profiles: &self.profiles,
            quantities: &self.quantities,
            judgement: &self.judgement,
            findings: &self.findings,
            said: &self.said,
            closely: Closely { looks: &self.close_looks, quantities: &self.close, problem: None },
            source: Source::Recorded { folder: "profiles/phase_d/example".to_owned() },
            compared: &[],
            earlier: &[Earlier {
                what: "previous run",
                label: "run 20261120T090000Z of 2026-11-20, variant REGCAP=64,THREADS=128,TILE_M=32,K_TILE=16",
                variant: &self.plan.variants[0].id,
                quantities: &self.quantities,
            }],
            clocks: &Clocks { free: 3, highest: vec![("SMs", 1.98e9)], ..Clocks::default() },
            now: Some("2026-11-24T09:00:00Z".parse().unwrap()),
        })
    }
}

/// The variant that a close look is taken at.
fn looked_at(judgement: &Judgement) -> VariantId {
    judgement.selected.as_ref().map(|selected| selected.variant.clone()).unwrap()
}

/// What ncu's rules and sampler would say of the selected variant.
fn said(judgement: &Judgement, phase: &Phase) -> Vec<NcuObservations> {
    let line = |line: u32, text: &str| Line {
        file: "kernels/sdpa_scalar/sdpa_scalar.cu".to_owned(),
        line,
        text: Some(text.to_owned()),
    };
    let hot = line(57, "acc += q[k] * keys[row][k];");
    vec![NcuObservations {
        variant: looked_at(judgement),
        shape: phase.objective.shape.clone(),
        rules: vec![NcuRuleMessage {
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
        lines: vec![HotLine { line: hot, samples: 2_468, share: 80.0, stall: "long_scoreboard".to_owned() }],
        lacks: Vec::new(),
    }]
}

fn close_looks(judgement: &Judgement, phase: &Phase) -> Vec<DeepProfile> {
    vec![DeepProfile {
        variant: looked_at(judgement),
        shape: phase.objective.shape.clone(),
        metrics: Vec::new(),
        sections: Vec::new(),
        passes: Some(33),
        seconds: 3.2,
        listing: Listing::default(),
        outcome: ProfileOutcome::Profiled { report: "close-1.ncu-rep".to_owned() },
    }]
}

/// Counters that a close look adds: warp states that add up, and the peaks of the chip.
fn close(judgement: &Judgement, phase: &Phase) -> Quantities {
    let mut table = Quantities::new([(looked_at(judgement), phase.objective.shape.clone())]);
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

/// A small run whose every text tries to be markup.
pub fn hostile() -> Fixture {
    const NAME: &str = "</script><img src=x onerror=alert(1)>";
    let mut fixture = Fixture::new(6);
    let long = format!("kernel<{}>", "T,".repeat(10_000));
    let names = [NAME.to_owned(), "a\0b\u{202E}txt.exe\u{1b}[31m".to_owned(), "שלום|`x`<!--".to_owned(), long];
    for (at, name) in names.iter().enumerate() {
        let old = fixture.plan.variants[at].id.clone();
        rename(&mut fixture, &old, &VariantId(name.clone()));
    }
    fixture.phase.title = format!("{NAME} ]]> \0");
    fixture.phase.file = "configs/<b>x</b>,line=1.toml".into();
    fixture.phase.text = format!("# {NAME}\n{{{{ 7 * 7 }}}}\n");
    fixture.judgement.reason = format!("{NAME}\n::error::smuggled\n@everyone");
    for gate in &mut fixture.judgement.gates {
        gate.name = format!("{} {NAME}", gate.name);
        gate.reason = format!("]]>{NAME}\n::error::{}", gate.reason);
    }
    for finding in &mut fixture.findings {
        finding.title = NAME.to_owned();
    }
    fixture.judgement.warnings.push(NAME.to_owned());
    fixture.said = said(&fixture.judgement, &fixture.phase);
    fixture.close_looks = close_looks(&fixture.judgement, &fixture.phase);
    fixture.close = close(&fixture.judgement, &fixture.phase);
    for said in &mut fixture.said {
        said.rules[0].title = NAME.to_owned();
        said.rules[0].text = format!("{NAME}\0");
        said.hot[0].text = Some(format!("{NAME}\u{202E}"));
        said.hot[0].line = Some(Line { file: NAME.to_owned(), line: 1, text: Some(format!("{NAME}|`{{{{ 7 }}}}`")) });
        said.lines[0].line = Line { file: NAME.to_owned(), line: 1, text: Some(NAME.to_owned()) };
        said.lacks.push(NAME.to_owned());
    }
    if let BuildOutcome::Built { log, .. } = &mut fixture.builds[0].outcome {
        *log = format!("{NAME}\0{}", "w".repeat(20_000));
    }
    fixture
}

fn rename(fixture: &mut Fixture, old: &VariantId, new: &VariantId) {
    let swap = |id: &mut VariantId| {
        if id == old {
            *id = new.clone();
        }
    };
    fixture.plan.variants.iter_mut().for_each(|v| swap(&mut v.id));
    fixture.builds.iter_mut().for_each(|b| swap(&mut b.variant));
    fixture.checks.iter_mut().for_each(|c| swap(&mut c.variant));
    fixture.judgement.variants.iter_mut().for_each(|r| swap(&mut r.variant));
    fixture.judgement.selected.iter_mut().for_each(|s| swap(&mut s.variant));
    fixture.judgement.gates.iter_mut().flat_map(|g| &mut g.cases).for_each(|c| swap(Arc::make_mut(&mut c.variant)));
    let quantities = &fixture.quantities;
    let mut rows: Vec<(VariantId, ShapeName)> = quantities.rows().to_vec();
    rows.iter_mut().for_each(|(id, _)| swap(id));
    let mut renamed = Quantities::new(rows);
    for metric in quantities.metrics() {
        renamed.set_column(metric, quantities.column(metric).unwrap().to_vec());
    }
    for (row, (id, shape)) in quantities.rows().iter().enumerate() {
        if let Some(samples) = quantities.samples(id, shape) {
            renamed.set_samples(row, samples.clone());
        }
    }
    fixture.quantities = renamed;
}

fn plan(variants: usize) -> Plan {
    let mut choices: Vec<Vec<(String, Value)>> = vec![Vec::new()];
    for (name, values) in axes(variants) {
        choices = choices
            .iter()
            .flat_map(|chosen| {
                values
                    .iter()
                    .map(move |v| chosen.iter().cloned().chain([(name.to_owned(), Value::Int(*v))]).collect::<Vec<_>>())
            })
            .collect();
    }
    let candidates = choices.into_iter().map(|params| {
        let id = params.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(",");
        variant(id, params, Standing::Candidate)
    });
    let baselines = ["sdpa_flash", "sdpa_math"].map(|id| variant(id.to_owned(), Vec::new(), Standing::Baseline));
    Plan { variants: candidates.chain(baselines).collect() }
}

fn variant(id: String, params: Vec<(String, Value)>, standing: Standing) -> Variant {
    let threads = param(&params, "THREADS").unwrap_or(128) as u32;
    let launches = SHAPES.map(|(shape, _, heads, s)| Launch {
        shape: ShapeName(shape.to_owned()),
        grid: [(s as u32).div_ceil(32), heads as u32, 1],
        block: [threads, 1, 1],
        cluster: [1, 1, 1],
        dynamic_shared: 0,
        dynamic_arrays: Vec::new(),
        args: Vec::new(),
    });
    let kernel = KernelPlan {
        source: "kernels/sdpa_scalar/sdpa_scalar.cu".into(),
        entry: "sdpa_scalar".to_owned(),
        flags: vec!["-O3".to_owned(), "-lineinfo".to_owned()],
        defines: params.iter().map(|(n, v)| (n.clone(), v.to_string())).collect(),
        launches: launches.into(),
    };
    Variant { id: VariantId(id), standing, params, method: Method::Kernel(kernel) }
}

fn param(params: &[(String, Value)], name: &str) -> Option<i64> {
    params.iter().find(|(n, _)| n == name).and_then(|(_, v)| match v {
        Value::Int(v) => Some(*v),
        _ => None,
    })
}

fn phase() -> Phase {
    let name = |s: &str| ShapeName(s.to_owned());
    let all: Vec<ShapeName> = SHAPES.iter().map(|s| name(s.0)).collect();
    Phase {
        file: "configs/phase_d.toml".into(),
        text: "[phase]\nname = \"phase_d\"\n".to_owned(),
        name: "phase_d".to_owned(),
        title: "Phase D: occupancy attack".to_owned(),
        objective: Objective { metric: "latency_p50".to_owned(), better: Better::Lower, shape: name(OBJECTIVE) },
        recording: None,
        build: BuildSettings::default(),
        bench: BenchSettings {
            warmup: 3,
            rounds: 60,
            max_rounds: 60,
            min_sample: Duration::from_millis(1),
            max_launches: 64,
            buffer_sets: 3,
            timeout: Duration::from_secs(10),
            shapes: all.clone(),
        },
        profile: ProfileSettings {
            ncu: None,
            shapes: all,
            metrics: Vec::new(),
            timeout: Duration::from_secs(60),
            repeat: 1,
            close_look: CloseLookAt::default(),
        },
        workload: Workload {
            seeds: vec![0, 1, 2],
            reference: Reference::Builtin { name: "sdpa".to_owned(), options: Vec::new() },
            tolerance: Tolerance { max_abs: Some(2e-3), rel_l2: None },
            scalars: Vec::new(),
            shapes: SHAPES
                .iter()
                .map(|(shape, b, h, s)| Shape {
                    name: name(shape),
                    dims: [("B", *b), ("H", *h), ("S", *s), ("D", 64)].map(|(n, v)| (n.to_owned(), v)).into(),
                })
                .collect(),
            buffers: Vec::new(),
            flops: Some(Expr::parse("4 * B * H * S * S * D").unwrap()),
            bytes: None,
        },
        kernel: None,
        sweep: Sweep::default(),
        variants: Vec::new(),
        baselines: Vec::new(),
        gates: Vec::new(),
        gate_plan: GatePlan::default(),
    }
}

/// Wrong, unbuilt and refused variants, by place in the plan.
fn broken(at: usize) -> Option<&'static str> {
    match at % 89 {
        13 => Some("wrong"),
        31 => Some("unbuilt"),
        57 => Some("refused"),
        _ => None,
    }
}

fn registers(v: &Variant) -> f64 {
    let cap = param(&v.params, "REGCAP").unwrap_or(96) as f64;
    let tile = param(&v.params, "K_TILE").unwrap_or(32) as f64;
    (58.0 + tile * 0.55).round().min(cap)
}

/// Values of the metrics at a shape, in the order of [`METRICS`].
fn measured(at: usize, v: &Variant, heads: i64) -> Vec<f64> {
    let seed = at as u64 * 1_000 + heads as u64;
    let threads = param(&v.params, "THREADS").unwrap_or(192) as f64;
    let tile = param(&v.params, "K_TILE").unwrap_or(32) as f64;
    let cap = param(&v.params, "REGCAP").unwrap_or(88) as f64;
    let rows = param(&v.params, "TILE_M").unwrap_or(64) as f64;
    let registers = registers(v);
    let spills = (58.0 + tile * 0.55 - cap).max(0.0).round();
    let shared = tile * 64.0 * 4.0 * 2.0 + rows * 64.0 * 2.0;
    let by_registers = (65_536.0 / (registers * threads)).floor();
    let by_shared = (233_472.0 / (shared + 1_024.0)).floor();
    let by_warps = (64.0 / (threads / 32.0)).floor();
    let blocks = by_registers.min(by_shared).min(by_warps).max(1.0);
    let theoretical = blocks * threads / 2_048.0 * 100.0;
    let achieved = theoretical * (0.78 + 0.12 * noise(seed));
    let base = 15.0 + 0.35 * spills + 210.0 / achieved + (threads - 192.0).abs() * 0.012 + (64.0 - rows) * 0.03;
    let latency = base * (heads as f64 / 8.0).powf(0.9) * (1.0 + 0.02 * noise(seed + 1));
    let latency = if v.standing == Standing::Baseline { latency * [0.62, 2.6][at % 2] } else { latency };
    let eligible = (achieved / 22.0 * (0.7 + 0.3 * noise(seed + 2))).max(0.2);
    vec![
        latency,
        latency * (1.03 + 0.03 * noise(seed + 3)),
        registers,
        spills,
        shared,
        theoretical,
        achieved,
        eligible,
        (28.0 + 14.0 * eligible + 6.0 * noise(seed + 4)).min(96.0),
        0.0,
        (12.0 + 8.0 * noise(seed + 5)).min(100.0),
        (2.1e6 + 1e5 * noise(seed + 6)) * heads as f64,
        (6.0 * noise(seed + 7)).floor(),
        blocks,
        by_registers,
        by_shared,
        by_warps,
        32.0,
        3.2 - 0.02 * achieved + noise(seed + 8),
        1.4 + noise(seed + 9),
        0.9 * noise(seed + 10),
        0.6,
        0.3 * noise(seed + 11),
        0.2,
        4.8e12,
        67e12,
        989e12,
    ]
}

const METRICS: [&str; 27] = [
    "latency_p50",
    "latency_p90",
    "registers",
    "spills",
    "shared_mem",
    "theoretical_occupancy",
    "achieved_occupancy",
    "eligible_warps",
    "issue_slot_utilisation",
    "tensor_pct",
    "dram_pct",
    "dram_bytes",
    "bank_conflict_pct",
    "blocks_per_sm",
    "occupancy_limit_registers",
    "occupancy_limit_shared_mem",
    "occupancy_limit_warps",
    "occupancy_limit_blocks",
    "stall_long_scoreboard",
    "stall_short_scoreboard",
    "stall_barrier",
    "stall_wait",
    "stall_mio_throttle",
    "stall_math_pipe_throttle",
    "dram_peak",
    "fp32_peak",
    "tensor_peak_fp16",
];

fn quantities(plan: &Plan, rounds: u64) -> Quantities {
    let rows: Vec<(VariantId, ShapeName)> =
        plan.variants.iter().flat_map(|v| SHAPES.iter().map(|s| (v.id.clone(), ShapeName(s.0.to_owned())))).collect();
    let mut table = Quantities::new(rows);
    let mut columns = vec![Vec::new(); METRICS.len()];
    for (at, v) in plan.variants.iter().enumerate() {
        for (shape, (_, _, heads, _)) in SHAPES.iter().enumerate() {
            let values = measured(at, v, *heads);
            for (column, value) in columns.iter_mut().zip(&values) {
                column.push(match broken(at) {
                    Some(why) => Cell::Missing(format!("variant is {why}").into()),
                    None => Cell::finite(*value),
                });
            }
            if broken(at).is_none() {
                let sample = |n: u64| {
                    let seed = at as u64 * 7_919 + shape as u64 * 104_729 + n;
                    values[0] * (0.992 + 0.016 * noise(seed) + if noise(seed + 1) > 0.95 { 0.06 } else { 0.0 })
                };
                table.set_samples(at * SHAPES.len() + shape, (0..rounds).map(sample).collect::<Arc<[f64]>>());
            }
        }
    }
    for (name, cells) in METRICS.iter().zip(columns) {
        table.set_column(name, cells);
    }
    table
}

//! From a phase's TOML to verdicts.

mod dispatch;
mod doubt;
mod forms;
mod noise;
mod plans;
mod poison;
mod properties;
mod requirement_changes;
mod table;
mod throttled;
mod toolchains;

use super::{BetweenRuns, Context, Correctness, GateResult, Judgement, Noise};
use crate::judge;
use jiff::civil::{Date, date};
use ncugate_model::quantities::{FreshSamples, Program, Sampling};
use ncugate_model::stats::median;
use ncugate_model::{Cell, ComputeCapability, Quantities, ShapeName, Throttle, VariantId, Verdict};
use ncugate_phase::config::{Phase, parse};
use ncugate_phase::plan::{Plan, unroll};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const TODAY: Date = date(2026, 6, 15);

/// Four candidates (REGCAP x THREADS), one baseline, three shapes.
const BASE: &str = r#"
[phase]
name = "fixture"
objective = "latency_p50"
objective_shape = "large"

[workload]
seeds = [0, 1, 2]
reference = "copy"
tolerance = { max_abs = 2e-3 }
[workload.shapes]
small = { S = 128 }
medium = { S = 512 }
large = { S = 2048 }
[workload.buffers]
x = { dtype = "f16", shape = ["S"], init = "normal" }
y = { dtype = "f16", shape = ["S"], role = "output" }

[kernel]
source = "copy.cu"
entry = "copy"
defines = ["THREADS", "REGCAP"]
grid = ["S // THREADS"]
block = ["THREADS"]
args = ["x", "y"]

[sweep]
REGCAP = [64, 96]
THREADS = [64, 128]

[[baseline]]
name = "flash"
command = ["true"]
"#;

/// A phase with its measurements.
struct Fixture {
    phase: Phase,
    plan: Plan,
    quantities: Quantities,
    correctness: BTreeMap<VariantId, Correctness>,
    date: Date,
    /// Of the rounds of every row that is sampled next.
    throttle: Option<Arc<[Throttle]>>,
}

impl Fixture {
    /// Candidates take 10, 11, 12, 13 us at every shape, the baseline 12; everything is proven.
    fn new(gates: &str) -> Self {
        let text = format!("{BASE}\n{gates}");
        let phase = parse(Path::new("fixture.toml"), &text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let plan = unroll(&phase).unwrap_or_else(|e| panic!("{e:?}"));
        let rows =
            plan.variants.iter().flat_map(|v| phase.workload.shapes.iter().map(|s| (v.id.clone(), s.name.clone())));
        let quantities = Quantities::new(rows.collect::<Vec<_>>());
        let proven = Correctness::Proven { cases: 9, max_abs: 1e-4 };
        let correctness = plan.variants.iter().map(|v| (v.id.clone(), proven.clone())).collect();
        let mut fixture = Self { phase, plan, quantities, correctness, date: TODAY, throttle: None };
        fixture.time(0.002, |variant, _| if variant == 4 { 12.0 } else { 10.0 + variant as f64 });
        fixture
    }

    /// Sets a metric by indices of variant and shape.
    fn set(&mut self, metric: &str, value: impl Fn(usize, usize) -> f64) -> &mut Self {
        let cells = self.places().into_iter().map(|(v, s)| Cell::Value(value(v, s))).collect();
        self.quantities.set_column(metric, cells);
        self
    }

    /// Sets latencies and their samples: 60 rounds with this relative spread.
    fn time(&mut self, spread: f64, latency: impl Fn(usize, usize) -> f64) -> &mut Self {
        let mut cells = Vec::new();
        for (row, (v, s)) in self.places().into_iter().enumerate() {
            let centre = latency(v, s);
            let samples: Vec<f64> = (0..60).map(|i| centre * (1.0 + spread * wiggle(i, v))).collect();
            cells.push(median(&samples).map_or_else(|e| Cell::Missing(e.to_string().into()), Cell::Value));
            self.sample(row, samples.into());
        }
        self.quantities.set_column("latency_p50", cells);
        self
    }

    /// Sets the samples of a row, from the sweep and from the confirmation, in one process.
    fn sample(&mut self, row: usize, samples: Arc<[f64]>) {
        let processes = [samples.len() as u32].into();
        let fresh =
            FreshSamples { samples: Ok(samples.clone()), launches: 1000, processes, throttle: self.throttle.clone() };
        let sampling = Sampling {
            program: Program::Kernel,
            launches: 1000,
            throttle: self.throttle.clone(),
            fresh: Some(fresh),
            code: None,
        };
        self.quantities.set_samples(row, samples);
        self.quantities.set_sampling(row, sampling);
    }

    fn places(&self) -> Vec<(usize, usize)> {
        let variant = |id: &VariantId| self.plan.variants.iter().position(|v| v.id == *id).unwrap();
        let shape = |name: &ShapeName| self.phase.workload.shapes.iter().position(|s| s.name == *name).unwrap();
        self.quantities.rows().map(|(v, s)| (variant(v), shape(s))).collect()
    }

    fn wrong(&mut self, variant: usize) -> &mut Self {
        self.stand(variant, Correctness::Wrong { reason: "max_abs is 1".to_owned() })
    }

    fn unproven(&mut self, variant: usize) -> &mut Self {
        self.stand(variant, Correctness::Unproven { reason: "seed 2 was not checked".to_owned() })
    }

    fn stand(&mut self, variant: usize, correctness: Correctness) -> &mut Self {
        self.correctness.insert(self.plan.variants[variant].id.clone(), correctness);
        self
    }

    fn judge(&self) -> Judgement {
        self.judge_with(&Context::assuming_latencies(Some(ComputeCapability::new(9, 0)), self.date))
    }

    fn judge_with(&self, context: &Context<'_>) -> Judgement {
        judge(&self.phase, &self.plan, &self.quantities, &self.correctness, context)
    }

    fn first(&self) -> GateResult {
        self.judge().gates.swap_remove(0)
    }
}

/// A symmetric oscillation between -1 and 1, in a different order for each variant.
fn wiggle(i: usize, variant: usize) -> f64 {
    ((i * 23 + variant * 7) % 60) as f64 / 29.5 - 1.0
}

/// Verdict of a gate with this requirement on the fixture that `set` prepares.
fn verdict(require: &str, set: impl Fn(&mut Fixture) -> &mut Fixture) -> GateResult {
    let mut fixture = Fixture::new(&gate(require));
    set(&mut fixture);
    fixture.first()
}

/// The gates that stop a variant, in words.
fn stops(judgement: &Judgement, variant: usize) -> Vec<&str> {
    judgement.variants[variant].stopped_by.iter().map(|stop| stop.text.as_str()).collect()
}

/// A machine whose runs differ by a hundredth of a percent.
fn calibrated<'a>(mut context: Context<'a>) -> Context<'a> {
    let between = BetweenRuns { runs: 5, median: 1e-4, p90: Some(1e-4) };
    let noise = Noise { median: 1e-6, p90: Some(1e-6), rounds: 60, between: Some(between) };
    context.noise.insert(shape("large"), noise);
    context
}

fn gate(require: &str) -> String {
    format!("[[gate]]\nname = \"g\"\nrequire = '{require}'\n")
}

fn samples(values: &[f64]) -> Arc<[f64]> {
    values.into()
}

fn shape(name: &str) -> ShapeName {
    ShapeName(name.into())
}

const PASS: Verdict = Verdict::Pass;
const FAIL: Verdict = Verdict::Fail;
const OPEN: Verdict = Verdict::Inconclusive;

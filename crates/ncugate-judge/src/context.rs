//! Input of a judgement: the plan, the measurements, the proofs of correctness, and the comparison runs.

use super::results::Correctness;
use super::witness::Witness;
use ncugate_model::expr::Value;
use ncugate_model::metric::{Catalogue, MetricSource, id};
use ncugate_model::quantities::Bounds;
use ncugate_model::stats::{Resampler, Resampling, Statistic, level_of_a_look, looks};
use ncugate_model::{Better, Cell, ComputeCapability, GlobError, Quantities, ShapeName, VariantId, glob};
use ncugate_phase::config::{Phase, Shape};
use ncugate_phase::plan::{Plan, Variant, VariantRole};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A stored run that a name in expressions refers to: `baseline`, `previous`, `best`, or its own name.
#[derive(Debug, Clone)]
pub struct StoredRun<'a> {
    /// Origin of the run, for people.
    pub label: String,
    /// Its measurements.
    pub quantities: &'a Quantities,
    /// The variant that represents the run.
    pub variant: VariantId,
}

/// The noise of a machine that times one variant against itself: half-widths of the interval of a ratio that is truly
/// 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// For medians, relative (0.01 is 1 %).
    pub median: f64,
    /// For 90th percentiles; `None` if there were too few rounds.
    pub p90: Option<f64>,
    /// Rounds of the calibration; noise shrinks with their square root.
    pub rounds: usize,
    /// Difference between runs; `None` if only one run was measured.
    pub between: Option<BetweenRuns>,
}

/// Variation of one kernel between fresh processes: standard deviations, relative (0.01 is 1 %).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BetweenRuns {
    /// Number of processes behind the estimate.
    pub runs: u32,
    pub median: f64,
    /// For 90th percentiles; `None` if there were too few rounds.
    pub p90: Option<f64>,
}

impl BetweenRuns {
    /// The noise of a statistic; quantiles beyond the 90th percentile vary at least as much as that percentile.
    pub fn of(&self, statistic: Statistic) -> Option<f64> {
        let found = if statistic.is_tail() { self.p90 } else { Some(self.median) };
        found.filter(|_| self.runs >= 3)
    }
}

impl Noise {
    /// The noise of this statistic, scaled to the given number of samples.
    pub fn at(&self, statistic: Statistic, samples: usize) -> Option<f64> {
        let noise = if statistic.is_tail() { self.p90? } else { self.median };
        (samples > 0).then(|| noise * (self.rounds as f64 / samples as f64).sqrt())
    }
}

#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Compute capability of the chip that measured.
    pub cc: Option<ComputeCapability>,
    pub sms: Option<u32>,
    /// The day on which waivers are checked.
    pub today: jiff::civil::Date,
    /// Stored runs by their name in expressions; they take precedence over the phase's own baseline.
    pub stored: BTreeMap<String, StoredRun<'a>>,
    /// Why no run is stored under a name that expressions may use.
    pub absent: BTreeMap<String, String>,
    /// The machine's noise by shape, if it was calibrated.
    pub noise: BTreeMap<ShapeName, Noise>,
    pub resampling: Resampling,
    /// The confirmation of the latencies.
    pub witness: LatencyWitness<'a>,
    /// Variants of ncu reports whose duration no second clock confirms, with the reason.
    pub unclocked: HashMap<VariantId, String>,
}

/// The confirmation of the latencies of a table.
#[derive(Debug, Clone, Copy)]
pub enum LatencyWitness<'a> {
    /// Nothing was compared with them, so every latency is rejected.
    Absent,
    /// The counters of their run.
    Counters(&'a Witness),
    /// A table without a run, as in tests: its latencies are accepted.
    Assumed,
}

/// Why a measurement of a variant at a shape is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt<'a> {
    Latency(&'a str),
    Counters(&'a str),
    /// The duration in a report of another program.
    Duration(&'a str),
}

impl<'a> Doubt<'a> {
    pub fn reason(self) -> &'a str {
        match self {
            Self::Latency(reason) | Self::Counters(reason) | Self::Duration(reason) => reason,
        }
    }

    /// The reason in a sentence; `whose` follows the measurement, such as ` of 'a'`.
    pub fn sentence(self, whose: &str) -> String {
        match self {
            Self::Latency(reason) => format!("the latency{whose} does not count: {reason}"),
            Self::Counters(reason) => format!("the counters{whose} do not count: {reason}"),
            Self::Duration(reason) => format!("the duration{whose} does not count: {reason}"),
        }
    }
}

impl Context<'_> {
    /// A context for a table without a run, whose latencies are accepted.
    pub fn assuming_latencies(cc: Option<ComputeCapability>, today: jiff::civil::Date) -> Self {
        Self { witness: LatencyWitness::Assumed, ..Self::new(cc, today) }
    }

    /// A context without a witness or stored runs, with default resampling.
    pub fn new(cc: Option<ComputeCapability>, today: jiff::civil::Date) -> Self {
        Self {
            cc,
            sms: None,
            today,
            stored: BTreeMap::new(),
            absent: BTreeMap::new(),
            noise: BTreeMap::new(),
            resampling: Resampling::default(),
            witness: LatencyWitness::Absent,
            unclocked: HashMap::new(),
        }
    }
}

/// The proof of correctness that a pass requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofPolicy {
    /// A variant passes only if it is proven correct.
    Demanded,
    /// Nothing has run yet: only facts of build and launch are judged.
    NotYet,
}

/// Everything that gates read, with row lookups cached.
pub struct EvalContext<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub quantities: &'a Quantities,
    pub given: &'a Context<'a>,
    /// The policy of this judgement.
    pub proof: ProofPolicy,
    /// The resampler shared by all gates.
    pub resampler: Resampler,
    correctness: Vec<Correctness>,
    objectives: Vec<Option<f64>>,
    rows: Vec<Option<usize>>,
    shapes: HashMap<&'a ShapeName, usize>,
    index: HashMap<&'a VariantId, usize>,
}

impl<'a> EvalContext<'a> {
    /// Looks up rows, correctness and objectives of every variant.
    pub fn new(
        phase: &'a Phase,
        plan: &'a Plan,
        quantities: &'a Quantities,
        correctness: &BTreeMap<VariantId, Correctness>,
        given: &'a Context<'a>,
        proof: ProofPolicy,
    ) -> Self {
        let shapes: HashMap<_, _> = phase.workload.shapes.iter().enumerate().map(|(at, s)| (&s.name, at)).collect();
        let index: HashMap<_, _> = plan.variants.iter().enumerate().map(|(at, v)| (&v.id, at)).collect();
        let mut rows = vec![None; plan.variants.len() * shapes.len()];
        for (row, (variant, shape)) in quantities.rows().enumerate() {
            if let (Some(v), Some(s)) = (index.get(variant), shapes.get(shape)) {
                rows[v * shapes.len() + s] = Some(row);
            }
        }
        let unproven = || Correctness::Unproven { reason: "not checked".to_owned() };
        let correctness =
            plan.variants.iter().map(|v| correctness.get(&v.id).cloned().unwrap_or_else(unproven)).collect();
        let looks = looks(phase.bench.rounds, phase.bench.max_rounds).len();
        let resampler = Resampler::new(Resampling { level: level_of_a_look(looks), ..given.resampling });
        let mut context = Self {
            phase,
            plan,
            quantities,
            given,
            proof,
            resampler,
            correctness,
            objectives: Vec::new(),
            rows,
            shapes,
            index,
        };
        context.objectives = (0..plan.variants.len()).map(|v| context.measured_objective(v)).collect();
        context
    }

    pub fn variant(&self, at: usize) -> &'a Variant {
        &self.plan.variants[at]
    }

    pub fn find(&self, id: &VariantId) -> Option<usize> {
        self.index.get(id).copied()
    }

    pub fn candidates(&self) -> Vec<usize> {
        let all = self.plan.variants.iter().enumerate();
        all.filter(|(_, v)| v.standing == VariantRole::Candidate).map(|(at, _)| at).collect()
    }

    /// Indices of the candidates whose id matches a glob, in plan order. Baselines are excluded: they never represent
    /// a stage or a fallback.
    ///
    /// # Errors
    ///
    /// The text is not a valid glob.
    pub fn matching(&self, pattern: &str) -> Result<Vec<usize>, GlobError> {
        let matcher = glob(pattern)?;
        Ok(self.candidates().into_iter().filter(|&at| matcher.is_match(&self.variant(at).id.0)).collect())
    }

    pub fn correctness(&self, at: usize) -> &Correctness {
        &self.correctness[at]
    }

    /// Why a latency is rejected.
    pub fn doubt(&self, variant: &VariantId, shape: &ShapeName) -> Option<&'a str> {
        match self.given.witness {
            LatencyWitness::Absent => Some("no counters were compared with it"),
            LatencyWitness::Counters(witness) => witness.doubt(variant, shape),
            LatencyWitness::Assumed => None,
        }
    }

    /// Why every measurement is rejected, counters too: two of them contradict each other.
    pub fn contradiction(&self, variant: &VariantId, shape: &ShapeName) -> Option<&'a str> {
        match self.given.witness {
            LatencyWitness::Counters(witness) => witness.contradiction(variant, shape),
            LatencyWitness::Absent | LatencyWitness::Assumed => None,
        }
    }

    /// Why a metric of a variant is rejected. Facts of build, launch and chip, and checks, are never rejected.
    pub fn doubt_of(&self, metric: &str, variant: &VariantId, shape: &ShapeName) -> Option<Doubt<'a>> {
        let unclocked = self.given.unclocked.get(variant).filter(|_| is_duration(metric));
        if let Some(reason) = unclocked {
            return Some(Doubt::Duration(reason));
        }
        match Catalogue::embedded().source(metric)? {
            MetricSource::Latency => self.doubt(variant, shape).map(Doubt::Latency),
            MetricSource::Ncu if !is_fact(metric) => self.contradiction(variant, shape).map(Doubt::Counters),
            MetricSource::Ncu
            | MetricSource::Build
            | MetricSource::Launch
            | MetricSource::Occupancy
            | MetricSource::Check => None,
        }
    }

    /// The objective of a variant that is proven correct and measured.
    pub fn objective(&self, at: usize) -> Option<f64> {
        self.objectives[at]
    }

    /// Why the objective of a variant is rejected.
    pub fn objective_doubt(&self, at: usize) -> Option<&'a str> {
        let objective = &self.phase.objective;
        let doubt = self.doubt_of(&objective.metric, &self.variant(at).id, &objective.shape)?;
        Some(doubt.reason())
    }

    /// Variants with an objective, best first; those with a rejected objective come last. Ties are broken by id, so
    /// that the plan order has no influence.
    pub fn ranked(&self, variants: &[usize]) -> Vec<usize> {
        let mut ranked: Vec<(f64, usize)> =
            variants.iter().filter_map(|&at| Some((self.objectives[at]?, at))).collect();
        ranked.sort_by(|(a, i), (b, j)| {
            let by_doubt = self.objective_doubt(*i).is_some().cmp(&self.objective_doubt(*j).is_some());
            let by_value = match self.phase.objective.better {
                Better::Higher => b.total_cmp(a),
                Better::Lower | Better::Context => a.total_cmp(b),
            };
            by_doubt.then(by_value).then_with(|| self.variant(*i).id.cmp(&self.variant(*j).id))
        });
        ranked.into_iter().map(|(_, at)| at).collect()
    }

    pub fn row(&self, variant: usize, shape: &ShapeName) -> Option<usize> {
        let shape = *self.shapes.get(shape)?;
        self.rows[variant * self.shapes.len() + shape]
    }

    /// Dimensions of a shape with their extents; empty if the phase has no such shape.
    pub fn dimensions(&self, shape: &ShapeName) -> &'a [(String, i64)] {
        self.shapes.get(shape).map_or(&[], |&at| &self.phase.workload.shapes[at].dims)
    }

    /// Extent of a dimension of a shape.
    pub fn dimension(&self, shape: &ShapeName, name: &str) -> Option<i64> {
        self.dimensions(shape).iter().find(|(dim, _)| dim == name).map(|(_, extent)| *extent)
    }

    /// Compute capability as a number, for example 8.9.
    pub fn cc(&self) -> Option<Value> {
        self.given.cc.map(capability)
    }

    /// Element type of the first input at a shape, by the name a phase uses.
    pub fn dtype(&self, shape: &ShapeName) -> Option<Value> {
        dtype(self.phase, &self.phase.workload.shapes[*self.shapes.get(shape)?])
    }

    fn measured_objective(&self, at: usize) -> Option<f64> {
        if !self.correctness[at].may_hold() {
            return None;
        }
        let row = self.row(at, &self.phase.objective.shape)?;
        // For a program with fills or copies, the value covers only the launches unless fills and copies are included
        // in the metric.
        let column = self.quantities.column(&self.phase.objective.metric)?;
        let is_open = |bounds: &Bounds| bounds.steps.is_some() && bounds.added == 0.0 && bounds.high > bounds.low;
        if column.bounds(row).is_some_and(is_open) {
            return None;
        }
        column.cells().get(row)?.value().filter(|v| v.is_finite())
    }
}

/// Whether a metric is the duration under ncu, by its own or by ncu's name.
fn is_duration(metric: &str) -> bool {
    metric == &*id::DURATION || metric.starts_with("gpu__time_duration.")
}

/// Whether an ncu metric is a fact of launch or chip, which no measurement contradicts.
pub fn is_fact(metric: &str) -> bool {
    metric.starts_with("launch__") || metric.starts_with("device__")
}

/// A compute capability as a number, for example 8.9, 10.0, 12.1.
pub fn capability(cc: ComputeCapability) -> Value {
    Value::Float(f64::from(cc.major) + f64::from(cc.minor) / 10.0)
}

/// Element type of a phase's first input at a shape, by the name a phase uses.
pub fn dtype(phase: &Phase, shape: &Shape) -> Option<Value> {
    let input = phase.workload.buffers.iter().find(|b| b.role.is_read())?;
    Some(Value::Text(input.dtype.at(shape).ok()?.name().to_owned()))
}

/// The value of a cell, or the reason for its absence.
pub fn finite(cell: &Cell) -> Result<f64, Arc<str>> {
    match cell.known() {
        Ok(value) if !value.is_finite() => Err(format!("measured as {value}").into()),
        known => known.map_err(Arc::clone),
    }
}

//! What is judged: the plan, what was measured of it, what is proven, and what it is compared with.

use super::results::Correctness;
use super::witness::Witness;
use crate::frame::Quantities;
use ncugate_model::expr::Value;
use ncugate_model::metric::Catalogue;
use ncugate_model::stats::{Resampler, Resampling, Statistic, level_of_a_look, looks};
use ncugate_model::{Better, Cell, ComputeCapability, GlobError, ShapeName, VariantId, glob};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, Variant, VariantRole};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A run that is stored under a name (`baseline`, `previous`, `best`, or its own) and answers for it in expressions.
#[derive(Debug, Clone)]
pub struct StoredRun<'a> {
    /// Where it comes from, for people.
    pub label: String,
    /// What was measured then.
    pub quantities: &'a Quantities,
    /// The variant that stands for it.
    pub variant: VariantId,
}

/// How far apart a machine times one variant and itself: half-widths of the interval of a ratio that is truly 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Of medians, relative (0.01 is 1 %).
    pub median: f64,
    /// Of 90th percentiles; none where the rounds were too few for it.
    pub p90: Option<f64>,
    /// Rounds it was measured in; it shrinks with their square root.
    pub rounds: usize,
    /// How far apart runs are; none where one run was measured.
    pub between: Option<BetweenRuns>,
}

/// How far apart fresh processes time one kernel: standard deviations from process to process, relative (0.01 is 1 %).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BetweenRuns {
    /// Processes it was estimated from.
    pub runs: u32,
    pub median: f64,
    /// Of 90th percentiles; none where the rounds were too few for it.
    pub p90: Option<f64>,
}

impl BetweenRuns {
    /// Of a statistic; quantiles farther out than the 90th percentile vary at least as much as that.
    pub fn of(&self, statistic: Statistic) -> Option<f64> {
        let found = if statistic.is_tail() { self.p90 } else { Some(self.median) };
        found.filter(|_| self.runs >= 3)
    }
}

impl Noise {
    /// What is left of it when this statistic is of so many samples.
    pub fn at(&self, statistic: Statistic, samples: usize) -> Option<f64> {
        let noise = if statistic.is_tail() { self.p90? } else { self.median };
        (samples > 0).then(|| noise * (self.rounds as f64 / samples as f64).sqrt())
    }
}

/// The circumstances of a judgement.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Compute capability of the chip that measured.
    pub cc: Option<ComputeCapability>,
    pub sms: Option<u32>,
    /// The day waivers are held against.
    pub today: jiff::civil::Date,
    /// Stored runs by the name expressions use; they go before the phase's own baseline.
    pub stored: BTreeMap<String, StoredRun<'a>>,
    /// Why nothing is stored under a name that could have been.
    pub absent: BTreeMap<String, String>,
    /// The machine's own noise by shape, where it was calibrated.
    pub noise: BTreeMap<ShapeName, Noise>,
    pub resampling: Resampling,
    /// What the counters say of latencies; none where a table is judged that no run stands behind.
    pub witness: Option<&'a Witness>,
}

impl Context<'_> {
    /// Nothing stored, the default resampling.
    pub fn new(cc: Option<ComputeCapability>, today: jiff::civil::Date) -> Self {
        Self {
            cc,
            sms: None,
            today,
            stored: BTreeMap::new(),
            absent: BTreeMap::new(),
            noise: BTreeMap::new(),
            resampling: Resampling::default(),
            witness: None,
        }
    }
}

/// What a verdict may rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofPolicy {
    /// A variant passes only when it is proven correct.
    Demanded,
    /// Nothing has run yet: facts of build and launch are judged alone.
    NotYet,
}

/// Everything a gate looks at, with rows looked up once.
pub struct EvalContext<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub quantities: &'a Quantities,
    pub given: &'a Context<'a>,
    /// What a pass rests on.
    pub proof: ProofPolicy,
    /// The resampler all gates share.
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

    /// The variant at an index of the plan.
    pub fn variant(&self, at: usize) -> &'a Variant {
        &self.plan.variants[at]
    }

    /// Index of a variant.
    pub fn find(&self, id: &VariantId) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// Indices of the candidates.
    pub fn candidates(&self) -> Vec<usize> {
        let all = self.plan.variants.iter().enumerate();
        all.filter(|(_, v)| v.standing == VariantRole::Candidate).map(|(at, _)| at).collect()
    }

    /// Indices of the candidates whose id matches a glob, in the order of the plan: a baseline is what candidates are
    /// compared with, and never stands for a stage or a fallback.
    ///
    /// # Errors
    ///
    /// A text that is not a glob.
    pub fn matching(&self, pattern: &str) -> Result<Vec<usize>, GlobError> {
        let matcher = glob(pattern)?;
        Ok(self.candidates().into_iter().filter(|&at| matcher.is_match(&self.variant(at).id.0)).collect())
    }

    /// Whether a variant is right.
    pub fn correctness(&self, at: usize) -> &Correctness {
        &self.correctness[at]
    }

    /// What keeps a latency from counting.
    pub fn doubt(&self, variant: &VariantId, shape: &ShapeName) -> Option<&'a str> {
        self.given.witness.and_then(|witness| witness.doubt(variant, shape)).map(|reason| &**reason)
    }

    /// The objective of a variant that is proven correct and measured.
    pub fn objective(&self, at: usize) -> Option<f64> {
        self.objectives[at]
    }

    /// What keeps the objective of a variant from counting, where that is a latency.
    pub fn objective_doubt(&self, at: usize) -> Option<&'a str> {
        let objective = &self.phase.objective;
        let timed = Catalogue::embedded().latency(&objective.metric).is_some();
        timed.then(|| self.doubt(&self.variant(at).id, &objective.shape)).flatten()
    }

    /// Variants with an objective, best first; those whose objective does not count come after all others. Ties by id, so
    /// that the order of the plan decides nothing.
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

    /// Dimensions of a shape with their extents; none where the phase has no such shape.
    pub fn dimensions(&self, shape: &ShapeName) -> &'a [(String, i64)] {
        self.shapes.get(shape).map_or(&[], |&at| &self.phase.workload.shapes[at].dims)
    }

    /// Extent of a dimension of a shape.
    pub fn dimension(&self, shape: &ShapeName, name: &str) -> Option<i64> {
        self.dimensions(shape).iter().find(|(dim, _)| dim == name).map(|(_, extent)| *extent)
    }

    /// Compute capability as a number: 8.9.
    pub fn cc(&self) -> Option<Value> {
        self.given.cc.map(capability)
    }

    /// Element type of the first input, by the name a phase uses.
    pub fn dtype(&self) -> Option<Value> {
        dtype(self.phase)
    }

    fn measured_objective(&self, at: usize) -> Option<f64> {
        if !self.correctness[at].may_hold() {
            return None;
        }
        let row = self.row(at, &self.phase.objective.shape)?;
        // Of a program with fills or copies the value is of its launches alone, unless it has what they add.
        let column = self.quantities.column(&self.phase.objective.metric)?;
        if column.bounds(row).is_some_and(|bounds| bounds.added == 0.0 && bounds.high > bounds.low) {
            return None;
        }
        column.cells().get(row)?.value().filter(|v| v.is_finite())
    }
}

/// A compute capability as a number: 8.9, 10.0, 12.1.
pub fn capability(cc: ComputeCapability) -> Value {
    Value::Float(f64::from(cc.major) + f64::from(cc.minor) / 10.0)
}

/// Element type of a phase's first input, by the name a phase uses.
pub fn dtype(phase: &Phase) -> Option<Value> {
    let input = phase.workload.buffers.iter().find(|b| b.role.is_read())?;
    Some(Value::Text(input.dtype.name().to_owned()))
}

/// A cell as a value or the reason there is none.
pub fn finite(cell: &Cell) -> Result<f64, Arc<str>> {
    match cell {
        Cell::Value(value) if value.is_finite() => Ok(*value),
        Cell::Value(value) => Err(format!("measured as {value}").into()),
        Cell::Missing(reason) => Err(reason.clone()),
    }
}

//! Operands of a requirement: what is read, bound to where its values are.

use super::context::EvalContext;
use super::results::SampleOrigin;
use crate::frame::{Bounds, FreshSamples, MetricCells, Program, Quantities};
use ncugate_model::expr::Value;
use ncugate_model::metric::{Catalogue, LatencyForm};
use ncugate_model::stats::{Statistic, StatsError, Stream, Variance};
use ncugate_phase::config::Scalar;
use std::sync::Arc;

/// The metric that gates compare latencies by.
pub const SPEED: &str = "latency_p50";
/// Fewest processes that a difference between processes can be estimated from.
pub const FEWEST_PROCESSES: usize = 3;
/// Why a value is not there.
pub type Absence = Arc<str>;

/// Where the value of a reference is.
pub enum Operand<'a> {
    /// A column of what was measured.
    Column {
        /// The cells, if there is such a column.
        cells: Option<&'a MetricCells>,
        /// How the metric follows from samples, if it does.
        timing: Option<Timing>,
    },
    /// The same for every variant, by position in the gate's shapes.
    Fixed(Vec<FixedValue>),
    /// A parameter of the variant.
    Param(String),
    /// A scalar of the workload that follows from the variant's parameters.
    Scalar(&'a Scalar),
    /// Whether the variant is proven correct.
    Correct,
    /// Another's latency over the variant's own.
    Speedup {
        /// The numerator, by position in the gate's shapes.
        over: Vec<FixedValue>,
        /// Column of the denominator.
        cells: Option<&'a MetricCells>,
    },
}

/// A value that does not depend on the variant.
pub struct FixedValue {
    pub value: Result<Value, Absence>,
    /// How it varies, where it follows from samples.
    pub timed: Option<SampleSeries>,
    /// Row of the run that is judged that it is read from; none for a stored run and for what is not measured.
    pub row: Option<usize>,
    /// Machine code and launch behind it, where it is a stored run's or the base's and known.
    pub code: Option<Arc<str>>,
    /// The values of several launches, where they were measured.
    pub spread: Option<Arc<[f64]>>,
    /// Where the value is, for a program with fills or copies that bear on it.
    pub bounds: Option<Bounds>,
}

/// How a metric follows from latency samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Timing {
    Statistic(Statistic),
    /// It is inversely proportional to their median.
    Rate,
}

/// How a value varies with the rounds that were drawn.
#[derive(Debug, Clone)]
pub struct SampleSeries {
    pub samples: Arc<[f64]>,
    /// How the value follows from them.
    pub timing: Timing,
    /// Whose rounds they are of.
    pub rounds: Rounds,
    pub program: Program,
    /// Launches that each sample is the mean of.
    pub launches: u32,
    /// Samples of each process, in their order; none where one process took them all.
    pub processes: Option<Arc<[u32]>>,
}

/// Whose rounds samples were taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// Of the run that is judged.
    Own,
    Stored,
}

/// Samples behind an operand of a case: its own, and those of whom it is compared with (a speedup has both).
#[derive(Debug, Clone, Default)]
pub struct TimedOperand {
    /// Of the variant that is judged.
    pub own: Option<SampleSeries>,
    /// Of another variant or a stored run.
    pub other: Option<SampleSeries>,
}

/// What the operands of a case follow from.
#[derive(Debug, Clone)]
pub struct CaseSamples {
    pub timed: Vec<TimedOperand>,
    /// Which samples of the run they are; none where nothing follows from samples of the run.
    pub origin: Option<SampleOrigin>,
}

impl CaseSamples {
    /// Whether anything follows from samples.
    pub fn varies(&self) -> bool {
        self.all().next().is_some()
    }

    pub fn all(&self) -> impl Iterator<Item = &SampleSeries> {
        self.timed.iter().flat_map(|timed| timed.own.iter().chain(&timed.other))
    }

    /// How the rounds of the run that is judged are redrawn.
    ///
    /// Nearby only where every kernel that is compared went through the same rounds: then a drift is common to all of it.
    /// What stands alone against a number, or against a stored run, has its drift to itself.
    pub fn redrawn(&self) -> Stream {
        let mut own = self.all();
        let Some(first) = own.next() else { return Stream::First };
        let alike = |other: &SampleSeries| other.is_of_shared_rounds() && other.samples.len() == first.samples.len();
        let mut others = own.peekable();
        let together = alike(first) && others.peek().is_some() && others.all(alike);
        if together { Stream::Shared } else { Stream::First }
    }
}

impl<'a> Operand<'a> {
    /// What does not depend on the variant, at a shape of the gate.
    pub fn fixed(&self, shape: usize) -> Option<&FixedValue> {
        match self {
            Self::Fixed(of) | Self::Speedup { over: of, .. } => of.get(shape),
            Self::Column { .. } | Self::Param(_) | Self::Scalar(_) | Self::Correct => None,
        }
    }

    /// Where its value at a row, or that of whom it names at a shape of the gate, is for a program with fills or copies.
    pub fn bounds(&self, row: Option<usize>, shape: usize) -> Option<&Bounds> {
        match self {
            Self::Column { cells, .. } => (*cells)?.bounds(row?),
            Self::Fixed(of) => of.get(shape)?.bounds.as_ref(),
            Self::Param(_) | Self::Scalar(_) | Self::Correct | Self::Speedup { .. } => None,
        }
    }

    /// How its own part follows from samples of the variant.
    pub fn own_timing(&self) -> Option<Timing> {
        match self {
            Self::Column { timing, .. } => *timing,
            Self::Speedup { .. } => Some(Timing::Statistic(Statistic::MEDIAN)),
            Self::Fixed(_) | Self::Param(_) | Self::Scalar(_) | Self::Correct => None,
        }
    }
}

impl Timing {
    /// How a metric follows from samples; none for one that does not.
    pub fn of(metric: &str) -> Option<Self> {
        let latency = Catalogue::embedded().latency(metric)?;
        Some(match latency.form {
            LatencyForm::Time => Self::Statistic(latency.statistic),
            LatencyForm::Throughput => Self::Rate,
        })
    }

    /// The value of these samples, where that of others is known: a rate is work over time, and the work is the same.
    pub fn value(self, samples: &[f64], known: (f64, &[f64])) -> Result<f64, StatsError> {
        match self {
            Self::Statistic(statistic) => statistic.of(samples),
            Self::Rate => {
                let (value, others) = known;
                Ok(value * Statistic::MEDIAN.of(others)? / Statistic::MEDIAN.of(samples)?)
            }
        }
    }

    /// The statistic of the samples that it follows from.
    pub fn statistic(self) -> Statistic {
        match self {
            Self::Statistic(statistic) => statistic,
            Self::Rate => Statistic::MEDIAN,
        }
    }
}

impl SampleSeries {
    /// Whether it is a kernel's, timed in the worker and the rounds of the other kernels of the run.
    pub fn is_of_shared_rounds(&self) -> bool {
        self.rounds == Rounds::Own && self.program == Program::Kernel
    }

    /// The first `rounds` of samples that were taken anew.
    pub fn of_fresh(fresh: &FreshSamples, rounds: usize, timing: Timing, program: Program) -> Result<Self, Absence> {
        let samples: Arc<[f64]> = fresh.samples.as_ref().map_err(Arc::clone)?.iter().take(rounds).copied().collect();
        let mut left = samples.len();
        let mut processes = Vec::new();
        for &count in fresh.processes.iter() {
            let part = left.min(count as usize);
            left -= part;
            processes.extend((part > 0).then_some(part as u32));
        }
        if left > 0 {
            return Err("samples of the confirmation are of no process".into());
        }
        let (rounds, launches) = (Rounds::Own, fresh.launches);
        Ok(Self { samples, timing, rounds, program, launches, processes: Some(processes.into()) })
    }

    /// Processes that the samples are of.
    pub fn process_count(&self) -> usize {
        self.processes.as_ref().map_or(1, |processes| processes.len())
    }

    /// Variance of the value from process to process, of the mean over them; none for fewer than [`FEWEST_PROCESSES`].
    pub fn between_processes(&self, value: f64) -> Option<Variance> {
        let processes = self.processes.as_ref().filter(|processes| processes.len() >= FEWEST_PROCESSES)?;
        let mut rest = &self.samples[..];
        let mut values = Vec::new();
        for &count in processes.iter() {
            let (part, after) = rest.split_at_checked(count as usize)?;
            values.push(self.timing.value(part, (value, &self.samples)).ok()?);
            rest = after;
        }
        Variance::of_mean(&values)
    }

    /// What rounding of the clock may have moved the value by, on either side.
    pub fn rounding(&self, value: f64) -> f64 {
        let half = ncugate_model::stats::half_step(&self.samples, self.launches);
        match self.timing {
            Timing::Statistic(_) => half,
            Timing::Rate => Statistic::MEDIAN.of(&self.samples).map_or(0.0, |median| value * half / median),
        }
    }

    /// The value of every resample; `value` is that of the samples as they are, `own` how rounds of the run are redrawn.
    pub fn replicates(&self, context: &EvalContext<'_>, value: f64, own: Stream) -> Result<Vec<f64>, StatsError> {
        let statistic = self.timing.statistic();
        let stream = match self.rounds {
            Rounds::Own => own,
            Rounds::Stored => Stream::Second,
        };
        let mut replicates = context.resampler.replicates(&self.samples, statistic, stream)?;
        if self.timing == Timing::Rate {
            let work = value * statistic.of(&self.samples)?;
            replicates.iter_mut().for_each(|latency| *latency = work / *latency);
        }
        Ok(replicates)
    }

    /// Smallest and largest value any resample can give; none where there are too few samples for an interval.
    pub fn range(&self, context: &EvalContext<'_>, value: f64) -> Option<(f64, f64)> {
        let statistic = self.timing.statistic();
        if self.samples.len() < statistic.fewest(context.resampler.settings().level) {
            return None;
        }
        let low = self.samples.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let finite = self.samples.iter().all(|v| v.is_finite()) && low > 0.0;
        match self.timing {
            _ if !finite => None,
            Timing::Statistic(_) => Some((low, high)),
            Timing::Rate => {
                let work = value * statistic.of(&self.samples).ok()?;
                Some((work / high, work / low))
            }
        }
    }
}

/// Samples of a row, for a metric that follows from them: those of the sweep, or a stored run's.
pub fn timed(quantities: &Quantities, row: usize, timing: Timing, rounds: Rounds) -> Option<SampleSeries> {
    let samples = quantities.samples_at(row)?.clone();
    let sampling = quantities.sampling_at(row);
    let program = sampling.map_or(Program::Kernel, |sampling| sampling.program);
    let launches = sampling.map_or(1, |sampling| sampling.launches);
    Some(SampleSeries { samples, timing, rounds, program, launches, processes: None })
}

impl FixedValue {
    /// What does not follow from samples.
    pub fn untimed(value: Result<Value, Absence>) -> Self {
        Self { value, timed: None, row: None, code: None, spread: None, bounds: None }
    }
}

//! The operands of a requirement, each bound to the location of its values.

use super::context::EvalContext;
use super::results::SampleOrigin;
use ncugate_model::expr::Value;
use ncugate_model::metric::{Catalogue, LatencyForm};
use ncugate_model::quantities::{Bounds, FreshSamples, MetricCells, Program};
use ncugate_model::stats::{Statistic, StatsError, Stream};
use ncugate_model::{Quantities, Throttle};
use ncugate_phase::config::Scalar;
use std::sync::Arc;

/// The latency metric for comparisons between variants.
pub const SPEED: &str = "latency_p50";
/// Minimum number of processes for an estimate of the difference between processes.
pub const FEWEST_PROCESSES: usize = 5;
/// The reason for a missing value.
pub type Absence = Arc<str>;

/// The location of a reference's value.
pub enum Operand<'a> {
    /// A column of measured values.
    /// `cells`: the cells, if the column exists.
    /// `timing`: the relation of the metric to samples, if it has one.
    Column { cells: Option<&'a MetricCells>, timing: Option<Timing> },
    /// Equal for every variant, by position in the gate's shapes.
    Fixed(Vec<FixedValue>),
    /// A parameter of the variant.
    Param(String),
    /// A scalar of the workload that depends on the variant's parameters.
    Scalar(&'a Scalar),
    /// Whether the variant is proven correct.
    Correct,
    /// Another variant's latency divided by this variant's.
    /// `over`: the numerator, by position in the gate's shapes.
    /// `cells`: column of the denominator.
    Speedup { over: Vec<FixedValue>, cells: Option<&'a MetricCells> },
}

/// A value that does not depend on the variant.
pub struct FixedValue {
    pub value: Result<Value, Absence>,
    /// Its variation, if it is computed from samples.
    pub timed: Option<SampleSeries>,
    /// Row of the judged run that holds the value; `None` for stored runs and values that are not measured.
    pub row: Option<usize>,
    /// Machine code and launch behind it, for a stored run or the base, if known.
    pub code: Option<Arc<str>>,
    /// The values of several launches, if they were measured.
    pub spread: Option<Arc<[f64]>>,
    /// The bounds of the value, for a program with fills or copies that affect it.
    pub bounds: Option<Bounds>,
}

/// The relation of a metric to latency samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Timing {
    Statistic(Statistic),
    /// Inversely proportional to their median.
    Rate,
}

/// The samples behind a value, which vary with the rounds.
#[derive(Debug, Clone)]
pub struct SampleSeries {
    pub samples: Arc<[f64]>,
    /// The relation of the value to the samples.
    pub timing: Timing,
    /// The run whose rounds they belong to.
    pub rounds: Rounds,
    pub program: Program,
    /// Number of launches averaged in each sample.
    pub launches: u32,
    /// Number of samples of each process, in order; `None` for the one process of a sweep.
    pub processes: Option<Arc<[u32]>>,
    /// Throttling of the GPU in the round of each sample, if it was read.
    pub throttle: Option<Arc<[Throttle]>>,
}

/// The run whose rounds the samples belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// The judged run.
    Own,
    Stored,
}

/// Samples behind an operand of a case: the variant's own, and those of the other side (a speedup has both).
#[derive(Debug, Clone, Default)]
pub struct TimedOperand {
    /// Samples of the judged variant.
    pub own: Option<SampleSeries>,
    /// Samples of another variant or a stored run.
    pub other: Option<SampleSeries>,
}

/// The samples behind the operands of a case.
#[derive(Debug, Clone)]
pub struct CaseSamples {
    pub timed: Vec<TimedOperand>,
    /// Which samples of the run they are; `None` if no operand is computed from samples of the run.
    pub origin: Option<SampleOrigin>,
}

impl CaseSamples {
    /// The samples of these operands alone.
    pub fn only(&self, operands: &[usize]) -> Self {
        let timed = self.timed.iter().enumerate();
        let of = |(at, timed): (usize, &TimedOperand)| {
            if operands.contains(&at) { timed.clone() } else { TimedOperand::default() }
        };
        Self { timed: timed.map(of).collect(), origin: self.origin }
    }

    /// Whether any operand is computed from samples.
    pub fn varies(&self) -> bool {
        self.all().next().is_some()
    }

    pub fn all(&self) -> impl Iterator<Item = &SampleSeries> {
        self.timed.iter().flat_map(|timed| timed.own.iter().chain(&timed.other))
    }

    /// How the judged run's rounds are resampled.
    ///
    /// Local resampling requires that all compared kernels went through the same rounds: then drift is common to all
    /// of them. If one kernel is compared with a number or a stored run, drift is part of its noise.
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
    /// The value that does not depend on the variant, at a shape of the gate.
    pub fn fixed(&self, shape: usize) -> Option<&FixedValue> {
        match self {
            Self::Fixed(of) | Self::Speedup { over: of, .. } => of.get(shape),
            Self::Column { .. } | Self::Param(_) | Self::Scalar(_) | Self::Correct => None,
        }
    }

    /// The bounds of its value, for a program with fills or copies: the value at a row, or that of the owner it names
    /// at a shape of the gate.
    pub fn bounds(&self, row: Option<usize>, shape: usize) -> Option<&Bounds> {
        match self {
            Self::Column { cells, .. } => (*cells)?.bounds(row?),
            Self::Fixed(of) => of.get(shape)?.bounds.as_ref(),
            Self::Param(_) | Self::Scalar(_) | Self::Correct | Self::Speedup { .. } => None,
        }
    }

    /// The relation of the operand to samples of the variant.
    pub fn own_timing(&self) -> Option<Timing> {
        match self {
            Self::Column { timing, .. } => *timing,
            Self::Speedup { .. } => Some(Timing::Statistic(Statistic::MEDIAN)),
            Self::Fixed(_) | Self::Param(_) | Self::Scalar(_) | Self::Correct => None,
        }
    }
}

impl Timing {
    /// The relation of a metric to samples; `None` for a metric without one.
    pub fn of(metric: &str) -> Option<Self> {
        let latency = Catalogue::embedded().latency(metric)?;
        Some(match latency.form {
            LatencyForm::Time => Self::Statistic(latency.statistic),
            LatencyForm::Throughput => Self::Rate,
        })
    }

    /// The value for these samples, given a known pair of value and samples: a rate is work divided by time, and the
    /// work is the same.
    pub fn value(self, samples: &[f64], known: (f64, &[f64])) -> Result<f64, StatsError> {
        match self {
            Self::Statistic(statistic) => statistic.of(samples),
            Self::Rate => {
                let (value, others) = known;
                Ok(value * Statistic::MEDIAN.of(others)? / Statistic::MEDIAN.of(samples)?)
            }
        }
    }

    /// The statistic of the samples behind the metric.
    pub fn statistic(self) -> Statistic {
        match self {
            Self::Statistic(statistic) => statistic,
            Self::Rate => Statistic::MEDIAN,
        }
    }
}

impl SampleSeries {
    /// Whether the samples are a kernel's, timed in the worker in the same rounds as the run's other kernels.
    pub fn is_of_shared_rounds(&self) -> bool {
        self.rounds == Rounds::Own && self.program == Program::Kernel
    }

    /// The first `rounds` of the confirmation samples.
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
            return Err("confirmation samples carry no process id".into());
        }
        let (rounds, launches) = (Rounds::Own, fresh.launches);
        let throttle = fresh.throttle.as_ref().and_then(|throttle| Some(throttle.get(..samples.len())?.into()));
        Ok(Self { samples, timing, rounds, program, launches, processes: Some(processes.into()), throttle })
    }

    /// Whether its value is a quantile far from the median.
    pub fn is_tail(&self) -> bool {
        matches!(self.timing, Timing::Statistic(statistic) if statistic.is_tail())
    }

    /// Number of processes that took the samples.
    pub fn process_count(&self) -> usize {
        self.processes.as_ref().map_or(1, |processes| processes.len())
    }

    /// The value in each process; `None` for fewer than [`FEWEST_PROCESSES`].
    pub fn of_processes(&self, value: f64) -> Option<Vec<f64>> {
        let processes = self.processes.as_ref().filter(|processes| processes.len() >= FEWEST_PROCESSES)?;
        let mut rest = &self.samples[..];
        let mut values = Vec::with_capacity(processes.len());
        for &count in processes.iter() {
            let (part, after) = rest.split_at_checked(count as usize)?;
            values.push(self.timing.value(part, (value, &self.samples)).ok()?);
            rest = after;
        }
        Some(values)
    }

    /// The largest error of the value from clock rounding, in either direction.
    pub fn rounding(&self, value: f64) -> f64 {
        let half = ncugate_model::stats::half_step(&self.samples, self.launches);
        match self.timing {
            Timing::Statistic(_) => half,
            Timing::Rate => Statistic::MEDIAN.of(&self.samples).map_or(0.0, |median| value * half / median),
        }
    }

    /// The value of every resample; `value` is that of the original samples, `own` is how the run's rounds are
    /// resampled.
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

    /// Smallest and largest value of any resample; `None` if there are too few samples for an interval.
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

/// Samples of a row, for a metric computed from them: those of the sweep, or a stored run's.
pub fn timed(quantities: &Quantities, row: usize, timing: Timing, rounds: Rounds) -> Option<SampleSeries> {
    let samples = quantities.samples_at(row)?.clone();
    let sampling = quantities.sampling_at(row);
    let program = sampling.map_or(Program::Kernel, |sampling| sampling.program);
    let launches = sampling.map_or(1, |sampling| sampling.launches);
    let throttle = sampling.and_then(|sampling| sampling.throttle.clone());
    Some(SampleSeries { samples, timing, rounds, program, launches, processes: None, throttle })
}

impl FixedValue {
    /// A value that is not computed from samples.
    pub fn untimed(value: Result<Value, Absence>) -> Self {
        Self { value, timed: None, row: None, code: None, spread: None, bounds: None }
    }
}

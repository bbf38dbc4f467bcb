//! Operands of a requirement: what is read, bound to where its values are.

use super::context::EvalContext;
use crate::config::Scalar;
use crate::expr::Value;
use crate::frame::{MetricCells, Spreads};
use crate::metric::{Catalogue, LatencyForm};
use crate::stats::{Statistic, StatsError, Stream};
use std::sync::Arc;

/// The metric that gates compare latencies by.
pub const SPEED: &str = "latency_p50";
/// Why a value is not there.
pub type Absence = Arc<str>;

/// Where the value of a reference is.
pub enum Operand<'a> {
    /// A column of what was measured.
    Column {
        /// The cells, if there is such a column.
        cells: Option<MetricCells>,
        /// How the metric follows from samples, if it does.
        timing: Option<Timing>,
        /// Its values where several launches were measured.
        spreads: Option<&'a Spreads>,
    },
    /// The same for every variant, by position in the gate's shapes.
    Fixed(Vec<Fixed>),
    /// A parameter of the variant.
    Param(String),
    /// A scalar of the workload that follows from the variant's parameters.
    Scalar(&'a Scalar),
    /// Whether the variant is proven correct.
    Correct,
    /// Another's latency over the variant's own.
    Speedup {
        /// The numerator, by position in the gate's shapes.
        over: Vec<Fixed>,
        /// Column of the denominator.
        cells: Option<MetricCells>,
    },
}

/// A value that does not depend on the variant.
pub struct Fixed {
    /// The value.
    pub value: Result<Value, Absence>,
    /// How it varies, where it follows from samples.
    pub timed: Option<Timed>,
    /// The values of several launches, where they were measured.
    pub spread: Option<Arc<[f64]>>,
}

/// How a metric follows from latency samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Timing {
    /// It is a statistic of them.
    Statistic(Statistic),
    /// It is inversely proportional to their median.
    Rate,
}

/// How a value varies with the rounds that were drawn.
pub struct Timed {
    /// The samples.
    pub samples: Arc<[f64]>,
    /// How the value follows from them.
    pub timing: Timing,
    /// Whose rounds they are of.
    pub rounds: Rounds,
}

/// Whose rounds samples were taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// Of the run that is judged.
    Own,
    /// Of a stored run.
    Stored,
}

/// How the rounds of the run that is judged are redrawn for a case.
///
/// Nearby only where everything that is compared went through the same rounds: then a drift is common to all of it.
/// What stands alone against a number, or against a stored run, has its drift to itself.
pub fn redrawn<'t>(mut timed: impl Iterator<Item = &'t Timed>) -> Stream {
    let Some(first) = timed.next() else { return Stream::First };
    let alike = |other: &Timed| other.rounds == Rounds::Own && other.samples.len() == first.samples.len();
    let mut others = timed.peekable();
    let together = alike(first) && others.peek().is_some() && others.all(alike);
    if together { Stream::Shared } else { Stream::First }
}

impl Operand<'_> {
    /// The samples that a value which does not depend on the variant follows from.
    pub fn fixed_samples(&self, shape: usize) -> Option<&Timed> {
        match self {
            Self::Fixed(of) | Self::Speedup { over: of, .. } => of[shape].timed.as_ref(),
            Self::Column { .. } | Self::Param(_) | Self::Scalar(_) | Self::Correct => None,
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

    fn statistic(self) -> Statistic {
        match self {
            Self::Statistic(statistic) => statistic,
            Self::Rate => Statistic::MEDIAN,
        }
    }
}

impl Timed {
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

/// Own samples of a row for a metric that follows from them.
pub fn own_timed(context: &EvalContext<'_>, row: usize, timing: Timing) -> Option<Timed> {
    let samples = context.quantities.samples_at(row)?.clone();
    Some(Timed { samples, timing, rounds: Rounds::Own })
}

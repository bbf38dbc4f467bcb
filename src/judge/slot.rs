//! References bound to where their values are.

use super::ground::{Ground, Proof, finite};
use super::judgement::Correctness;
use crate::config::Scalar;
use crate::expr::reference::Reference;
use crate::expr::{ExprError, Value};
use crate::frame::{MetricCells, Quantities, Spreads};
use crate::metric::{Catalogue, LatencyForm};
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::stats::{Statistic, StatsError, Stream};
use std::sync::Arc;

/// A metric that gates compare latencies by.
const SPEED: &str = "latency_p50";
/// Why a value is not there.
pub type Absence = Arc<str>;

/// Where a reference's value is.
pub enum Slot<'a> {
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
    pub fn replicates(&self, ground: &Ground<'_>, value: f64, own: Stream) -> Result<Vec<f64>, StatsError> {
        let statistic = self.timing.statistic();
        let stream = match self.rounds {
            Rounds::Own => own,
            Rounds::Stored => Stream::Second,
        };
        let mut replicates = ground.resampler.replicates(&self.samples, statistic, stream)?;
        if self.timing == Timing::Rate {
            let work = value * statistic.of(&self.samples)?;
            replicates.iter_mut().for_each(|latency| *latency = work / *latency);
        }
        Ok(replicates)
    }

    /// Smallest and largest value any resample can give; none where there are too few samples for an interval.
    pub fn range(&self, ground: &Ground<'_>, value: f64) -> Option<(f64, f64)> {
        let statistic = self.timing.statistic();
        if self.samples.len() < statistic.fewest(ground.resampler.settings().level) {
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

/// Binds references to the ground, at these shapes; `previous` is the last accepted stage.
pub fn bind<'a>(
    references: &[Reference],
    ground: &Ground<'a>,
    shapes: &[ShapeName],
    previous: Option<usize>,
) -> Vec<Slot<'a>> {
    let binder = Binder { ground, shapes, previous };
    references.iter().map(|reference| binder.slot(reference)).collect()
}

struct Binder<'b, 'a> {
    ground: &'b Ground<'a>,
    shapes: &'b [ShapeName],
    previous: Option<usize>,
}

/// Whom an owner's name means.
enum Target<'a> {
    Planned(usize),
    Stored(&'a Quantities, VariantId),
}

impl<'a> Binder<'_, 'a> {
    fn slot(&self, reference: &Reference) -> Slot<'a> {
        match reference {
            Reference::Own(name) => self.own(name),
            Reference::Of { owner, metric } => Slot::Fixed(self.of(owner, metric)),
            Reference::Speedup { over } => {
                Slot::Speedup { over: self.of(over, SPEED), cells: self.ground.quantities.column(SPEED) }
            }
        }
    }

    fn own(&self, name: &str) -> Slot<'a> {
        let cells = self.ground.quantities.column(name);
        if name == "correct" {
            return Slot::Correct;
        }
        if cells.is_some() || Catalogue::embedded().knows(name) {
            return Slot::Column { cells, timing: Timing::of(name), spreads: self.ground.quantities.spreads(name) };
        }
        if self.shapes.iter().any(|shape| self.ground.dimension(shape, name).is_some()) {
            let of = |shape| self.ground.dimension(shape, name).map(Value::Int);
            return Slot::Fixed(self.shapes.iter().map(|s| fixed(of(s), name)).collect());
        }
        if let "cc" | "dtype" = name {
            let value = || if name == "cc" { self.ground.cc() } else { self.ground.dtype() };
            return Slot::Fixed(self.shapes.iter().map(|_| fixed(value(), name)).collect());
        }
        match self.ground.phase.workload.scalars.iter().find(|scalar| scalar.name == name) {
            Some(scalar) => self.scalar(scalar),
            None => Slot::Param(name.to_owned()),
        }
    }

    /// A scalar that only dimensions decide is worked out once.
    fn scalar(&self, scalar: &'a Scalar) -> Slot<'a> {
        let of = |shape: &ShapeName| match scalar_value(self.ground, scalar, shape, &[]) {
            Err(ExprError::Unknown { .. }) => None,
            value => {
                let value = value.map(Value::Float).map_err(|e| Absence::from(e.to_string()));
                Some(Fixed { value, timed: None, spread: None })
            }
        };
        self.shapes.iter().map(of).collect::<Option<_>>().map_or(Slot::Scalar(scalar), Slot::Fixed)
    }

    fn of(&self, owner: &str, metric: &str) -> Vec<Fixed> {
        match self.target(owner) {
            Ok(target) => self.shapes.iter().map(|shape| self.read(&target, owner, shape, metric)).collect(),
            Err(reason) => {
                self.shapes.iter().map(|_| Fixed { value: Err(reason.clone()), timed: None, spread: None }).collect()
            }
        }
    }

    fn target(&self, owner: &str) -> Result<Target<'a>, Absence> {
        let ground = self.ground;
        if let ("previous", Some(at)) = (owner, self.previous) {
            return Ok(Target::Planned(at));
        }
        if let Some(stored) = ground.context.stored.get(owner) {
            return Ok(Target::Stored(stored.quantities, stored.variant.clone()));
        }
        if let Some(reason) = ground.context.absent.get(owner) {
            return Err(reason.as_str().into());
        }
        let id = match (owner, ground.phase.baselines.first()) {
            ("baseline", Some(first)) => VariantId(first.name.clone()),
            ("baseline", None) => return Err("the phase has no baseline, and none is stored".into()),
            ("previous" | "best", _) => return Err(format!("no stored run stands for '{owner}'").into()),
            _ => VariantId(owner.to_owned()),
        };
        let at = ground.find(&id).or_else(|| self.stage(owner));
        let at =
            at.ok_or_else(|| format!("'{id}' is neither a variant that was measured, a stage, nor a stored run"))?;
        match (ground.correctness(at), ground.proof) {
            (Correctness::Proven { .. }, _) | (Correctness::Unproven { .. }, Proof::Ahead) => Ok(Target::Planned(at)),
            (Correctness::Wrong { reason } | Correctness::Unproven { reason }, _) => {
                Err(format!("'{id}' is not proven correct: {reason}").into())
            }
        }
    }

    /// The variant that stands for a stage.
    fn stage(&self, name: &str) -> Option<usize> {
        let stage = self.ground.phase.gate_plan.stages.iter().find(|s| s.name == name)?;
        let variants = self.ground.matching(&stage.variant).ok()?;
        self.ground.ranked(&variants).first().copied()
    }

    fn read(&self, target: &Target<'a>, owner: &str, shape: &ShapeName, metric: &str) -> Fixed {
        let (quantities, id, rounds) = match target {
            Target::Planned(at) => (self.ground.quantities, &self.ground.variant(*at).id, Rounds::Own),
            Target::Stored(quantities, id) => (*quantities, id, Rounds::Stored),
        };
        let value = finite(&quantities.read(id, shape, metric)).map(Value::Float);
        let timed = Timing::of(metric).and_then(|timing| {
            let samples = quantities.samples(id, shape)?.clone();
            Some(Timed { samples, timing, rounds })
        });
        let spread =
            quantities.spreads(metric).zip(quantities.row(id, shape)).and_then(|(of, row)| of.get(&row).cloned());
        Fixed { value: value.map_err(|reason| format!("{owner}.{metric}: {reason}").into()), timed, spread }
    }
}

/// Value of a scalar at a shape, for a variant with these parameters.
pub fn scalar_value(
    ground: &Ground<'_>,
    scalar: &Scalar,
    shape: &ShapeName,
    params: &[(String, Value)],
) -> Result<f64, ExprError> {
    let dims = ground.dimensions(shape).iter().map(|(name, extent)| (name.clone(), Value::Int(*extent)));
    scalar.value.eval_number(&dims.chain(params.iter().cloned()).collect())
}

fn fixed(value: Option<Value>, name: &str) -> Fixed {
    Fixed { value: value.ok_or_else(|| format!("'{name}' is not known here").into()), timed: None, spread: None }
}

/// Own samples of a row for a metric that follows from them.
pub fn own_timed(ground: &Ground<'_>, row: usize, timing: Timing) -> Option<Timed> {
    let samples = ground.quantities.samples_at(row)?.clone();
    Some(Timed { samples, timing, rounds: Rounds::Own })
}

//! The samples that decide a case: the confirmation samples if the variant was re-timed, otherwise those of the
//! sweep.

use super::bound_gate::BoundGate;
use super::operand::{Absence, CaseSamples, FixedValue, Operand, Rounds, SampleSeries, TimedOperand, timed};
use super::results::SampleOrigin;
use ncugate_model::expr::Value;
use ncugate_model::quantities::{FreshSamples, Program};

impl BoundGate<'_> {
    /// The samples behind every operand of a case. If they are confirmation samples, the operand values are
    /// recomputed from them.
    ///
    /// # Errors
    /// Samples are missing, or only one side was re-timed.
    pub(super) fn samples(
        &self,
        row: Option<usize>,
        shape: usize,
        values: &mut [Value],
    ) -> Result<CaseSamples, Absence> {
        let swept = self.swept(row, shape)?;
        let timed_rows: Vec<usize> = self.timed_rows(row, shape).collect();
        let fresh: Vec<Option<&FreshSamples>> = timed_rows.iter().map(|row| self.fresh(*row)).collect();
        let kernels = timed_rows.iter().filter(|row| self.program(**row) == Some(Program::Kernel));
        let own_row = row.filter(|_| swept.iter().any(|timed| timed.own.is_some()));
        let judged_anew = match own_row {
            Some(row) => self.fresh(row).is_some(),
            None => !fresh.is_empty() && fresh.iter().all(Option::is_some),
        };
        if !judged_anew {
            let origin = (!timed_rows.is_empty()).then_some(SampleOrigin::Sweep);
            return Ok(CaseSamples { timed: swept, origin });
        }
        self.enough(&fresh)?;
        let rounds = kernels.filter_map(|row| Some(self.fresh(*row)?.samples.as_ref().ok()?.len())).min();
        let rounds = rounds.unwrap_or(usize::MAX);
        let mut anew = Vec::with_capacity(swept.len());
        for (at, swept) in swept.into_iter().enumerate() {
            anew.push(self.of_confirmation(at, swept, (row, shape, rounds), &mut values[at])?);
        }
        Ok(CaseSamples { timed: anew, origin: Some(SampleOrigin::Confirmation) })
    }

    /// Checks that everything compared was re-timed for the number of rounds that the phase asks for.
    fn enough(&self, fresh: &[Option<&FreshSamples>]) -> Result<(), Absence> {
        let asked = self.context.phase.bench.rounds as usize;
        for fresh in fresh {
            let fresh = fresh.ok_or("the compared variant was not re-timed alongside it")?;
            let rounds = fresh.samples.as_ref().map_err(Clone::clone)?.len();
            if rounds < asked {
                return Err(format!("the confirmation has {rounds} of {asked} samples").into());
            }
        }
        Ok(())
    }

    fn program(&self, row: usize) -> Option<Program> {
        Some(self.context.quantities.sampling_at(row)?.program)
    }

    /// The sweep's samples of every operand, or a stored run's.
    fn swept(&self, row: Option<usize>, shape: usize) -> Result<Vec<TimedOperand>, Absence> {
        let of = |operand: &Operand<'_>| {
            let own = match operand.own_timing() {
                Some(timing) => {
                    let own = row.and_then(|row| timed(self.context.quantities, row, timing, Rounds::Own));
                    Some(own.ok_or("latency has no samples, so its noise is unknown")?)
                }
                None => None,
            };
            Ok(TimedOperand { own, other: operand.fixed(shape).and_then(|fixed| fixed.timed.clone()) })
        };
        self.operands.iter().map(of).collect()
    }

    /// Rows of the judged run whose samples are read.
    fn timed_rows(&self, row: Option<usize>, shape: usize) -> impl Iterator<Item = usize> {
        let rows = move |operand: &Operand<'_>| {
            let own = row.filter(|_| operand.own_timing().is_some());
            let other = operand.fixed(shape).filter(|fixed| fixed.timed.is_some()).and_then(|fixed| fixed.row);
            own.into_iter().chain(other)
        };
        self.operands.iter().flat_map(rows)
    }

    fn fresh(&self, row: usize) -> Option<&FreshSamples> {
        self.context.quantities.sampling_at(row)?.fresh.as_ref()
    }

    /// An operand computed from the first rounds of the confirmation.
    fn of_confirmation(
        &self,
        at: usize,
        swept: TimedOperand,
        (row, shape, rounds): (Option<usize>, usize, usize),
        value: &mut Value,
    ) -> Result<TimedOperand, Absence> {
        let fixed = self.operands[at].fixed(shape);
        let before = Parts::of(&self.operands[at], fixed, value);
        let own = self.part(swept.own, row, rounds, before.own)?;
        let other = match (swept.other, fixed.and_then(|fixed| fixed.row)) {
            (Some(timed), None) => (Some(timed), before.other),
            (other, row) => self.part(other, row, rounds, before.other)?,
        };
        let timed = own.0.is_some() || other.0.is_some();
        let whole = Parts { own: own.1, other: other.1 }.whole(&self.operands[at]);
        if let Some(number) = whole.filter(|_| timed) {
            *value = Value::Float(number);
        }
        Ok(TimedOperand { own: own.0, other: other.0 })
    }

    fn part(
        &self,
        swept: Option<SampleSeries>,
        row: Option<usize>,
        rounds: usize,
        known: Option<f64>,
    ) -> Result<(Option<SampleSeries>, Option<f64>), Absence> {
        let (Some(swept), Some(row), Some(known)) = (swept, row, known) else { return Ok((None, known)) };
        let sampling = self.context.quantities.sampling_at(row).ok_or("its timing method is unknown")?;
        let fresh = sampling.fresh.as_ref().ok_or("it was not re-timed")?;
        // kernels that were decided at an earlier look have fewer rounds; a command shares no rounds with other
        // programs
        let rounds = if sampling.program == Program::Kernel { rounds } else { usize::MAX };
        let anew = SampleSeries::of_fresh(fresh, rounds, swept.timing, sampling.program)?;
        let value = swept.timing.value(&anew.samples, (known, &swept.samples));
        Ok((Some(anew), Some(value.map_err(|error| error.to_string())?)))
    }
}

/// The two parts of an operand: the variant's own value and the other side's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub own: Option<f64>,
    pub other: Option<f64>,
}

impl Parts {
    /// Splits an operand's value: a speedup is the other latency divided by the variant's own.
    pub fn of(operand: &Operand<'_>, fixed: Option<&FixedValue>, value: &Value) -> Self {
        let number = value.number();
        match operand {
            Operand::Speedup { .. } => {
                let over = fixed.and_then(|fixed| fixed.value.as_ref().ok()?.number());
                Self { own: over.zip(number).map(|(over, ratio)| over / ratio), other: over }
            }
            Operand::Column { .. } => Self { own: number, other: None },
            Operand::Fixed(_) => Self { own: None, other: number },
            Operand::Param(_) | Operand::Scalar(_) | Operand::Correct => Self { own: None, other: None },
        }
    }

    /// Replaces the variant's own number, or the other side's.
    #[must_use]
    pub fn with(self, own: bool, number: f64) -> Self {
        if own { Self { own: Some(number), ..self } } else { Self { other: Some(number), ..self } }
    }

    /// Combines the parts into the operand's value.
    pub fn whole(self, operand: &Operand<'_>) -> Option<f64> {
        match operand {
            Operand::Speedup { .. } => Some(self.other? / self.own?),
            Operand::Column { .. } => self.own,
            Operand::Fixed(_) => self.other,
            Operand::Param(_) | Operand::Scalar(_) | Operand::Correct => None,
        }
    }
}

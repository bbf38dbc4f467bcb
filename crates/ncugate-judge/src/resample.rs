//! Judges cases with latency samples by the interval of the difference of both sides.
//!
//! Kernels of the run that went through the same rounds are resampled together ([`ncugate_model::stats::Resampler`]).
//! Processes and runs differ by more than their rounds show. Their contribution is a variance between processes or
//! runs with few degrees of freedom, so its interval uses Student's t distribution; kernels that shared each of their
//! processes are compared within it.

use super::bound_gate::{BoundGate, Sides};
use super::case_outcome::{CaseOutcome, certain, of_difference};
use super::case_samples::Parts;
use super::operand::{CaseSamples, FEWEST_PROCESSES, Operand, Rounds, SampleSeries, Timing};
use super::results::InconclusiveKind;
use ncugate_model::Verdict;
use ncugate_model::expr::Value;
use ncugate_model::quantities::Program;
use ncugate_model::stats::{
    Estimate, FEWEST_TESTED, Interval, Stationarity, Statistic, Stream, Variance, half_width, order_limits,
};

/// Why samples cannot decide a case.
pub(super) struct Indecision {
    kind: InconclusiveKind,
    note: String,
}

impl Indecision {
    fn noise(reason: impl std::fmt::Display) -> Self {
        Self { kind: InconclusiveKind::Noise, note: format!("noise: {reason}") }
    }

    fn missing(note: String) -> Self {
        Self { kind: InconclusiveKind::Missing, note }
    }

    fn uncompared(note: String) -> Self {
        Self { kind: InconclusiveKind::Uncompared, note }
    }

    /// The outcome of the case, left open.
    pub fn outcome(self, outcome: CaseOutcome) -> CaseOutcome {
        CaseOutcome {
            verdict: Verdict::Inconclusive,
            inconclusive: Some(self.kind),
            note: Some(self.note.into()),
            ..outcome
        }
    }
}

/// The part of an operand that varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Own,
    Other,
}

/// Samples that vary, and the value computed from them.
struct NoisyOperand<'s> {
    at: usize,
    part: Part,
    timed: &'s SampleSeries,
    value: f64,
}

/// A case with all of its varying operands.
struct NoisyCase<'s> {
    parties: Vec<NoisyOperand<'s>>,
    parts: Vec<Parts>,
    /// How the kernels' rounds are resampled.
    stream: Stream,
}

/// The estimated noise of a case.
struct NoiseEstimate {
    interval: Interval,
    /// The message if noise leaves the case open.
    open: &'static str,
}

impl BoundGate<'_> {
    /// The verdict by the interval of `left - right`.
    pub(super) fn resampled(&self, sides: Sides<'_>, shape: usize, outcome: CaseOutcome) -> CaseOutcome {
        let unresolvable = self.unresolvable(&sides, shape);
        let comparison = sides.comparison;
        let NoiseEstimate { interval, open } = match self.interval(sides, shape) {
            Ok(found) => found,
            Err(doubt) => return doubt.outcome(outcome),
        };
        let limit = outcome.limit.unwrap_or_default();
        let around = Some((limit + interval.low, limit + interval.high));
        match of_difference(comparison, interval.low, interval.high) {
            Some(verdict) if verdict == outcome.verdict => CaseOutcome { interval: around, ..outcome },
            _ => CaseOutcome {
                verdict: Verdict::Inconclusive,
                inconclusive: Some(InconclusiveKind::Noise),
                estimate: Some(outcome.verdict),
                interval: around,
                note: Some(unresolvable.unwrap_or_else(|| open.to_owned()).into()),
                ..outcome
            },
        }
    }

    fn interval(&self, sides: Sides<'_>, shape: usize) -> Result<NoiseEstimate, Indecision> {
        let Sides { left, right, values, samples, level, .. } = sides;
        let varying = self.varying(values, samples, shape)?;
        varying.enough_rounds()?;
        let difference = |values: &[Value]| left.number(values).and_then(|l| Ok(l - right.number(values)?));
        let value = difference(values).map_err(Indecision::noise)?;
        let slopes = self.slopes(&varying, values, &difference)?;
        let rounding: f64 = varying
            .parties
            .iter()
            .zip(&slopes)
            .map(|(party, slope)| slope.abs() * party.timed.rounding(party.value))
            .sum();
        let alike = Stationarity::of(&contributions(&varying, &slopes));
        let around = |half: f64| Interval { low: value - half, high: value + half, level };
        let (mut interval, open) = if varying.has_stored() {
            let variances = self.variances_of_runs(&varying, (values, shape), &slopes, &alike, &difference)?;
            (around(half_width(&variances, level)), "noise between runs")
        } else if varying.has_command() {
            let (variances, _) = varying.between_processes(&slopes)?;
            (around(half_width(&variances, level)), "noise between processes: needs more rounds")
        } else if varying.is_of_processes() {
            let (variances, shift) = varying.between_processes(&slopes)?;
            let half = half_width(&variances, level);
            let rounds = self.of_rounds(&varying, values, (value, level, &slopes), &difference)?;
            // few dependent rounds miss the tail in every process alike, which the processes do not show
            let is_tail = varying.has_tail();
            let rounds = if is_tail { alike.widened(Estimate { value, interval: rounds }) } else { rounds };
            let (low, high) = (value + shift.min(0.0) - half, value + shift.max(0.0) + half);
            let open = if low < rounds.low || high > rounds.high {
                "noise between processes: needs more rounds"
            } else {
                "noise: needs more rounds"
            };
            (Interval { low: low.min(rounds.low), high: high.max(rounds.high), level }, open)
        } else {
            let interval = self.of_rounds(&varying, values, (value, level, &slopes), &difference)?;
            let open =
                if alike.parts.is_some() { "noise: the rounds are not stationary" } else { "noise: needs more rounds" };
            (alike.widened(Estimate { value, interval }), open)
        };
        interval.low -= rounding;
        interval.high += rounding;
        if !(interval.low.is_finite() && interval.high.is_finite()) {
            return Err(Indecision::noise("its interval is not finite"));
        }
        Ok(NoiseEstimate { interval, open })
    }

    /// The interval of kernels that went through the same rounds, as if rounds were independent: that of the bootstrap.
    /// Resamples of few rounds do not reach a tail; its interval is between order statistics.
    fn of_rounds(
        &self,
        varying: &NoisyCase<'_>,
        values: &mut [Value],
        (value, level, slopes): (f64, f64, &[f64]),
        difference: &dyn Fn(&[Value]) -> Result<f64, String>,
    ) -> Result<Interval, Indecision> {
        if varying.has_tail() && (varying.parties.len() == 1 || varying.is_of_processes()) {
            let (mut below, mut above) = (0.0_f64, 0.0_f64);
            for (party, slope) in varying.parties.iter().zip(slopes) {
                let Statistic::Quantile(q) = party.timed.timing.statistic() else {
                    return Err(Indecision::noise("a tail can be compared only with quantiles"));
                };
                let (low, high) = order_limits(&party.timed.samples, q, level).map_err(Indecision::noise)?;
                let ends = [slope * (low - party.value), slope * (high - party.value)];
                below = below.hypot(ends[0].min(ends[1]));
                above = above.hypot(ends[0].max(ends[1]));
            }
            return Ok(Interval { low: value - below, high: value + above, level });
        }
        let draws = self.bootstrapped(varying, |_| true)?;
        let differences = self.drawn(varying, values, &draws, difference).map_err(Indecision::noise)?;
        let interval = self.context.resampler.interval(&differences).map_err(Indecision::noise)?;
        Ok(interval.at_level(value, level))
    }

    /// Variances of the difference to stored runs that are independent of each other.
    fn variances_of_runs(
        &self,
        varying: &NoisyCase<'_>,
        (values, shape): (&mut [Value], usize),
        slopes: &[f64],
        alike: &Stationarity,
        difference: &dyn Fn(&[Value]) -> Result<f64, String>,
    ) -> Result<Vec<Variance>, Indecision> {
        let both = || varying.parties.iter().zip(slopes);
        if varying.has_command() {
            return Err(Indecision::missing("the noise of a command between runs is unknown".to_owned()));
        }
        let mut variances = vec![self.between_runs(both(), shape)?];
        let draws = self.bootstrapped(varying, |party| party.timed.rounds == Rounds::Own)?;
        if !draws.is_empty() {
            let differences = self.drawn(varying, values, &draws, difference).map_err(Indecision::noise)?;
            variances.push(of_draws(&differences, alike));
        }
        for (party, slope) in both().filter(|(party, _)| party.timed.rounds == Rounds::Stored) {
            let statistic = party.timed.timing.statistic();
            let draws = self.context.resampler.replicates(&party.timed.samples, statistic, Stream::Second);
            let draws = draws.map_err(|error| Indecision::noise(format_args!("the stored run has {error}")))?;
            let own = party.timed.timing.statistic().of(&party.timed.samples).map_err(Indecision::noise)?;
            let relative = party.value / own;
            variances.push(of_draws(&draws, &Stationarity::of(&party.timed.samples)).scaled(slope * relative));
        }
        Ok(variances)
    }

    /// The possible difference between unchanged runs, from calibration. It is one estimate for all operands, so its
    /// degrees of freedom do not add up.
    fn between_runs<'p>(
        &self,
        parties: impl Iterator<Item = (&'p NoisyOperand<'p>, &'p f64)>,
        shape: usize,
    ) -> Result<Variance, Indecision> {
        let shape = &self.gate.shapes[shape];
        let known = self.context.given.noise.get(shape).and_then(|noise| noise.between.as_ref());
        let between = known.ok_or_else(|| {
            let config = self.context.phase.file.display();
            Indecision::missing(format!(
                "the noise between runs is unknown at shape '{shape}': `ncugate tools calibrate {config} --runs 5` measures it"
            ))
        })?;
        let mut total = 0.0;
        for (party, slope) in parties {
            let deviation = between.of(party.timed.timing.statistic());
            let deviation = deviation.ok_or_else(|| {
                Indecision::missing(format!("the noise of tail latencies between runs is unknown at '{shape}'"))
            })?;
            total += (slope * party.value * deviation).powi(2);
        }
        Ok(Variance { value: total, freedom: f64::from(between.runs.saturating_sub(1)) })
    }

    /// Why the case cannot be decided: the limit is closer to equality than the machine's noise.
    fn unresolvable(&self, sides: &Sides<'_>, shape: usize) -> Option<String> {
        let (left, right, values) = (sides.left, sides.right, &*sides.values);
        let noise = self.context.given.noise.get(&self.gate.shapes[shape])?;
        let timed = |at: usize| {
            let timed = &sides.samples.timed[at];
            timed.own.as_ref().or(timed.other.as_ref())
        };
        let varying: Vec<(usize, &SampleSeries)> = (0..values.len()).filter_map(|at| Some((at, timed(at)?))).collect();
        let ratios = varying.iter().filter(|(at, _)| matches!(self.operands[*at], Operand::Speedup { .. })).count();
        if varying.len() + ratios < 2 {
            return None;
        }
        // the limit's distance from equality, computed with both sides equal
        let alike = values[varying.first()?.0].number()?;
        let mut equal = values.to_vec();
        for (at, _) in &varying {
            let ratio = matches!(self.operands[*at], Operand::Speedup { .. });
            equal[*at] = Value::Float(if ratio { 1.0 } else { alike });
        }
        let room = (right.number(&equal).ok()? / left.number(&equal).ok()? - 1.0).abs();
        let tail = varying.iter().any(|(_, timed)| timed.is_tail());
        let samples = varying.iter().map(|(_, timed)| timed.samples.len()).min()?;
        let noise = noise.at(if tail { Statistic::P90 } else { Statistic::MEDIAN }, samples)?;
        (room > 0.0 && room < noise).then(|| {
            let percent = |part: f64| ncugate_model::number::short((part * 1000.0).round() / 10.0);
            format!(
                "noise: a {} % limit cannot be resolved: this machine's noise is {} % at {samples} rounds",
                percent(room),
                percent(noise)
            )
        })
    }

    /// The verdict of every resample, if the samples' ranges determine it. Only for kernels of the sweep: other
    /// sources of noise have no range.
    pub(super) fn clear(&self, sides: &Sides<'_>, shape: usize) -> Option<Verdict> {
        let is_swept = |series: &SampleSeries| series.is_of_shared_rounds() && series.processes.is_none();
        if !sides.samples.all().all(is_swept) {
            return None;
        }
        let varying = self.varying(sides.values, sides.samples, shape).ok()?;
        varying.enough_rounds().ok()?;
        let range = |at: usize, part: Part| {
            let party = varying.parties.iter().find(|party| party.at == at && party.part == part);
            party.map(|party| party.timed.range(self.context, party.value))
        };
        let of_operand = |at: usize| {
            let value = sides.values[at].number()?;
            match (range(at, Part::Other), range(at, Part::Own), &self.operands[at]) {
                (over, Some(own), Operand::Speedup { .. }) => {
                    let own = own?;
                    let over = match over {
                        Some(over) => over?,
                        None => varying.parts[at].other.map(|over| (over, over))?,
                    };
                    Some((over.0 / own.1, over.1 / own.0))
                }
                (Some(range), ..) | (None, Some(range), _) => range,
                (None, None, _) => Some((value, value)),
            }
        };
        certain(sides.comparison, sides.left.range(of_operand)?, sides.right.range(of_operand)?)
    }

    /// All varying operands of a case.
    fn varying<'s>(
        &self,
        values: &[Value],
        samples: &'s CaseSamples,
        shape: usize,
    ) -> Result<NoisyCase<'s>, Indecision> {
        let (mut parties, mut parts) = (Vec::new(), Vec::new());
        for (at, timed) in samples.timed.iter().enumerate() {
            let operand = &self.operands[at];
            let mut part = Parts::of(operand, operand.fixed(shape), &values[at]);
            if let Operand::Speedup { .. } = operand {
                let median =
                    |timed: &SampleSeries| timed.timing.statistic().of(&timed.samples).map_err(Indecision::noise);
                part.own = timed.own.as_ref().map(median).transpose()?;
                part.other = timed.other.as_ref().map(median).transpose()?.or(part.other);
            }
            for (which, timed, value) in [(Part::Own, &timed.own, part.own), (Part::Other, &timed.other, part.other)] {
                if let Some(timed) = timed {
                    let value = value.ok_or_else(|| Indecision::noise("a sampled value is not a number"))?;
                    parties.push(NoisyOperand { at, part: which, timed, value });
                }
            }
            parts.push(part);
        }
        Ok(NoisyCase { parties, parts, stream: samples.redrawn() })
    }

    /// The derivative of the difference with respect to each operand's value.
    fn slopes(
        &self,
        varying: &NoisyCase<'_>,
        values: &mut [Value],
        difference: &dyn Fn(&[Value]) -> Result<f64, String>,
    ) -> Result<Vec<f64>, Indecision> {
        /// Step of the numerical derivative, relative to the value.
        const STEP: f64 = 1e-5;
        let mut slopes = Vec::with_capacity(varying.parties.len());
        for party in &varying.parties {
            let step = STEP * party.value.abs().max(f64::MIN_POSITIVE);
            let above = self.moved(varying, party, party.value + step, values, difference)?;
            let below = self.moved(varying, party, party.value - step, values, difference)?;
            slopes.push((above - below) / (2.0 * step));
        }
        Ok(slopes)
    }

    /// The difference if one operand had another value.
    fn moved(
        &self,
        varying: &NoisyCase<'_>,
        party: &NoisyOperand<'_>,
        number: f64,
        values: &mut [Value],
        difference: &dyn Fn(&[Value]) -> Result<f64, String>,
    ) -> Result<f64, Indecision> {
        let whole = varying.parts[party.at].with(party.part == Part::Own, number).whole(&self.operands[party.at]);
        let whole = whole.ok_or_else(|| Indecision::noise("it is not a number"))?;
        let before = std::mem::replace(&mut values[party.at], Value::Float(whole));
        let moved = difference(values).map_err(Indecision::noise);
        values[party.at] = before;
        moved
    }

    /// Bootstrap draws of some of the operands.
    fn bootstrapped(
        &self,
        varying: &NoisyCase<'_>,
        of: impl Fn(&NoisyOperand<'_>) -> bool,
    ) -> Result<Vec<(usize, Vec<f64>)>, Indecision> {
        let chosen = varying.parties.iter().enumerate().filter(|(_, party)| of(party));
        chosen
            .map(|(at, party)| {
                let draws = party.timed.replicates(self.context, party.value, varying.stream);
                draws.map(|draws| (at, draws)).map_err(Indecision::noise)
            })
            .collect()
    }

    /// The difference for every draw. Operands without draws keep their values; all operands are restored afterwards.
    fn drawn(
        &self,
        varying: &NoisyCase<'_>,
        values: &mut [Value],
        draws: &[(usize, Vec<f64>)],
        difference: &dyn Fn(&[Value]) -> Result<f64, String>,
    ) -> Result<Vec<f64>, String> {
        let (before, mut differences) = (values.to_vec(), Vec::new());
        for index in 0..self.context.resampler.settings().resamples {
            let mut parts = varying.parts.clone();
            for (party, drawn) in draws {
                let NoisyOperand { at, part, .. } = varying.parties[*party];
                parts[at] = parts[at].with(part == Part::Own, drawn[index]);
            }
            for (party, _) in draws {
                let at = varying.parties[*party].at;
                values[at] = Value::Float(parts[at].whole(&self.operands[at]).ok_or("it is not a number")?);
            }
            differences.push(difference(values)?);
        }
        values.clone_from_slice(&before);
        Ok(differences)
    }
}

impl NoisyCase<'_> {
    fn has_command(&self) -> bool {
        self.parties.iter().any(|party| party.timed.rounds == Rounds::Own && party.timed.program == Program::Command)
    }

    fn has_stored(&self) -> bool {
        self.parties.iter().any(|party| party.timed.rounds == Rounds::Stored)
    }

    /// Whether each operand was timed in enough processes to judge it by them.
    fn is_of_processes(&self) -> bool {
        self.parties.iter().all(|party| party.timed.process_count() >= FEWEST_PROCESSES)
    }

    /// Whether an operand is a quantile far from the median.
    fn has_tail(&self) -> bool {
        self.parties.iter().any(|party| party.timed.is_tail())
    }

    /// Checks that the rounds of a single process are enough to test whether they depend on each other.
    fn enough_rounds(&self) -> Result<(), Indecision> {
        let of_rounds = |timed: &SampleSeries| {
            timed.process_count() < FEWEST_PROCESSES && (timed.rounds == Rounds::Stored || timed.is_of_shared_rounds())
        };
        let rounds = self.parties.iter().filter(|party| of_rounds(party.timed)).map(|party| party.timed.samples.len());
        match rounds.min().filter(|rounds| *rounds < FEWEST_TESTED) {
            Some(rounds) => Err(Indecision::noise(format_args!(
                "{} in one process cannot show whether rounds depend on each other; set `[bench] rounds` to at least {FEWEST_TESTED}",
                ncugate_model::number::counted(rounds, "round")
            ))),
            None => Ok(()),
        }
    }

    /// Variances of the difference between processes that are independent of each other, and the distance of the mean
    /// over processes from the value of all samples. Kernels are paired: they shared each process.
    fn between_processes(&self, slopes: &[f64]) -> Result<(Vec<Variance>, f64), Indecision> {
        let (mut kernels, mut apart): (Option<Vec<f64>>, Vec<Vec<f64>>) = (None, Vec::new());
        for (party, slope) in self.parties.iter().zip(slopes) {
            let values = party.timed.of_processes(party.value).ok_or_else(|| {
                let processes = ncugate_model::number::counted(party.timed.process_count(), "process");
                Indecision::uncompared(format!(
                    "one side was timed in {processes}: the noise between processes needs at least {FEWEST_PROCESSES}"
                ))
            })?;
            let shifts = values.iter().map(|value| slope * (value - party.value));
            match &mut kernels {
                _ if party.timed.program == Program::Command => apart.push(shifts.collect()),
                None => kernels = Some(shifts.collect()),
                Some(sums) if sums.len() == values.len() => {
                    sums.iter_mut().zip(shifts).for_each(|(sum, by)| *sum += by)
                }
                Some(_) => return Err(Indecision::uncompared("the sides did not share their processes".to_owned())),
            }
        }
        let all = || kernels.iter().chain(&apart);
        // the tail of few rounds is too short, in each process alike
        let is_median = !self.has_tail();
        let shift = all().map(|shifts| shifts.iter().sum::<f64>() / shifts.len() as f64).sum::<f64>();
        Ok((all().filter_map(|shifts| Variance::of_mean(shifts)).collect(), if is_median { shift } else { 0.0 }))
    }
}

/// Variance of a statistic from its draws, with the effective number of rounds as degrees of freedom.
fn of_draws(draws: &[f64], alike: &Stationarity) -> Variance {
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    let value = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let (least, greatest) = alike.parts.unwrap_or((0.0, 0.0));
    let parts = ((greatest - least) / 2.0).powi(2);
    let freedom = (alike.effective_rounds() - 1.0).max(1.0);
    Variance { value: value * alike.inflation().powi(2) + parts, freedom }
}

/// The contribution of each round to the difference, for kernels that took part in it: samples times slopes.
fn contributions(varying: &NoisyCase<'_>, slopes: &[f64]) -> Vec<f64> {
    let kernels = || varying.parties.iter().zip(slopes).filter(|(party, _)| party.timed.is_of_shared_rounds());
    let rounds = kernels().map(|(party, _)| party.timed.samples.len()).min().unwrap_or(0);
    let sample = |timed: &SampleSeries, value: f64, median: f64, round: usize| match timed.timing {
        Timing::Statistic(_) => timed.samples[round],
        Timing::Rate => value * median / timed.samples[round],
    };
    let mut sums = vec![0.0; rounds];
    for (party, slope) in kernels() {
        let median = Statistic::MEDIAN.of(&party.timed.samples).unwrap_or(f64::NAN);
        sums.iter_mut()
            .enumerate()
            .for_each(|(round, sum)| *sum += slope * sample(party.timed, party.value, median, round));
    }
    sums
}

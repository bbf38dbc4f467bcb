//! Runs with a known truth, judged by the real gates: a sweep, the cases that it leaves to confirm, and up to three looks
//! of a confirmation in several processes.

use jiff::civil::date;
use ncugate_judge::{Context, Correctness, judge, to_confirm, unresolved};
use ncugate_model::quantities::{FreshSamples, Program, Sampling};
use ncugate_model::stats::{Resampling, Statistic, looks};
use ncugate_model::{Cell, Quantities, ShapeName, VariantId, Verdict};
use ncugate_phase::config::{Phase, parse};
use ncugate_phase::plan::{Plan, unroll};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const BASE: &str = concat!(
    include_str!("../../../../tests/data/copy.toml"),
    "[sweep]\nTHREADS = [64]\n[[baseline]]\nname = \"base\"\nparams = { THREADS = 128 }\n"
);
/// Microseconds of a launch of the baseline; limits in microseconds are relative to it.
pub const LATENCY: f64 = 10.0;

/// How the rounds of one process follow one another, on each side separately unless said otherwise.
#[derive(Debug, Clone, Copy)]
pub enum Series {
    Independent,
    /// An autoregressive process of order one.
    Ar(f64),
    /// All kernels of a process slow down by this much from its first round to its last.
    Drift(f64),
    /// Two clocks: three in ten modes are this much slower, and a mode lasts this many rounds on average.
    Modes {
        slower: f64,
        rounds: f64,
    },
}

/// Noise of a kernel, relative.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    /// Standard deviation of rounds within a process.
    pub rounds: f64,
    /// Standard deviation between processes, of each kernel separately.
    pub processes: f64,
    pub series: Series,
}

impl Noise {
    /// Latencies around 1 of one kernel in one process.
    fn process(&self, source: &mut Source, rounds: usize) -> Vec<f64> {
        let level = (self.processes * source.gauss()).exp();
        let (mut at, mut slow, mut left) = (source.gauss(), false, 0.0);
        let sample = |round: usize| {
            let shift = match self.series {
                Series::Independent => {
                    at = source.gauss();
                    1.0
                }
                Series::Ar(rho) => {
                    at = rho * at + (1.0 - rho * rho).sqrt() * source.gauss();
                    1.0
                }
                Series::Drift(by) => {
                    at = source.gauss();
                    1.0 + by * round as f64 / rounds as f64
                }
                Series::Modes { slower, rounds } => {
                    at = source.gauss();
                    if left <= 0.0 {
                        slow = source.uniform() < 0.3;
                        left = -rounds * (1.0 - source.uniform()).ln();
                    }
                    left -= 1.0;
                    if slow { 1.0 + slower } else { 1.0 }
                }
            };
            level * shift * (self.rounds * at).exp()
        };
        (0..rounds).map(sample).collect()
    }

    /// A statistic over many processes.
    fn truth(&self, statistic: Statistic) -> f64 {
        let mut source = Source::new(u64::MAX);
        let all: Vec<f64> = (0..20_000).flat_map(|_| self.process(&mut source, 12)).collect();
        statistic.of(&all).unwrap_or(f64::NAN)
    }
}

/// A requirement, its scope, and the number of candidates. `{p50}` and `{p90}` stand for the true values of a candidate,
/// `{p50x}` and `{p90x}` for those over the baseline's.
pub type SimulatedGate = (&'static str, &'static str, usize);

pub const P50: SimulatedGate = ("latency_p50 <= {p50}", "selected", 1);
pub const P90: SimulatedGate = ("latency_p90 <= {p90}", "selected", 1);
pub const SPEEDUP: SimulatedGate = ("speedup(\"base\") >= 1 / {p50x}", "selected", 1);
pub const ANY_8: SimulatedGate = ("latency_p50 <= {p50}", "any", 8);
pub const EITHER: SimulatedGate = ("latency_p50 <= {p50} or latency_p90 <= {p90}", "selected", 1);

/// Noise of 1 % between rounds and 0.3 % between processes.
pub const fn noise(series: Series) -> Noise {
    Noise { rounds: 0.01, processes: 0.003, series }
}

pub mod series {
    use super::Series;

    pub const INDEPENDENT: Series = Series::Independent;
    pub const AR_5: Series = Series::Ar(0.5);
    pub const AR_9: Series = Series::Ar(0.9);
    pub const DRIFT: Series = Series::Drift(0.02);
    pub const MODES: Series = Series::Modes { slower: 0.03, rounds: 20.0 };
}

/// A phase with a gate over candidates that are all equally fast.
pub struct Simulation {
    phase: Phase,
    plan: Plan,
    candidate: Noise,
    baseline: Noise,
    /// The candidates' latency over the baseline's, before noise.
    level: f64,
}

impl Simulation {
    /// Candidates that are slower than the limit by `excess`, relative. The baseline has independent rounds.
    pub fn new((requirement, on, candidates): SimulatedGate, noise: Noise, excess: f64) -> Self {
        let baseline = match noise.series {
            Series::Drift(_) => noise,
            Series::Independent | Series::Ar(_) | Series::Modes { .. } => {
                Noise { series: Series::Independent, ..noise }
            }
        };
        let (p50, p90) = (noise.truth(Statistic::MEDIAN), noise.truth(Statistic::P90));
        let ratios = [p50 / baseline.truth(Statistic::MEDIAN), p90 / baseline.truth(Statistic::P90)];
        let mut require = requirement.to_owned();
        for (name, limit) in
            [("{p50}", LATENCY * p50), ("{p90}", LATENCY * p90), ("{p50x}", ratios[0]), ("{p90x}", ratios[1])]
        {
            require = require.replace(name, &limit.to_string());
        }
        let text = format!("{BASE}[[gate]]\nname = \"g\"\nrequire = '{require}'\non = \"{on}\"\n");
        let phase = parse(Path::new("simulated.toml"), &text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let mut plan = unroll(&phase).unwrap_or_else(|e| panic!("{e:?}"));
        let candidate = plan.variants.remove(0);
        plan.variants.extend((0..candidates).map(|at| {
            let mut variant = candidate.clone();
            variant.id = VariantId(format!("v{at}").into());
            variant
        }));
        Self { phase, plan, candidate: noise, baseline, level: LATENCY * (1.0 + excess) }
    }

    /// Percent of trials that pass, are inconclusive and fail.
    pub fn verdicts(&self, trials: u64) -> [f64; 3] {
        let of = |seed: u64| match self.trial(seed) {
            Verdict::Pass => [1, 0, 0],
            Verdict::Inconclusive => [0, 1, 0],
            Verdict::Fail => [0, 0, 1],
        };
        let add = |a: [u64; 3], b: [u64; 3]| std::array::from_fn(|at| a[at] + b[at]);
        (0..trials).into_par_iter().map(of).reduce(|| [0; 3], add).map(|n| 100.0 * n as f64 / trials as f64)
    }

    /// The gate's verdict after the last look.
    fn trial(&self, seed: u64) -> Verdict {
        let mut source = Source::new(seed);
        let mut context = Context::assuming_latencies(None, date(2026, 6, 15));
        context.resampling = Resampling { seed: source.rng.next_u64(), ..Resampling::default() };
        let shape = &self.phase.workload.shapes[0].name;
        let proven = Correctness::Proven { cases: 1, max_abs: 0.0 };
        let correctness = self.plan.variants.iter().map(|v| (v.id.clone(), proven.clone())).collect();
        let bench = &self.phase.bench;
        let swept: Vec<Vec<f64>> =
            self.plan.variants.iter().map(|v| self.process(&mut source, &v.id, bench.rounds as usize)).collect();
        let judged = |fresh: &BTreeMap<VariantId, (Vec<f64>, Vec<u32>)>| {
            judge(&self.phase, &self.plan, &self.quantities(shape, &swept, fresh), &correctness, &context)
        };
        let mut fresh = BTreeMap::new();
        let mut judgement = judged(&fresh);
        let mut chosen = to_confirm(&self.phase, &judgement, &[]);
        let mut have = 0;
        for rounds in looks(bench.rounds, bench.max_rounds) {
            if chosen.is_empty() {
                break;
            }
            for at in 0..bench.processes {
                let more = (rounds - have) / bench.processes + u32::from(at < (rounds - have) % bench.processes);
                for (variant, _) in &chosen {
                    let (samples, processes) = fresh.entry(variant.clone()).or_default();
                    samples.extend(self.process(&mut source, variant, more as usize));
                    processes.push(more);
                }
            }
            have = rounds;
            judgement = judged(&fresh);
            let open = unresolved(&self.phase, &judgement, &[]);
            chosen.retain(|case| open.contains(case));
        }
        judgement.gates[0].verdict
    }

    /// Samples of a variant in one process, in microseconds.
    fn process(&self, source: &mut Source, variant: &VariantId, rounds: usize) -> Vec<f64> {
        let (noise, level) = match &*variant.0 == "base" {
            true => (&self.baseline, LATENCY),
            false => (&self.candidate, self.level),
        };
        noise.process(source, rounds).into_iter().map(|sample| level * sample).collect()
    }

    fn quantities(
        &self,
        shape: &ShapeName,
        swept: &[Vec<f64>],
        fresh: &BTreeMap<VariantId, (Vec<f64>, Vec<u32>)>,
    ) -> Quantities {
        let mut table = Quantities::new(self.plan.variants.iter().map(|v| (v.id.clone(), shape.clone())));
        for (metric, statistic) in [("latency_p50", Statistic::MEDIAN), ("latency_p90", Statistic::P90)] {
            let cell = |samples: &Vec<f64>| {
                statistic.of(samples).map_or_else(|e| Cell::Missing(e.to_string().into()), Cell::Value)
            };
            table.set_column(metric, swept.iter().map(cell).collect());
        }
        for (row, (samples, variant)) in swept.iter().zip(&self.plan.variants).enumerate() {
            let fresh = fresh.get(&variant.id).map(|(samples, processes)| FreshSamples {
                samples: Ok(samples.as_slice().into()),
                launches: 1000,
                processes: processes.as_slice().into(),
                throttle: None,
            });
            let sampling = Sampling { program: Program::Kernel, launches: 1000, throttle: None, fresh, code: None };
            table.set_samples(row, Arc::from(samples.as_slice()));
            table.set_sampling(row, sampling);
        }
        table
    }
}

/// Random numbers of a trial.
pub struct Source {
    pub rng: ChaCha8Rng,
}

impl Source {
    pub fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    pub fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn gauss(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

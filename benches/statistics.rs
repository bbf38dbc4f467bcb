//! How well intervals and gates do on data whose truth is known: coverage, false alarms, detections, and time.
//!
//! ```text
//! cargo bench --bench statistics
//! ```

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use ncugate::stats::{Interval, Pairing, Resampler, Resampling, Statistic, compare};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use std::time::Instant;

const TRIALS: u64 = 4000;
/// True ratio of the two medians.
const RATIO: f64 = 0.97;
const NOISE: f64 = 0.01;
/// True changes that a gate is asked about.
const CHANGES: [f64; 5] = [0.0, 0.01, 0.02, 0.03, 0.05];

/// A pair of samples whose quantiles have this ratio.
type Draw = fn(&mut Source, f64, usize) -> (Vec<f64>, Vec<f64>);

fn main() {
    let rows: [(&str, Draw); 5] =
        [("normal", normal), ("log-normal", log_normal), ("bimodal", bimodal), ("drift", drift), ("walk", walk)];
    println!("Coverage of the 95 % interval of a ratio of {RATIO}, {TRIALS} trials, 2000 resamples");
    println!("| data | rounds | median, paired | median, independent | p90, paired |");
    println!("| --- | --- | --- | --- | --- |");
    for rounds in [10, 20, 30, 60, 120] {
        for (name, draw) in rows {
            let [paired, apart, p90] = coverage(draw, rounds).map(|percent| format!("{percent:.1} %"));
            let p90 = if rounds < Statistic::P90.fewest(0.95) { "too few".to_owned() } else { p90 };
            println!("| {name} | {rounds} | {paired} | {apart} | {p90} |");
        }
    }
    println!();
    println!("Gate `latency_p50 <= 1.02 * baseline.latency_p50` at {:.0} % noise, {TRIALS} trials", 100.0 * NOISE);
    println!("| true change | rounds | pass | inconclusive | fail |");
    println!("| --- | --- | --- | --- | --- |");
    let row = |change: f64, rounds: &str, [pass, open, fail]: [f64; 3]| {
        println!("| {:+.0} % | {rounds} | {pass:.2} % | {open:.2} % | {fail:.2} % |", 100.0 * change);
    };
    for (name, draw) in [("", normal as Draw), (", drift", drift)] {
        for rounds in [30, 60] {
            for change in CHANGES {
                row(change, &format!("{rounds}{name}"), verdicts(draw, 1.0 + change, rounds));
            }
        }
        for change in CHANGES {
            row(change, &format!("60, 120, 240{name}"), settled(draw, 1.0 + change));
        }
    }
    println!();
    time();
}

/// Percent of trials whose interval holds the truth.
fn coverage(draw: Draw, rounds: usize) -> [f64; 3] {
    let counts = trials(|source| {
        let (a, b) = draw(source, RATIO, rounds);
        let resampler = resampler(source);
        let held = |interval: Interval| usize::from(interval.low <= RATIO && RATIO <= interval.high);
        let paired = compare(&a, &b, Pairing::Rounds, &resampler).unwrap();
        let apart = compare(&a, &b, Pairing::Independent, &resampler).unwrap();
        let p90 = paired.p90_ratio.map_or(0, |e| held(e.interval));
        [held(paired.median_ratio.interval), held(apart.median_ratio.interval), p90]
    });
    counts.map(|n| 100.0 * n as f64 / TRIALS as f64)
}

/// Percent of trials that pass, are inconclusive, fail.
fn verdicts(draw: Draw, truth: f64, rounds: usize) -> [f64; 3] {
    let counts = trials(|source| {
        let (a, b) = draw(source, truth, rounds);
        judged(source, &a, &b)
    });
    counts.map(|n| 100.0 * n as f64 / TRIALS as f64)
}

/// The same where what 60 rounds leave open is judged again after 120, and after 240.
fn settled(draw: Draw, truth: f64) -> [f64; 3] {
    let counts = trials(|source| {
        let (a, b) = draw(source, truth, 240);
        let looks = [60, 120, 240].map(|rounds| judged(source, &a[..rounds], &b[..rounds]));
        looks.into_iter().find(|[_, open, _]| *open == 0).unwrap_or([0, 1, 0])
    });
    counts.map(|n| 100.0 * n as f64 / TRIALS as f64)
}

/// Whether it passes, is inconclusive, fails.
fn judged(source: &mut Source, a: &[f64], b: &[f64]) -> [usize; 3] {
    let interval = compare(a, b, Pairing::Rounds, &resampler(source)).unwrap().median_ratio.interval;
    let (pass, fail) = (interval.high <= 1.02, interval.low > 1.02);
    [usize::from(pass), usize::from(!pass && !fail), usize::from(fail)]
}

/// 100 gates, each with its own pair of samples, as a judgement does them: draws are made once.
fn time() {
    let mut source = Source::new(1);
    let pairs: Vec<_> = (0..100).map(|_| normal(&mut source, RATIO, 60)).collect();
    let mut seconds: Vec<f64> = (0..7)
        .map(|_| {
            let start = Instant::now();
            let resampler = Resampler::default();
            let widths: f64 = pairs
                .par_iter()
                .map(|(a, b)| {
                    let a = resampler.replicates(a, Statistic::MEDIAN, ncugate::stats::Stream::Shared).unwrap();
                    let b = resampler.replicates(b, Statistic::MEDIAN, ncugate::stats::Stream::Shared).unwrap();
                    let ratio: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a / b).collect();
                    resampler.interval(&ratio).unwrap().resolution()
                })
                .sum();
            assert!(widths > 0.0);
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let threads = rayon::current_num_threads();
    println!("100 gates x 60 samples x 2000 resamples: {:.1} ms on {threads} threads", 1000.0 * seconds[3]);
}

/// Sums what each trial counts; a trial's data depends on its number alone.
fn trials(trial: impl Fn(&mut Source) -> [usize; 3] + Sync) -> [usize; 3] {
    let add = |a: [usize; 3], b: [usize; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
    (0..TRIALS).into_par_iter().map(|n| trial(&mut Source::new(n))).reduce(|| [0; 3], add)
}

/// New draws for every trial, so that coverage does not hang on one set of them.
fn resampler(source: &mut Source) -> Resampler {
    Resampler::new(Resampling { seed: source.rng.next_u64(), ..Resampling::default() })
}

struct Source {
    rng: ChaCha8Rng,
}

impl Source {
    fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn gauss(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn pair(
    source: &mut Source,
    ratio: f64,
    rounds: usize,
    mut noise: impl FnMut(&mut Source) -> f64,
) -> (Vec<f64>, Vec<f64>) {
    (0..rounds).map(|_| (10.0 * ratio * noise(source), 10.0 * noise(source))).unzip()
}

fn normal(source: &mut Source, ratio: f64, rounds: usize) -> (Vec<f64>, Vec<f64>) {
    pair(source, ratio, rounds, |s| 1.0 + NOISE * s.gauss())
}

/// A long tail to the right: the spread is 5 %.
fn log_normal(source: &mut Source, ratio: f64, rounds: usize) -> (Vec<f64>, Vec<f64>) {
    pair(source, ratio, rounds, |s| (0.05 * s.gauss()).exp())
}

/// Seven of ten samples in one mode, three in another that is 5 % slower.
fn bimodal(source: &mut Source, ratio: f64, rounds: usize) -> (Vec<f64>, Vec<f64>) {
    pair(source, ratio, rounds, |s| if s.uniform() < 0.7 { 1.0 } else { 1.05 } * (1.0 + NOISE * s.gauss()))
}

/// Both slow down by 5 % from the first to the last round, as a chip that warms up does.
fn drift(source: &mut Source, ratio: f64, rounds: usize) -> (Vec<f64>, Vec<f64>) {
    let pair = normal(source, ratio, rounds);
    slowed(pair, |round| 1.0 + 0.05 * round as f64 / rounds as f64)
}

/// Both wander together, by 0.3 % a round.
fn walk(source: &mut Source, ratio: f64, rounds: usize) -> (Vec<f64>, Vec<f64>) {
    let pair = normal(source, ratio, rounds);
    let mut at = 1.0;
    let levels: Vec<f64> = std::iter::repeat_with(|| {
        at *= 1.0 + 0.003 * source.gauss();
        at
    })
    .take(rounds)
    .collect();
    slowed(pair, |round| levels[round])
}

/// Both sides times what a round costs them in common.
fn slowed((a, b): (Vec<f64>, Vec<f64>), level: impl Fn(usize) -> f64) -> (Vec<f64>, Vec<f64>) {
    let slow = |side: Vec<f64>| side.into_iter().enumerate().map(|(round, v)| v * level(round)).collect();
    (slow(a), slow(b))
}

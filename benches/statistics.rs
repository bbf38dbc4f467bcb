//! Quality of intervals and gates on data with a known truth: coverage, false alarms, detections, and time.
//!
//! ```text
//! cargo bench --bench statistics
//! ```

#![allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use ncugate_model::stats::{
    Estimate, Interval, Pairing, Resampler, Resampling, Stationarity, Statistic, Variance, compare, half_step,
    half_width, median,
};
use rand_chacha::rand_core::Rng;
use rayon::prelude::*;
use simulation::{ANY_8, EITHER, Noise, P50, P90, SPEEDUP, SimulatedGate, Simulation, Source, noise, series};
use std::time::Instant;

#[path = "../crates/ncugate-judge/tests/calibration/simulation.rs"]
mod simulation;

const TRIALS: u64 = 1000;
/// True ratio of the two medians.
const RATIO: f64 = 0.97;
const NOISE: f64 = 0.01;
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
    calibration();
    println!();
    unlike();
    println!();
    processes();
    println!();
    time();
}

/// Percent of trials whose interval contains the true ratio.
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

/// Verdicts of the real gates on candidates exactly at the limit, and the excess that they find.
fn calibration() {
    let gates: [(&str, SimulatedGate); 10] = [
        ("p50", P50),
        ("p90", P90),
        ("speedup", SPEEDUP),
        ("p90 over p90", ("latency_p90 <= {p90x} * base.latency_p90", "selected", 1)),
        ("p50, fastest of 90", ("latency_p50 <= {p50}", "selected", 90)),
        ("p50, any of 8", ANY_8),
        ("p50, any of 20", ("latency_p50 <= {p50}", "any", 20)),
        ("p50, any of 90", ("latency_p50 <= {p50}", "any", 90)),
        ("p50 and speedup", ("latency_p50 <= {p50} and speedup(\"base\") >= 1 / {p50x}", "selected", 1)),
        ("p50 or p90", EITHER),
    ];
    let kinds = [
        ("one process as all", Noise { processes: 0.0, ..noise(series::INDEPENDENT) }),
        ("independent", noise(series::INDEPENDENT)),
        ("AR(1) 0.5", noise(series::AR_5)),
        ("AR(1) 0.9", noise(series::AR_9)),
        ("drift of 2 %", noise(series::DRIFT)),
        ("two clocks", noise(series::MODES)),
    ];
    println!(
        "Gates over three looks of five processes, 1 % noise between rounds, 0.3 % between processes: at the limit, and"
    );
    println!("the smallest excess that fails in 80 % of trials");
    println!("| gate | noise | trials | pass | inconclusive | fail | found |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (name, gate) in gates {
        for (kind, noise) in kinds {
            // the work of a trial grows with the candidates
            let trials = (2 * TRIALS / gate.2 as u64).max(100);
            let of = |excess: f64, trials: u64| Simulation::new(gate, noise, excess).verdicts(trials);
            let [pass, open, fail] = of(0.0, trials);
            let found = [0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05]
                .into_iter()
                .find(|excess| of(*excess, 100)[2] >= 80.0);
            let found = found.map_or_else(|| "above 5 %".to_owned(), |excess| format!("{} %", 100.0 * excess));
            println!("| {name} | {kind} | {trials} | {pass:.1} | {open:.1} | {fail:.1} | {found} |");
        }
    }
}

/// The interval of the ratio of medians as gates compute it: paired, and widened if the rounds are not stationary.
fn interval(a: &[f64], b: &[f64], resampling: Resampling) -> Interval {
    let estimate: Estimate = compare(a, b, Pairing::Rounds, &Resampler::new(resampling)).unwrap().median_ratio;
    let (own, other) = (median(a).unwrap(), median(b).unwrap());
    let rounds: Vec<f64> = a.iter().zip(b).map(|(x, y)| x / other - own * y / (other * other)).collect();
    let wide = Stationarity::of(&rounds).widened(estimate);
    let step = (half_step(a, 1) + own / other * half_step(b, 1)) / other;
    Interval { low: wide.low - step, high: wide.high + step, ..wide }
}

/// Kinds of noise in the series of rounds of one variant, one side of a pair.
const SERIES: [&str; 9] = [
    "independent",
    "heavy tails",
    "spikes",
    "AR(1) 0.3",
    "AR(1) 0.5",
    "AR(1) 0.7",
    "AR(1) 0.9",
    "modes of 10",
    "modes of 30",
];

/// Coverage on non-stationary rounds, with and without the stationarity check, and on samples of a coarse clock.
fn unlike() {
    println!(
        "Coverage of the 95 % interval of a ratio of medians where one side is not independent from round to round"
    );
    println!("| one side | rounds | as if independent | as gates have it | wider by |");
    println!("| --- | --- | --- | --- | --- |");
    for rounds in [60, 240] {
        for name in SERIES {
            let truth = median(&series(&mut Source::new(1 << 40), name, 300_000)).unwrap();
            let counts: [f64; 4] = sums(FEWER, |source| {
                let (a, b) = (series(source, name, rounds), series(source, "independent", rounds));
                let resampling = Resampling { seed: source.rng.next_u64(), ..Resampling::default() };
                let bare = compare(&a, &b, Pairing::Rounds, &Resampler::new(resampling)).unwrap().median_ratio.interval;
                let wide = interval(&a, &b, resampling);
                let held = |interval: Interval| f64::from(u8::from(interval.low <= truth && truth <= interval.high));
                [held(bare), held(wide), bare.resolution(), wide.resolution()]
            });
            let [bare, wide] = [counts[0], counts[1]].map(|n| 100.0 * n / FEWER as f64);
            println!("| {name} | {rounds} | {bare:.1} % | {wide:.1} % | {:.2} |", counts[3] / counts[2]);
        }
    }
    for noise in [0.0001, 0.00003] {
        let counts: [f64; 2] = sums(FEWER, |source| {
            let mut side = |us: f64| -> Vec<f64> {
                (0..60).map(|_| (us * (1.0 + noise * source.gauss()) / TICK).round() * TICK).collect()
            };
            // a sample of one 200 us launch whose true length lies anywhere between two ticks
            let (a, b) = (side(200.0 + TICK * 0.37), side(200.0));
            let truth = (200.0 + TICK * 0.37) / 200.0;
            let resampling = Resampling { seed: source.rng.next_u64(), ..Resampling::default() };
            let bare = compare(&a, &b, Pairing::Rounds, &Resampler::new(resampling)).unwrap().median_ratio.interval;
            let wide = interval(&a, &b, resampling);
            let held = |interval: Interval| f64::from(u8::from(interval.low <= truth && truth <= interval.high));
            [held(bare), held(wide)]
        });
        let [bare, wide] = counts.map(|n| 100.0 * n / FEWER as f64);
        println!("| ticks of 32 ns, {} % noise | 60 | {bare:.1} % | {wide:.1} % | |", 100.0 * noise);
    }
}

/// Step of the clock in microseconds.
const TICK: f64 = 0.032;
/// Trials of slow experiments.
const FEWER: u64 = 1000;

/// Comparisons whose sides come from different processes or runs.
fn processes() {
    println!(
        "Coverage of the 95 % interval of a difference, sides timed in processes that differ by 0.9 %, 0.3 % noise"
    );
    println!("| comparison | as one process | by processes | by calibration of 5 runs |");
    println!("| --- | --- | --- | --- |");
    for count in [3, 5, 10] {
        let counts: [f64; 2] = sums(4 * FEWER, |source| {
            let (a, b) = (sides(source, count), sides(source, count));
            let bare = compare(&a.concat(), &b.concat(), Pairing::Independent, &resampler(source)).unwrap();
            let held = bare.median_difference.interval.low <= 0.0 && 0.0 <= bare.median_difference.interval.high;
            let medians = |side: &[Vec<f64>]| -> Vec<f64> { side.iter().map(|s| median(s).unwrap()).collect() };
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let (a, b) = (medians(&a), medians(&b));
            let half = half_width(&[Variance::of_mean(&a).unwrap(), Variance::of_mean(&b).unwrap()], 0.95);
            [held, (mean(&a) - mean(&b)).abs() <= half].map(|held| f64::from(u8::from(held)))
        });
        let [bare, wide] = counts.map(|n| 100.0 * n / (4 * FEWER) as f64);
        println!("| {count} processes a side | {bare:.1} % | {wide:.1} % | |");
    }
    let counts: [f64; 2] = sums(4 * FEWER, |source| {
        let (a, b) = (sides(source, 1).concat(), sides(source, 1).concat());
        let bare = compare(&a, &b, Pairing::Independent, &resampler(source)).unwrap().median_difference;
        let runs: Vec<f64> = sides(source, 5).iter().map(|run| median(run).unwrap()).collect();
        // the variance of one run on either side, not of the mean of five runs
        let between = Variance::of_mean(&runs).unwrap().scaled((2.0_f64 * 5.0).sqrt());
        let half = half_width(&[between], 0.95);
        [bare.interval.low <= 0.0 && 0.0 <= bare.interval.high, bare.value.abs() <= half]
            .map(|held| f64::from(u8::from(held)))
    });
    let [bare, wide] = counts.map(|n| 100.0 * n / (4 * FEWER) as f64);
    println!("| two runs | {bare:.1} % | | {wide:.1} % |");
}

/// 60 samples in total, from `count` processes.
fn sides(source: &mut Source, count: usize) -> Vec<Vec<f64>> {
    let side = |source: &mut Source| {
        let level = 10.0 * (1.0 + 0.009 * source.gauss());
        (0..60 / count).map(|_| level * (1.0 + 0.003 * source.gauss())).collect()
    };
    (0..count).map(|_| side(source)).collect()
}

/// Sums the results of all trials.
fn sums<const N: usize>(count: u64, trial: impl Fn(&mut Source) -> [f64; N] + Sync) -> [f64; N] {
    let add = |a: [f64; N], b: [f64; N]| std::array::from_fn(|at| a[at] + b[at]);
    (0..count).into_par_iter().map(|n| trial(&mut Source::new(n))).reduce(|| [0.0; N], add)
}

/// Samples around 1 with 1 % noise of the named kind.
fn series(source: &mut Source, name: &str, rounds: usize) -> Vec<f64> {
    let (mut at, mut slow, mut left) = (source.gauss(), false, 0.0);
    let mut sample = |source: &mut Source| match name {
        "independent" => 1.0 + NOISE * source.gauss(),
        "heavy tails" => (0.05 * source.gauss()).exp(),
        "spikes" => 1.0 + NOISE * source.gauss() + if source.uniform() < 0.05 { 0.2 } else { 0.0 },
        _ => match name.split_at(name.rfind(' ').unwrap_or(0)) {
            ("AR(1)", rho) => {
                let rho: f64 = rho.trim().parse().unwrap();
                at = rho * at + (1.0 - rho * rho).sqrt() * source.gauss();
                1.0 + NOISE * at
            }
            (_, length) => {
                // modes with this average length in rounds; three in ten are 2 % slower
                if left <= 0.0 {
                    slow = source.uniform() < 0.3;
                    left = -length.trim().parse::<f64>().unwrap() * (1.0 - source.uniform()).ln();
                }
                left -= 1.0;
                (if slow { 1.02 } else { 1.0 }) * (1.0 + 0.5 * NOISE * source.gauss())
            }
        },
    };
    (0..rounds).map(|_| sample(source)).collect()
}

/// 100 gates, each with its own pair of samples and shared draws, as in a judgement.
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
                    let a = resampler.replicates(a, Statistic::MEDIAN, ncugate_model::stats::Stream::Shared).unwrap();
                    let b = resampler.replicates(b, Statistic::MEDIAN, ncugate_model::stats::Stream::Shared).unwrap();
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

/// Sums the counts of all trials. The data of a trial depends only on its number.
fn trials(trial: impl Fn(&mut Source) -> [usize; 3] + Sync) -> [usize; 3] {
    let add = |a: [usize; 3], b: [usize; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
    (0..TRIALS).into_par_iter().map(|n| trial(&mut Source::new(n))).reduce(|| [0; 3], add)
}

/// New draws for every trial, so that coverage does not depend on one set of draws.
fn resampler(source: &mut Source) -> Resampler {
    Resampler::new(Resampling { seed: source.rng.next_u64(), ..Resampling::default() })
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

/// A long right tail with a spread of 5 %.
fn log_normal(source: &mut Source, ratio: f64, rounds: usize) -> (Vec<f64>, Vec<f64>) {
    pair(source, ratio, rounds, |s| (0.05 * s.gauss()).exp())
}

/// Seven of ten samples in one mode, the other three in a mode that is 5 % slower.
fn bimodal(source: &mut Source, ratio: f64, rounds: usize) -> (Vec<f64>, Vec<f64>) {
    pair(source, ratio, rounds, |s| if s.uniform() < 0.7 { 1.0 } else { 1.05 } * (1.0 + NOISE * s.gauss()))
}

/// Both sides slow down by 5 % from the first to the last round, like a chip that warms up.
fn drift(source: &mut Source, ratio: f64, rounds: usize) -> (Vec<f64>, Vec<f64>) {
    let pair = normal(source, ratio, rounds);
    slowed(pair, |round| 1.0 + 0.05 * round as f64 / rounds as f64)
}

/// Both sides follow the same random walk with steps of 0.3 % a round.
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

/// Multiplies both sides by the common slowdown of each round.
fn slowed((a, b): (Vec<f64>, Vec<f64>), level: impl Fn(usize) -> f64) -> (Vec<f64>, Vec<f64>) {
    let slow = |side: Vec<f64>| side.into_iter().enumerate().map(|(round, v)| v * level(round)).collect();
    (slow(a), slow(b))
}

//! Verdicts of latency gates on runs with a known truth, at fixed seeds. `cargo bench --bench statistics` has the whole
//! table.

#![allow(clippy::panic)]

mod simulation;

use simulation::{ANY_8, EITHER, Noise, P50, P90, SPEEDUP, SimulatedGate, Simulation, noise, series};

const TRIALS: u64 = 100;

/// Percent of passes and of fails of candidates exactly at the limit.
fn at_the_limit(gate: SimulatedGate, noise: Noise) -> (f64, f64) {
    let [pass, _, fail] = Simulation::new(gate, noise, 0.0).verdicts(TRIALS);
    (pass, fail)
}

#[test]
fn verdicts_at_the_limit_are_rare_though_processes_differ() {
    // Of 100 trials more than 7 are a false pass with a probability of 1 % if 3 % are.
    for (gate, series) in [
        (P50, series::INDEPENDENT),
        (P50, series::AR_9),
        (P90, series::INDEPENDENT),
        (P90, series::AR_5),
        (SPEEDUP, series::DRIFT),
        (SPEEDUP, series::MODES),
        (ANY_8, series::INDEPENDENT),
        (EITHER, series::INDEPENDENT),
    ] {
        let (pass, fail) = at_the_limit(gate, noise(series));
        assert!(pass <= 7.0 && fail <= 7.0, "{gate:?} {series:?}: {pass} % pass, {fail} % fail");
    }
}

#[test]
fn changes_beyond_the_noise_are_found() {
    for gate in [P50, SPEEDUP] {
        let of = |excess: f64| Simulation::new(gate, noise(series::INDEPENDENT), excess).verdicts(TRIALS);
        let ([pass, ..], [.., fail]) = (of(-0.02), of(0.02));
        assert!(pass >= 80.0 && fail >= 80.0, "{gate:?}: {pass} % pass, {fail} % fail");
    }
}

//! Validity of latency samples.

/// Maximum samples of a variant at a shape.
pub const MOST_SAMPLES: usize = 10_000;
/// Microseconds per day: no timed launch takes longer.
const DAY_US: f64 = 86_400e6;
/// Microseconds of the shortest possible launch: a nanosecond is one or two cycles of any chip.
const SHORTEST_US: f64 = 1e-3;

/// Why these microseconds cannot be times of launches.
pub fn unsound_samples(samples: &[f64]) -> Option<String> {
    let is_time = |us: f64| us.is_finite() && (SHORTEST_US..DAY_US).contains(&us);
    match samples.iter().find(|us| !is_time(**us)) {
        _ if samples.is_empty() => Some("it has no samples".to_owned()),
        _ if samples.len() > MOST_SAMPLES => {
            Some(format!("it has {} samples; at most {MOST_SAMPLES} are allowed", samples.len()))
        }
        Some(us) => Some(format!("a sample of {us} us is not a latency; it must be between 0.001 us and a day")),
        None => None,
    }
}

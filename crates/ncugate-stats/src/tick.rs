//! The resolution of the clock behind the samples.

/// Resolution of CUDA event times in microseconds, if samples do not show it: differences of events on an H200 are
/// multiples of it. CUDA itself promises about half a microsecond.
pub const EVENT_TICK_US: f64 = 0.032;

/// Half the resolution of samples with `launches` launches each, in microseconds: the largest rounding error of each
/// sample.
///
/// Derived from the samples: two different samples are at least a step apart. If all samples are equal, it is
/// [`EVENT_TICK_US`] divided by the launches.
pub fn half_step(samples: &[f64], launches: u32) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let known = EVENT_TICK_US / f64::from(launches.max(1));
    // a rounding error of sums and divisions is not a step
    let real = |step: &f64| *step > 1e-3 * known;
    let step = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(real).reduce(f64::min);
    step.unwrap_or(known) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_read_off_the_samples_or_is_the_clocks() {
        let samples: Vec<f64> = [310, 312, 311, 311, 315].map(|ticks| f64::from(ticks) * 0.032 / 8.0).to_vec();
        assert!((half_step(&samples, 8) - 0.002).abs() < 1e-9);
        assert!((half_step(&[1.0; 60], 8) - 0.002).abs() < 1e-12);
        assert!((half_step(&[], 1) - 0.016).abs() < 1e-12);
    }
}

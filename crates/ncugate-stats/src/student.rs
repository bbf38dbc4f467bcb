//! Quantiles of Student's t, and the interval of a sum of independent estimates.

/// An estimate's variance and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variance {
    /// In the square of the estimate's unit.
    pub value: f64,
    /// Degrees of freedom of the estimate; infinite if the variance is known.
    pub freedom: f64,
}

impl Variance {
    /// The variance of the mean of these values, one per process; `None` for fewer than two.
    pub fn of_mean(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (values.len() > 1).then(|| Self { value: squares / (n - 1.0) / n, freedom: n - 1.0 })
    }

    /// Multiplied by the square of a factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor * factor, ..self }
    }
}

/// Half the width of the interval of a sum of independent estimates with these variances.
///
/// The degrees of freedom are those of B. L. Welch, "The generalization of 'Student's' problem when several different
/// population variances are involved", Biometrika 34, 1947, and F. E. Satterthwaite, Biometrics Bulletin 2, 1946.
pub fn half_width(variances: &[Variance], level: f64) -> f64 {
    let total: f64 = variances.iter().map(|v| v.value).sum();
    let weights: f64 = variances.iter().map(|v| v.value * v.value / v.freedom).sum();
    let freedom = if weights > 0.0 { total * total / weights } else { f64::INFINITY };
    if total > 0.0 { total.sqrt() * t_quantile(level, freedom) } else { 0.0 }
}

/// The bound that Student's t with `freedom` degrees of freedom stays within, on both sides, with probability
/// `level`; infinite for less than one degree.
///
/// Algorithm 396 of G. W. Hill, "Student's t-quantiles", Communications of the ACM 13, 1970; six digits from 2
/// degrees on.
pub fn t_quantile(level: f64, freedom: f64) -> f64 {
    use std::f64::consts::FRAC_PI_2;
    let (p, n) = (1.0 - level, freedom);
    if n.is_nan() || n < 1.0 {
        return f64::INFINITY;
    }
    if n < 2.0 {
        // The Cauchy quantile, an upper bound in this range.
        return 1.0 / (p * FRAC_PI_2).tan();
    }
    if n == 2.0 {
        return (2.0 / (p * (2.0 - p)) - 2.0).sqrt();
    }
    if n > 1e9 {
        return normal_quantile(1.0 - p / 2.0);
    }
    let a = 1.0 / (n - 0.5);
    let b = 48.0 / (a * a);
    let mut c = ((20_700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
    let d = ((94.5 / (b + c) - 3.0) / b + 1.0) * (a * FRAC_PI_2).sqrt() * n;
    let mut y = (d * p).powf(2.0 / n);
    if y > 0.05 + a {
        let x = -normal_quantile(1.0 - p / 2.0);
        y = x * x;
        if n < 5.0 {
            c += 0.3 * (n - 4.5) * (x + 0.6);
        }
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b;
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
        y = (a * y * y).exp_m1();
    } else {
        y = ((1.0 / (((n + 6.0) / (n * y) - 0.089 * d - 0.822) * (n + 2.0) * 3.0) + 0.5 / (n + 4.0)) * y - 1.0)
            * (n + 1.0)
            / (n + 2.0)
            + 1.0 / y;
    }
    (n * y).sqrt()
}

/// Quantile of the standard normal distribution, for probabilities from 0.5 up: the rational approximation 26.2.23 of M.
/// Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 1964, refined by two steps of Newton's method.
pub fn normal_quantile(probability: f64) -> f64 {
    let tail = (1.0 - probability).clamp(1e-12, 0.5);
    let t = (-2.0 * tail.ln()).sqrt();
    let mut z =
        t - (2.515_517 + t * (0.802_853 + t * 0.010_328)) / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    for _ in 0..2 {
        let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
        z += (upper_tail(z) - tail) / density;
    }
    z
}

/// Probability of more than `z` standard deviations.
fn upper_tail(z: f64) -> f64 {
    libm::erfc(z / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let near = |found: f64, known: f64| assert!((found / known - 1.0).abs() < 1e-4, "{found} {known}");
        for (freedom, known) in [(1.0, 12.7062), (2.0, 4.302_65), (3.0, 3.182_45), (4.0, 2.776_45), (8.0, 2.306_00)] {
            near(t_quantile(0.95, freedom), known);
        }
        near(t_quantile(0.95, 29.0), 2.045_23);
        near(t_quantile(0.99, 4.0), 4.604_09);
        near(t_quantile(0.95, f64::INFINITY), 1.959_96);
        near(normal_quantile(0.995), 2.575_83);
        assert_eq!(t_quantile(0.95, 0.5), f64::INFINITY);
        assert_eq!(t_quantile(0.95, f64::NAN), f64::INFINITY);
    }

    #[test]
    fn few_processes_make_a_wide_interval() {
        let five = Variance::of_mean(&[10.0, 10.1, 9.9, 10.2, 9.8]).unwrap_or(Variance { value: 0.0, freedom: 1.0 });
        assert!((five.value - 0.005).abs() < 1e-12 && five.freedom == 4.0, "{five:?}");
        assert!((half_width(&[five], 0.95) - 2.776_45 * 0.005_f64.sqrt()).abs() < 1e-4);
        // Two with the same variance have eight degrees together.
        assert!((half_width(&[five, five], 0.95) - 2.306 * 0.01_f64.sqrt()).abs() < 1e-4);
        assert_eq!(Variance::of_mean(&[1.0]), None);
        assert_eq!(half_width(&[], 0.95), 0.0);
    }
}

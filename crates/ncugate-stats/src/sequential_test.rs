//! The error budget of each look at a growing sample.
//!
//! Judging again after more rounds gives noise another chance, so all looks use the same stricter level, chosen so
//! that together they err as often as a single look would: the group sequential test of S. J. Pocock, "Group
//! sequential methods in the design and analysis of clinical trials", Biometrika 64, 1977. Its constants are for
//! looks at equal steps; here samples double from look to look, and the constants are those of the same test at such
//! looks, computed by the recursive integration of P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated
//! significance tests on accumulating data", Journal of the Royal Statistical Society A 132, 1969.

/// Two-sided error per look, by number of looks (from 1), that keeps the total error at 5 % if samples double from
/// look to look.
const ERROR_OF_A_LOOK: [f64; 8] = [0.05, 0.02938, 0.02079, 0.01602, 0.01299, 0.01089, 0.00936, 0.00819];

/// Samples at each look: `rounds`, then twice as many each time, up to `most`.
pub fn looks(rounds: u32, most: u32) -> Vec<u32> {
    let mut looks = vec![rounds.max(1)];
    while let Some(&last) = looks.last().filter(|last| **last < most) {
        looks.push(last.saturating_mul(2).min(most));
    }
    looks
}

/// The level of the interval at each of `looks` looks that gives 95 % over all of them.
pub fn level_of_a_look(looks: usize) -> f64 {
    match looks {
        0 => 1.0 - ERROR_OF_A_LOOK[0],
        // Beyond the table, the Bonferroni bound, which is stricter.
        n => 1.0 - ERROR_OF_A_LOOK.get(n - 1).copied().unwrap_or(0.05 / n as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_up_to_the_budget() {
        assert_eq!(looks(60, 240), [60, 120, 240]);
        assert_eq!(looks(30, 100), [30, 60, 100]);
        assert_eq!(looks(300, 240), [300]);
        assert_eq!(looks(0, 1), [1]);
    }

    #[test]
    fn more_looks_are_each_stricter_and_never_more_than_bonferroni() {
        let levels: Vec<f64> = (1..=12).map(level_of_a_look).collect();
        assert_eq!(levels[0], 0.95);
        assert!(levels.windows(2).all(|pair| pair[1] > pair[0]), "{levels:?}");
        assert!(levels.iter().zip(1..).all(|(level, n)| *level <= 1.0 - 0.05 / f64::from(n) + 1e-12), "{levels:?}");
    }
}

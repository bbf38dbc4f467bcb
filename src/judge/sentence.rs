//! Verdicts in words.

use crate::expr::Comparison;
use crate::number;

/// `at least 20 %`
pub fn demand(comparison: Comparison, limit: f64, unit: &str) -> String {
    let limit = number::said(limit, unit);
    match comparison {
        Comparison::Less => format!("less than {limit}"),
        Comparison::LessOrEqual => format!("at most {limit}"),
        Comparison::Greater => format!("more than {limit}"),
        Comparison::GreaterOrEqual => format!("at least {limit}"),
        Comparison::Equal => format!("exactly {limit}"),
        Comparison::NotEqual => format!("anything but {limit}"),
    }
}

/// `short by 1.73`, `over by 19.45 µs`, `short by 12.5 pp`
pub fn shortfall(comparison: Comparison, margin: f64, unit: &str) -> String {
    let by = number::distance(margin.abs(), unit);
    match comparison {
        Comparison::Less | Comparison::LessOrEqual => format!("over by {by}"),
        Comparison::Greater | Comparison::GreaterOrEqual => format!("short by {by}"),
        Comparison::Equal => format!("off by {by}"),
        Comparison::NotEqual => "it is exactly that".to_owned(),
    }
}

/// `1 variant`, `90 variants`
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_and_shortfalls_name_their_unit() {
        assert_eq!(demand(Comparison::LessOrEqual, 10.207, "us"), "at most 10.21 µs");
        assert_eq!(demand(Comparison::GreaterOrEqual, 2.0, "warp"), "at least 2");
        assert_eq!(shortfall(Comparison::LessOrEqual, -19.376, "us"), "over by 19.38 µs");
        assert_eq!(shortfall(Comparison::GreaterOrEqual, -7.53, "%"), "short by 7.53 pp");
        assert_eq!(shortfall(Comparison::Equal, -5.0, "inst"), "off by 5");
        assert_eq!(shortfall(Comparison::GreaterOrEqual, -0.1, "x"), "short by 0.1×");
    }
}

//! Numbers and verdicts in words.

use super::rule::Comparison;

/// A number for people: up to five significant digits, no trailing zeros, never in a form that hides its size.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:.3e}");
    }
    if value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    let decimals = (4 - size.log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A number with its unit, if it has one.
pub fn quantity(value: f64, unit: &str) -> String {
    if unit.is_empty() { number(value) } else { format!("{} {unit}", number(value)) }
}

/// `at least 2`
pub fn demand(comparison: Comparison, limit: f64) -> String {
    let limit = number(limit);
    match comparison {
        Comparison::Less => format!("less than {limit}"),
        Comparison::LessOrEqual => format!("at most {limit}"),
        Comparison::Greater => format!("more than {limit}"),
        Comparison::GreaterOrEqual => format!("at least {limit}"),
        Comparison::Equal => format!("exactly {limit}"),
        Comparison::NotEqual => format!("anything but {limit}"),
    }
}

/// `short by 1.73`
pub fn shortfall(comparison: Comparison, margin: f64) -> String {
    let by = number(margin.abs());
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
    fn numbers_are_short_and_keep_their_size() {
        for (value, text) in [
            (0.27, "0.27"),
            (2.0 - 0.27, "1.73"),
            (64.0, "64"),
            (33.333_333, "33.333"),
            (123_456.7, "123457"),
            (0.000_012, "1.200e-5"),
            (-6.0, "-6"),
            (0.1 + 0.2, "0.3"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(quantity(24.22, "us"), "24.22 us");
    }
}

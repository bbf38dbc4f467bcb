//! Values and units as ncu prints them, converted to base units.

use std::borrow::Cow;

use crate::value::MetricValue;

/// A printed value with its printed unit, in the base unit.
pub(super) fn base_value(text: &str, unit: &str) -> (MetricValue<'static>, Cow<'static, str>) {
    let (exponent, base) = scale(unit);
    (parse_value(text, exponent), base)
}

/// Reads a printed value and shifts its decimal point by `exponent` places. Text that is not a number stays text.
fn parse_value(text: &str, exponent: i32) -> MetricValue<'static> {
    let trimmed = text.trim();
    let plain = if has_thousands_separators(trimmed) { trimmed.replace(',', "") } else { trimmed.to_owned() };
    match plain.to_ascii_lowercase().as_str() {
        "" | "n/a" | "no data" => return MetricValue::Missing,
        "nan" | "-nan" => return MetricValue::Double(f64::NAN),
        "inf" => return MetricValue::Double(f64::INFINITY),
        "-inf" => return MetricValue::Double(f64::NEG_INFINITY),
        _ => {}
    }
    let digits = plain.strip_prefix('-').unwrap_or(&plain);
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return MetricValue::String(Cow::Owned(text.to_owned()));
    }
    if exponent == 0 {
        if let Ok(value) = plain.parse() {
            return MetricValue::U64(value);
        }
        return plain.parse().map_or_else(|_| MetricValue::String(Cow::Owned(text.to_owned())), MetricValue::Double);
    }
    // Shifting the point in the text keeps the number correctly rounded; multiplying would round twice.
    let shifted =
        format!("{plain}e{exponent}").parse().or_else(|_| plain.parse::<f64>().map(|v| v * 10_f64.powi(exponent)));
    shifted.map_or_else(|_| MetricValue::String(Cow::Owned(text.to_owned())), MetricValue::Double)
}

/// Whether the commas are thousands separators: `1,606,912` and `-12,345.6`, not `1, 2`.
fn has_thousands_separators(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let is_number = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let mut rest = groups.peekable();
    rest.peek().is_some()
        && first.len() <= 3
        && is_number(first)
        && rest.all(|group| group.len() == 3 && is_number(group))
}

/// The decimal exponent of a printed unit relative to its base unit, and the base unit: `Mbyte/s` gives 6 and `byte/s`.
fn scale(unit: &str) -> (i32, Cow<'static, str>) {
    let (above, below) = match unit.split_once('/') {
        Some((above, below)) => (above, Some(below)),
        None => (unit, None),
    };
    let (mut exponent, above) = scale_above(above);
    let below = below.map(|below| match below {
        "ns" | "us" | "ms" => {
            exponent -= time_exponent(below) - 9;
            "s"
        }
        "s" => "s",
        // ncu shifts the number as if the prefix were above the fraction line: it prints 2,632 %/byte as 2.632 %/Kbyte.
        other => {
            let (shift, base) = scale_above(other);
            exponent += shift;
            base
        }
    });
    if below == Some("s") && above == "cycle" {
        return (exponent, Cow::Borrowed("hz"));
    }
    let base = match below {
        Some(below) => format!("{above}/{below}"),
        None => above.to_owned(),
    };
    (exponent, Cow::Owned(base))
}

/// Decimal exponent of a unit of time above one nanosecond.
fn time_exponent(unit: &str) -> i32 {
    match unit {
        "us" => 3,
        "ms" => 6,
        "s" => 9,
        _ => 0,
    }
}

/// The same for the unit above the fraction line.
fn scale_above(unit: &str) -> (i32, &str) {
    if matches!(unit, "ns" | "us" | "ms" | "s") {
        return (time_exponent(unit), "ns");
    }
    let prefixes = [("K", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15)];
    for (prefix, exponent) in prefixes {
        if let Some(base) = unit.strip_prefix(prefix)
            && base.starts_with(|first: char| first.is_ascii_lowercase())
        {
            return (exponent, base);
        }
    }
    (0, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_ncu_prints_them() {
        assert_eq!(parse_value("2,147,483,647", 0), MetricValue::U64(2_147_483_647));
        assert_eq!(parse_value("-1,234.5", 0), MetricValue::Double(-1234.5));
        assert_eq!(parse_value("INF", 0), MetricValue::Double(f64::INFINITY));
        assert_eq!(parse_value("18446744073709551615", 0), MetricValue::U64(u64::MAX));
        assert_eq!(parse_value("1, 2", 0), MetricValue::String("1, 2".into()));
        assert_eq!(parse_value("NVIDIA H200", 0), MetricValue::String("NVIDIA H200".into()));
        assert_eq!(parse_value("infinite", 0), MetricValue::String("infinite".into()));
    }

    #[test]
    fn scaled_units_have_a_base() {
        let cases = [
            ("Kbyte/block", 3, "byte/block"),
            ("Gbyte/s", 9, "byte/s"),
            ("Mhz", 6, "hz"),
            ("us", 3, "ns"),
            ("sector/ns", 9, "sector/s"),
            ("cycle/ns", 9, "hz"),
            ("byte/s", 0, "byte/s"),
            ("%/Kbyte", 3, "%/byte"),
            ("Kbyte/cycle", 3, "byte/cycle"),
            ("SM", 0, "SM"),
            ("%", 0, "%"),
            ("", 0, ""),
        ];
        for (unit, exponent, base) in cases {
            assert_eq!(scale(unit), (exponent, Cow::Borrowed(base)), "{unit}");
        }
    }
}

//! Values and units as ncu prints them, converted to base units.

use std::borrow::Cow;

use super::numbers::NumberForm;
use crate::unit::{is_counted, unit_of};
use crate::value::MetricValue;

/// A printed value of a metric with its printed unit, in the base unit.
///
/// A number whose unit is not understood keeps that unit, unless the metric's base unit is known: consumers would take
/// the number to be in the base unit.
///
/// # Errors
/// The base unit of the metric is known, and the number or its unit is not understood.
pub(super) fn base_value(
    metric: &str,
    text: &str,
    unit: &str,
    form: NumberForm,
) -> Result<(MetricValue<'static>, Cow<'static, str>), UnreadablePart> {
    let known = unit_of(metric);
    let lost_unit = |base: &str| base.is_empty() && (known.starts_with("byte") || known == "hz");
    let is_known = |base: &str| known.is_empty() || (base == "ns") == (known == "ns") && !lost_unit(base);
    let (scale, is_understood) = match scale(unit) {
        Some(scale) => (scale.clone(), is_known(&scale.1)),
        None => ((0, Cow::Owned(unit.to_owned())), known.is_empty()),
    };
    let value = parse_value(text, scale.0, form);
    match &value {
        MetricValue::String(text) if !known.is_empty() && text.starts_with(|first: char| first.is_ascii_digit()) => {
            Err(UnreadablePart::Number)
        }
        MetricValue::String(_) | MetricValue::Missing => Ok((value, scale.1)),
        _ if is_understood => Ok((value, scale.1)),
        _ => Err(UnreadablePart::Unit { base: known }),
    }
}

/// The part of a metric that is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnreadablePart {
    Number,
    Unit {
        /// The base unit of the metric.
        base: &'static str,
    },
}

/// The value of a cell without those of its instances, which follow in parentheses with `--print-metric-instances`.
pub(super) fn aggregate(text: &str) -> &str {
    let text = text.trim();
    text.strip_suffix(')').and_then(|text| text.split_once(" (")).map_or(text, |(first, _)| first)
}

/// Reads a printed value and shifts its decimal point by `exponent` places. Text that is not a number stays text.
fn parse_value(text: &str, exponent: i32, form: NumberForm) -> MetricValue<'static> {
    let trimmed = text.trim();
    match trimmed.to_ascii_lowercase().as_str() {
        "" | "n/a" | "no data" => return MetricValue::Missing,
        "nan" | "-nan" => return MetricValue::Double(f64::NAN),
        "inf" => return MetricValue::Double(f64::INFINITY),
        "-inf" => return MetricValue::Double(f64::NEG_INFINITY),
        _ => {}
    }
    let Some(plain) = form.plain(aggregate(trimmed)) else {
        return MetricValue::String(Cow::Owned(text.to_owned()));
    };
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

/// The decimal exponent of a printed unit relative to its base unit, and the base unit: `Mbyte/s` gives 6 and `byte/s`.
/// `None` if the unit has a word that is not known.
fn scale(unit: &str) -> Option<(i32, Cow<'static, str>)> {
    if unit.is_empty() {
        return Some((0, Cow::Borrowed("")));
    }
    let (above, below) = match unit.split_once('/') {
        Some((above, below)) => (above, Some(below)),
        None => (unit, None),
    };
    let (mut exponent, above) = scale_above(above)?;
    let below = match below.map(|below| (below, time_exponent(below))) {
        None => None,
        Some((_, Some(time))) => {
            exponent -= time - 9;
            Some("s")
        }
        // ncu shifts the number as if the prefix were above the fraction line: it prints 2,632 %/byte as 2.632 %/Kbyte.
        Some((other, None)) => {
            let (shift, base) = scale_above(other)?;
            exponent += shift;
            Some(base)
        }
    };
    if below == Some("s") && above == "cycle" {
        return Some((exponent, Cow::Borrowed("hz")));
    }
    let base = match below {
        Some(below) => format!("{above}/{below}"),
        None => above.to_owned(),
    };
    Some((exponent, Cow::Owned(base)))
}

/// Decimal exponent of a unit of time above one nanosecond. Older versions of ncu spell units of time out.
fn time_exponent(unit: &str) -> Option<i32> {
    match unit {
        "ns" | "nsecond" => Some(0),
        "us" | "usecond" => Some(3),
        "ms" | "msecond" => Some(6),
        "s" | "second" => Some(9),
        _ => None,
    }
}

/// The same for the unit above the fraction line.
fn scale_above(unit: &str) -> Option<(i32, &str)> {
    if let Some(exponent) = time_exponent(unit) {
        return Some((exponent, "ns"));
    }
    if is_counted(unit) {
        return Some((0, unit));
    }
    let prefixes = [("K", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15)];
    prefixes.iter().find_map(|(prefix, exponent)| {
        let base = unit.strip_prefix(prefix)?;
        is_counted(base).then_some((*exponent, base))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH: NumberForm = NumberForm::ENGLISH;

    #[test]
    fn values_as_ncu_prints_them() {
        let parse_value = |text: &str, exponent| parse_value(text, exponent, ENGLISH);
        assert_eq!(parse_value("2,147,483,647", 0), MetricValue::U64(2_147_483_647));
        assert_eq!(parse_value("-1,234.5", 0), MetricValue::Double(-1234.5));
        assert_eq!(parse_value("INF", 0), MetricValue::Double(f64::INFINITY));
        assert_eq!(parse_value("18446744073709551615", 0), MetricValue::U64(u64::MAX));
        assert_eq!(parse_value("1, 2", 0), MetricValue::String("1, 2".into()));
        assert_eq!(parse_value("NVIDIA H200", 0), MetricValue::String("NVIDIA H200".into()));
        assert_eq!(parse_value("infinite", 0), MetricValue::String("infinite".into()));
        assert_eq!(parse_value("1,536 (512; 1,024)", 0), MetricValue::U64(1536));
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
            // Older versions of ncu.
            ("nsecond", 0, "ns"),
            ("usecond", 3, "ns"),
            ("msecond", 6, "ns"),
            ("second", 9, "ns"),
            ("cycle/nsecond", 9, "hz"),
            ("cycle/usecond", 6, "hz"),
            ("cycle/second", 0, "hz"),
            ("byte/second", 0, "byte/s"),
            ("Kbyte/second", 3, "byte/s"),
            ("Mbyte/second", 6, "byte/s"),
            ("Gbyte/second", 9, "byte/s"),
            ("Tbyte/second", 12, "byte/s"),
            ("inst/cycle", 0, "inst/cycle"),
            ("register/thread", 0, "register/thread"),
            ("block", 0, "block"),
        ];
        for (unit, exponent, base) in cases {
            assert_eq!(scale(unit), Some((exponent, Cow::Borrowed(base))), "{unit}");
        }
        for unit in ["fortnight", "Kfortnight", "byte/fortnight", "xsecond", "kbyte", "byte/s/s", "/"] {
            assert_eq!(scale(unit), None, "{unit}");
        }
    }

    #[test]
    fn every_unit_of_the_table_is_its_own_base() {
        for unit in crate::unit::units() {
            assert_eq!(scale(unit), Some((0, Cow::Borrowed(unit))), "{unit}");
        }
    }

    #[test]
    fn a_unit_that_is_not_understood_gives_no_value_of_a_known_metric() {
        let read = |metric: &str, text: &str, unit: &str| base_value(metric, text, unit, ENGLISH);
        assert_eq!(read("gpu__time_duration.sum", "41.28", "fortnight"), Err(UnreadablePart::Unit { base: "ns" }));
        assert_eq!(read("gpu__time_duration.sum", "41.28", "Gbyte"), Err(UnreadablePart::Unit { base: "ns" }));
        assert_eq!(read("gpu__time_duration.sum", "41.28", ""), Err(UnreadablePart::Unit { base: "ns" }));
        assert_eq!(read("dram__bytes.sum", "41.28", "us"), Err(UnreadablePart::Unit { base: "byte" }));
        assert_eq!(read("dram__bytes.sum", "8.390.144", "byte"), Err(UnreadablePart::Number));
        assert_eq!(read("dram__bytes.sum", "1.20", ""), Err(UnreadablePart::Unit { base: "byte" }));
        assert_eq!(read("dram__bytes.sum", "n/a", "fortnight"), Ok((MetricValue::Missing, "fortnight".into())));
        assert_eq!(read("Duration", "2", "fortnight"), Ok((MetricValue::U64(2), "fortnight".into())));
        assert_eq!(read("Duration", "41.28", "usecond"), Ok((MetricValue::Double(41280.0), "ns".into())));
        // A metric with another countable unit in another version of ncu.
        assert_eq!(read("dram__bytes.sum", "2", "Ksector"), Ok((MetricValue::Double(2000.0), "sector".into())));
    }
}

//! Numbers as text: digits, separators, units.
//!
//! Values keep their full precision in the model; this module chooses the digits, separators and units of their text.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A value with its text for readers; programs receive only the value.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// The value in the unit it was measured in.
    pub value: f64,
    /// The value as text for a column whose head names the unit.
    pub text: String,
}

impl Number {
    /// A number with the text of [`plain`].
    pub fn new(value: f64) -> Self {
        Self { value, text: plain(value) }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::new)
    }
}

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        f64::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        f64::json_schema(generator)
    }
}

/// Significant digits of a single number.
const DIGITS: i32 = 3;
/// Most digits of a limit that a person wrote.
const MOST_WRITTEN: i32 = 4;
/// Maximum digits for distinguishing two numbers; a double has no more.
const MOST_DIGITS: i32 = 15;

/// Three significant digits, thousands separated, whole numbers kept whole.
pub fn plain(value: f64) -> String {
    rounded(value, DIGITS)
}

/// A measured number and its limit, with as many digits as the limit has and enough to differ.
fn apart(measured: f64, limit: f64) -> (String, String) {
    let with = |digits| (rounded(measured, digits), rounded(limit, digits));
    let differ = |(a, b): &(String, String)| trimmed(a.clone()) != trimmed(b.clone());
    let found = (digits_of(limit)..=MOST_DIGITS).map(with).find(|pair| measured == limit || differ(pair));
    found.unwrap_or_else(|| with(MOST_DIGITS))
}

/// Digits of a limit that a person wrote, such as 33.19; a computed one has [`DIGITS`].
fn digits_of(limit: f64) -> i32 {
    let is_whole = |digits: &i32| format!("{limit:.*e}", (digits - 1) as usize).parse() == Ok(limit);
    (DIGITS..=MOST_WRITTEN).find(is_whole).unwrap_or(DIGITS)
}

/// A number with `digits` significant digits, thousands separated, whole numbers kept whole.
fn rounded(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e15).contains(&magnitude) {
        return format!("{value:.*e}", (digits - 1) as usize);
    }
    if value.fract() == 0.0 {
        return separated(&format!("{value:.0}"));
    }
    // 9.996 has two digits more than the 10.0 that it rounds to
    let carried = magnitude * (1.0 + 0.5 * 10.0_f64.powi(-digits));
    let decimals = (digits - 1 - carried.log10().floor() as i32).clamp(0, 4 + digits) as usize;
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", separated(whole)),
        None => separated(&text),
    }
}

/// A measured value and its limit with their units, with enough digits to differ: `29.651 µs` and `29.65 µs`.
pub fn measured_and_limit(measured: f64, limit: f64, unit: &str) -> (String, String) {
    beside_as(measured, limit, unit, |number| number)
}

/// The same for a sentence, without trailing zeros.
pub fn said_beside(measured: f64, limit: f64, unit: &str) -> (String, String) {
    beside_as(measured, limit, unit, trimmed)
}

fn beside_as(measured: f64, limit: f64, unit: &str, written: fn(String) -> String) -> (String, String) {
    let (ours, theirs) = (scaled(measured, unit), scaled(limit, unit));
    let (measured, limit) = match ours.1 == theirs.1 {
        true => apart(ours.0, theirs.0),
        false => (plain(ours.0), rounded(theirs.0, digits_of(theirs.0))),
    };
    (joined(written(measured), ours.1), joined(trimmed(limit), theirs.1))
}

/// A number and its unit: `2×`, `12 µs`, `3`.
fn joined(number: String, unit: &str) -> String {
    match unit {
        "" => number,
        "×" => number + "×",
        unit => format!("{number} {unit}"),
    }
}

/// A number for an axis: in millions from 1e6 on, in billions from 1e9 on (`15 G`).
pub fn multiple(value: f64) -> String {
    match value.abs() {
        size if size >= 1e9 => format!("{} G", short(value / 1e9)),
        size if size >= 1e6 => format!("{} M", short(value / 1e6)),
        _ => short(value),
    }
}

/// A value with its unit, in its most readable multiple (`48 KiB`, `12.3 µs`, `61.2 %`).
pub fn with_unit(value: f64, unit: &str) -> String {
    let (value, unit) = scaled(value, unit);
    joined(plain(value), unit)
}

/// A measured value next to its limit: `96 registers/thread against 64 registers/thread`.
pub fn against(measured: f64, limit: f64, unit: &str) -> String {
    related(measured, " against ", limit, unit)
}

/// The same with another relation between them: `12.3 µs <= 14 µs`.
pub fn related(measured: f64, relation: &str, limit: f64, unit: &str) -> String {
    let (measured, limit) = measured_and_limit(measured, limit, unit);
    let noun = |number: &str| match counted_unit(unit) {
        Some((one, many)) => format!(" {}", if number == "1" { one } else { many }),
        None => String::new(),
    };
    format!("{measured}{}{relation}{limit}{}", noun(&measured), noun(&limit))
}

/// A difference with its unit, for a sentence; percentages differ by percentage points (`13 pp`).
pub fn distance(value: f64, unit: &str) -> String {
    match self::unit(unit) {
        "%" => format!("{} pp", short(value)),
        _ => in_sentence(value, unit),
    }
}

/// A difference with its sign: `+0.12 µs`.
pub fn signed(difference: f64, unit: &str) -> String {
    let sign = if difference > 0.0 { "+" } else { "" };
    format!("{sign}{}", distance(difference, unit))
}

/// [`plain`] without trailing zeros: `0.27`, not `0.270`.
pub fn short(value: f64) -> String {
    trimmed(plain(value))
}

/// A limit with its unit, in the digits that a person wrote: `33.19 µs`.
pub fn limit(value: f64, unit: &str) -> String {
    let (value, unit) = scaled(value, unit);
    joined(trimmed(rounded(value, digits_of(value))), unit)
}

/// A value with its unit for a sentence: `1.1×`, not `1.10×`.
pub fn in_sentence(value: f64, unit: &str) -> String {
    let (value, unit) = scaled(value, unit);
    joined(short(value), unit)
}

/// The largest number of two digits that is not larger than a positive value: 1.9e-4 for 1.97e-4. Other values stay.
pub fn rounded_down(value: f64) -> f64 {
    if !(value.is_finite() && value > 0.0) {
        return value;
    }
    let parsed = |text: String| text.parse::<f64>().unwrap_or(value);
    let near = parsed(format!("{value:.1e}"));
    if near <= value {
        return near;
    }
    // The nearest is one unit of the second digit above.
    let unit = 10_f64.powi(value.log10().floor() as i32 - 1);
    parsed(format!("{:.1e}", near - unit))
}

/// A decimal without trailing zeros.
fn trimmed(text: String) -> String {
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A share in percent with one decimal: `12.3 %`, `0.0 %`; a positive share that rounds to 0 is `< 0.1 %`.
pub fn share(percent: f64) -> String {
    match percent {
        tiny if tiny > 0.0 && tiny < 0.05 => "< 0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// A change in percent with its sign: `+3.2 %`; a factor from tenfold on: `154×`.
pub fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if !percent.is_finite() {
        return "n/a".to_owned();
    }
    if ratio >= 10.0 {
        return format!("{}×", short(ratio));
    }
    let decimals = if percent.abs() < 100.0 { 1 } else { 0 };
    let text = format!("{percent:+.decimals$}");
    if text.trim_matches(['+', '-', '0', '.']).is_empty() { "0.0 %".to_owned() } else { format!("{text} %") }
}

/// The change of a value: percentage points if its unit is percent, the difference if it starts at zero or changes
/// sign, else [`change`].
pub fn changed(before: f64, after: f64, unit: &str) -> String {
    let difference = after - before;
    if !difference.is_finite() {
        return "n/a".to_owned();
    }
    let points = self::unit(unit) == "%";
    if before == after {
        return if points { "0 pp" } else { "0.0 %" }.to_owned();
    }
    if !points && before != 0.0 && before * after >= 0.0 {
        return change(after / before);
    }
    let sign = if difference > 0.0 { "+" } else { "" };
    format!("{sign}{}", distance(difference, unit))
}

/// A unit for readers, next to a metric's title: `us` becomes `µs`; units of counts are empty, because the title names them.
pub fn unit(name: &str) -> &str {
    match name {
        "us" => "µs",
        "pct" | "percent" => "%",
        "x" => "×",
        "byte" | "bytes" | "byte/block" | "byte/thread" => "B",
        "byte/s" => "B/s",
        "cycle" => "cycles",
        other if counted_unit(other).is_some() => "",
        other => other,
    }
}

/// Singular and plural of a unit that counts things.
fn counted_unit(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "register/thread" => ("register/thread", "registers/thread"),
        "warp" => ("warp", "warps"),
        "block" => ("block", "blocks"),
        "thread" => ("thread", "threads"),
        "thread/block" => ("thread/block", "threads/block"),
        "inst" => ("instruction", "instructions"),
        "sector" => ("sector", "sectors"),
        _ => return None,
    })
}

/// Seconds as `3.24 s`, `12.1 s` or `2 min 5 s`.
pub fn seconds(value: f64) -> String {
    if value < 0.01 {
        return "under 0.01 s".to_owned();
    }
    if value < 60.0 {
        return format!("{value:.*} s", if value < 10.0 { 2 } else { 1 });
    }
    let whole = value.round() as u64;
    format!("{} min {} s", whole / 60, whole % 60)
}

/// An age in the largest unit that fits: `3 days ago`.
pub fn age(seconds: i64) -> String {
    let (count, name) = match seconds.max(0) {
        0..60 => return "just now".to_owned(),
        s @ 60..3_600 => (s / 60, "minute"),
        s @ 3_600..86_400 => (s / 3_600, "hour"),
        s => (s / 86_400, "day"),
    };
    format!("{} ago", counted(count as usize, name))
}

/// `1 gate`, `7 gates`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = match count {
        1 => "",
        _ if noun.ends_with("ch") || noun.ends_with("ss") => "es",
        _ => "s",
    };
    format!("{} {noun}{plural}", separated(&count.to_string()))
}

fn scaled(value: f64, name: &str) -> (f64, &str) {
    let magnitude = value.abs();
    match name {
        "B" | "bytes" | "byte" | "byte/block" | "byte/thread" if magnitude >= 1_073_741_824.0 => {
            (value / 1_073_741_824.0, "GiB")
        }
        "B" | "bytes" | "byte" | "byte/block" | "byte/thread" if magnitude >= 1_048_576.0 => {
            (value / 1_048_576.0, "MiB")
        }
        "B" | "bytes" | "byte" | "byte/block" | "byte/thread" if magnitude >= 1024.0 => (value / 1024.0, "KiB"),
        "B" | "bytes" | "byte" | "byte/block" | "byte/thread" => (value, "B"),
        "us" if magnitude >= 1e6 => (value / 1e6, "s"),
        "us" if magnitude >= 1e4 => (value / 1e3, "ms"),
        "ns" if magnitude >= 1e9 => (value / 1e9, "s"),
        "ns" if magnitude >= 1e6 => (value / 1e6, "ms"),
        "ns" if magnitude >= 1e3 => (value / 1e3, "µs"),
        "hz" => (value / 1e9, "GHz"),
        "byte/s" if magnitude >= 1e12 => (value / 1e12, "TB/s"),
        "byte/s" => (value / 1e9, "GB/s"),
        "flop/s" if magnitude >= 1e12 => (value / 1e12, "TFLOP/s"),
        "flop/s" => (value / 1e9, "GFLOP/s"),
        other => (value, unit(other)),
    }
}

fn separated(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    text.push_str(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_rounded_down_to_two_digits() {
        for (value, down) in [
            (1.97e-4, 1.9e-4),
            (2e-5, 2e-5),
            (0.999, 0.99),
            (1.004, 1.0),
            (123.0, 120.0),
            (9.96e-7, 9.9e-7),
            (0.0, 0.0),
        ] {
            assert_eq!(rounded_down(value), down);
        }
        assert!(rounded_down(f64::NAN).is_nan());
    }

    #[test]
    fn three_significant_digits_and_whole_numbers_whole() {
        for (value, text) in [
            (12.3456, "12.3"),
            (0.125, "0.125"),
            (0.5, "0.500"),
            (64.0, "64"),
            (0.0, "0"),
            (-0.0, "0"),
            (1234.5, "1,234"),
            (999.96, "1,000"),
            (99.999, "100"),
            (9.996, "10.0"),
            (49152.0, "49,152"),
            (-1_234_567.0, "-1,234,567"),
            (0.000_012_34, "1.23e-5"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(plain(value), text, "{value}");
        }
    }

    #[test]
    fn units_take_the_multiple_that_reads_best() {
        assert_eq!(with_unit(49152.0, "bytes"), "48 KiB");
        assert_eq!(with_unit(1000.0, "bytes"), "1,000 B");
        assert_eq!(with_unit(12.3, "us"), "12.3 µs");
        assert_eq!(with_unit(12_345.0, "us"), "12.3 ms");
        assert_eq!(with_unit(2500.0, "ns"), "2.50 µs");
        assert_eq!(with_unit(2.0, ""), "2");
        assert_eq!(with_unit(64.0, "register/thread"), "64");
        assert_eq!(with_unit(989.5e12, "flop/s"), "990 TFLOP/s");
        assert_eq!(with_unit(61.2, "%"), "61.2 %");
        assert_eq!(with_unit(0.5, "x"), "0.500×");
        assert_eq!(distance(-7.532, "%"), "-7.53 pp");
        assert_eq!(distance(0.000_4, "%"), "0.0004 pp");
        assert_eq!(distance(19.448, "us"), "19.4 µs");
        assert_eq!(in_sentence(0.27, "warp"), "0.27");
        assert_eq!(unit("register/thread"), "");
        assert_eq!(unit("byte/block"), "B");
    }

    #[test]
    fn a_value_and_its_limit_both_have_their_unit() {
        assert_eq!(against(96.0, 64.0, "register/thread"), "96 registers/thread against 64 registers/thread");
        assert_eq!(against(46.82, 60.0, "%"), "46.8 % against 60 %");
        assert_eq!(against(512.0, 49152.0, "byte/block"), "512 B against 48 KiB");
        assert_eq!(against(0.0, 0.0, "inst"), "0 instructions against 0 instructions");
        assert_eq!(against(2.0, 1.0, ""), "2 against 1");
        assert_eq!(against(0.9396, 1.1, "x"), "0.940× against 1.1×");
        assert_eq!(against(30.5, 33.19, "us"), "30.50 µs against 33.19 µs");
        assert_eq!(against(1.0, 2.0, "warp"), "1 warp against 2 warps");
    }

    #[test]
    fn numbers_are_written_with_the_digits_in_which_they_differ() {
        assert_eq!(against(29.6512, 29.65, "us"), "29.651 µs against 29.65 µs");
        assert_eq!(against(0.676_42, 0.676_38, "warp"), "0.67642 warps against 0.67638 warps");
        assert_eq!(against(29.65, 29.65, "us"), "29.65 µs against 29.65 µs");
        assert_eq!(against(12_345.4, 12_345.2, "inst"), "12,345.4 instructions against 12,345.2 instructions");
        assert_eq!(against(1.000_04, 1.0, "x"), "1.00004× against 1×");
        assert_eq!(measured_and_limit(29.6512, 29.65, "us"), ("29.651 µs".to_owned(), "29.65 µs".to_owned()));
        assert_eq!(measured_and_limit(70.0, 64.0, "register/thread"), ("70".to_owned(), "64".to_owned()));
    }

    #[test]
    fn changes_carry_their_sign() {
        assert_eq!(change(1.032), "+3.2 %");
        assert_eq!(change(0.5), "-50.0 %");
        assert_eq!(change(1.0), "0.0 %");
        assert_eq!(change(0.99999), "0.0 %");
        assert_eq!(change(f64::INFINITY), "n/a");
        assert_eq!(change(154.02), "154×");
        assert_eq!(change(9.99), "+899 %");
    }

    #[test]
    fn changes_are_percent_points_or_factors() {
        assert_eq!(changed(10.0, 12.0, "us"), "+20.0 %");
        assert_eq!(changed(24.31, 24.59, "%"), "+0.28 pp");
        assert_eq!(changed(60.0, 47.03, "pct"), "-13 pp");
        assert_eq!(changed(33.0, 33.0, "%"), "0 pp");
        assert_eq!(changed(0.0, 252.0, "inst"), "+252");
        assert_eq!(changed(0.0, 0.0, "inst"), "0.0 %");
        assert_eq!(changed(0.0, 2048.0, "bytes"), "+2 KiB");
        assert_eq!(changed(5.0, 0.0, ""), "-100 %");
        assert_eq!(changed(-1.0, 1.0, ""), "+2");
        assert_eq!(changed(1.0, f64::NAN, ""), "n/a");
    }

    #[test]
    fn counts_and_times_read_as_words() {
        assert_eq!((counted(1, "gate"), counted(2, "process")), ("1 gate".to_owned(), "2 processes".to_owned()));
        assert_eq!(counted(1_000, "variant"), "1,000 variants");
        assert_eq!((age(7_300), age(-3)), ("2 hours ago".to_owned(), "just now".to_owned()));
        assert_eq!(seconds(125.2), "2 min 5 s");
        assert_eq!(seconds(3.25), "3.25 s");
        assert_eq!(seconds(12.06), "12.1 s");
        assert_eq!(seconds(1e-6), "under 0.01 s");
    }
}

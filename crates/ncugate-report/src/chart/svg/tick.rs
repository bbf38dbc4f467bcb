//! The values of ticks, and their texts.

use ncugate_model::number;

/// Most ticks of an axis.
const MOST: f64 = 50.0;
/// From this number of decades on, not every decade of a logarithmic axis has a tick.
const DECADES: i32 = 9;
/// Decades from one tick to the next.
const STRIDES: [i32; 7] = [1, 2, 5, 10, 20, 50, 100];
/// From here on a number has an exponent.
const LONG: f64 = 1e15;

/// A value with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    pub value: f64,
    pub text: String,
}

/// About `about` multiples of 1, 2 or 5 times a power of ten, between two values.
pub fn even(low: f64, high: f64, about: usize) -> Vec<Tick> {
    let raw = (high - low) / about.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw).unwrap_or(power * 10.0);
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    if !(step.is_finite() && step > 0.0 && last >= first) {
        return Vec::new();
    }
    let count = (last - first).min(MOST) as usize;
    // Adding zero makes a negative zero positive.
    (0..=count).map(|n| (first + n as f64) * step + 0.0).map(|value| Tick { value, text: fixed(value, step) }).collect()
}

/// About `about` whole numbers between two values.
pub fn whole(low: f64, high: f64, about: usize) -> Vec<Tick> {
    let fewest = about.min((high - low).ceil().max(1.0) as usize);
    let ticks = even(low, high, fewest).into_iter().filter(|tick| tick.value.fract() == 0.0);
    ticks.map(|tick| Tick { text: plain(tick.value), ..tick }).collect()
}

/// Powers of ten between two positive values: multiples of them are added if there are few, and most are dropped if
/// there are many. Even ticks if the range holds too few powers.
pub fn logarithmic(low: f64, high: f64, about: usize) -> Vec<Tick> {
    let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let fewest = (decades.end() - decades.start()) / DECADES;
    let stride = STRIDES.into_iter().find(|stride| *stride > fewest).unwrap_or(decades.end() - decades.start());
    let multiples: &[f64] = match high / low {
        ratio if ratio < 12.0 => &[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
        ratio if ratio < 300.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let ticks: Vec<Tick> = decades
        .filter(|power| power % stride == 0)
        .flat_map(|power| multiples.iter().map(move |m| m * 10f64.powi(power)))
        .filter(|value| (low..=high).contains(value))
        .map(|value| Tick { value, text: plain(value) })
        .collect();
    if ticks.len() < 2 { even(low, high, about) } else { ticks }
}

/// A tick at each of these values.
pub fn at(values: &[f64]) -> Vec<Tick> {
    values.iter().map(|value| Tick { value: *value, text: plain(*value) }).collect()
}

fn fixed(value: f64, step: f64) -> String {
    let decimals = -step.log10().floor();
    match decimals {
        d if d > 9.0 => format!("{value:.1e}"),
        d if d > 0.0 => format!("{value:.*}", d as usize),
        _ => plain(value),
    }
}

fn plain(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..LONG).contains(&size) => number::multiple(value),
        _ => format!("{value:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: Vec<Tick>) -> Vec<String> {
        ticks.into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn even_ticks_are_round_and_inside() {
        let texts = |low, high| texts(even(low, high, 5));
        assert_eq!(texts(0.0, 10.0), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(11.8, 13.1), ["12.0", "12.5", "13.0"]);
        assert_eq!(texts(0.0, 0.04), ["0.00", "0.01", "0.02", "0.03", "0.04"]);
        assert_eq!(texts(-0.6, 0.6), ["-0.5", "0.0", "0.5"]);
        assert_eq!(texts(0.0, 1.8e10), ["0", "5 G", "10 G", "15 G"]);
        assert_eq!(texts(0.0, 4e299), ["0", "1e299", "2e299", "3e299", "4e299"]);
        assert!(texts(f64::NAN, 1.0).is_empty());
        assert!(texts(1.0, 1.0).is_empty());
    }

    #[test]
    fn counts_have_whole_ticks() {
        assert_eq!(texts(whole(0.9, 3.1, 8)), ["1", "2", "3"]);
        assert!(texts(whole(0.0, 1e300, 8)).len() <= 9);
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        let texts = |low, high| texts(logarithmic(low, high, 5));
        assert_eq!(texts(0.9, 25.0), ["1", "2", "5", "10", "20"]);
        assert_eq!(texts(6.9, 18.4), ["8", "10", "15"]);
        assert_eq!(texts(0.5, 20_000.0), ["1", "10", "100", "1,000", "10,000"]);
        assert_eq!(texts(2.1, 2.9), ["2.2", "2.4", "2.6", "2.8"], "no power is near");
    }

    #[test]
    fn hundreds_of_decades_have_few_ticks() {
        let texts = texts(logarithmic(1e-300, 1e300, 5));
        assert!((5..=10).contains(&texts.len()), "{texts:?}");
        assert!(texts.contains(&"1".to_owned()) && texts.contains(&"1e200".to_owned()), "{texts:?}");
    }
}

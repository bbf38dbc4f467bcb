//! Axes in pixels: extents of the data, places of values, ticks.

use super::spec::{Across, Chart, Marks, Scale};
use crate::number;

/// An axis laid over pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    /// Pixel of `low` and of `high`.
    pixels: (i32, i32),
}

impl Ruler {
    /// Lays an axis of `chart` between two pixels.
    pub fn new(chart: &Chart, across: Across, pixels: (i32, i32)) -> Self {
        let axis = match across {
            Across::X => &chart.x,
            Across::Y => &chart.y,
        };
        let scale = axis.scale.clone();
        if let Scale::Names(names) = &scale {
            return Self { low: 0.0, high: names.len().max(1) as f64, scale, pixels };
        }
        let (low, high) = extent(chart, across);
        let (low, high) = match scale {
            Scale::Log => (low.max(1e-300) / 1.15, high.max(1e-300) * 1.15),
            Scale::Zero => (low.min(0.0), if high > 0.0 { high * 1.06 } else { 1.0 }),
            Scale::Linear | Scale::Count | Scale::Names(_) => {
                let pad = if high > low { (high - low) * 0.06 } else { high.abs().max(1.0) * 0.1 };
                let floor = low - pad;
                (if low >= 0.0 { floor.max(0.0) } else { floor }, high + pad)
            }
        };
        Self { scale, low, high, pixels }
    }

    /// Pixel of a value; the middle of its row for names.
    pub fn place(&self, value: f64) -> i32 {
        let share = match self.scale {
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            Scale::Names(_) => (value + 0.5) / self.high,
            Scale::Linear | Scale::Count | Scale::Zero => (value - self.low) / (self.high - self.low),
        };
        let (from, to) = (f64::from(self.pixels.0), f64::from(self.pixels.1));
        (from + share.clamp(-0.02, 1.02) * (to - from)).round() as i32
    }

    /// Height of a row of names in pixels.
    pub fn row(&self) -> i32 {
        (f64::from((self.pixels.1 - self.pixels.0).abs()) / self.high).floor().max(1.0) as i32
    }

    /// Values that get a tick, with their text.
    pub fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        match &self.scale {
            Scale::Names(names) => names.iter().enumerate().map(|(row, name)| (row as f64, name.clone())).collect(),
            Scale::Log => log_ticks(self.low, self.high),
            Scale::Linear | Scale::Zero => even_ticks(self.low, self.high, about),
            Scale::Count => {
                let fewest = about.min((self.high - self.low).ceil().max(1.0) as usize);
                let whole = even_ticks(self.low, self.high, fewest).into_iter().map(|(value, _)| value);
                whole.filter(|value| value.fract() == 0.0).map(|value| (value, number::multiple(value))).collect()
            }
        }
    }
}

/// Least and greatest finite value along an axis, limits included; 0 to 1 for nothing.
fn extent(chart: &Chart, across: Across) -> (f64, f64) {
    let mut values: Vec<f64> = chart.limits.iter().filter(|l| l.across == across).map(|l| l.value).collect();
    for series in &chart.series {
        match (&series.marks, across) {
            (Marks::Points(_, points), Across::X) => values.extend(points.iter().map(|p| p.x)),
            (Marks::Points(_, points), Across::Y) => values.extend(points.iter().map(|p| p.y)),
            (Marks::Line(_, points), Across::X) => values.extend(points.iter().map(|p| p.0)),
            (Marks::Line(_, points), Across::Y) => values.extend(points.iter().map(|p| p.1)),
            (Marks::Bars(bars), Across::X) => values.extend(bars.iter().flat_map(|b| [b.from, b.to])),
            (Marks::Boxes(boxes), Across::X) => values.extend(boxes.iter().flat_map(|b| b.quartiles)),
            (Marks::Cells(cells), Across::X) => values.extend(cells.iter().flat_map(|c| [c.from, c.to])),
            (Marks::Bars(_) | Marks::Boxes(_) | Marks::Cells(_), Across::Y) => {}
        }
    }
    let positive =
        matches!((across, &chart.x.scale, &chart.y.scale), (Across::X, Scale::Log, _) | (Across::Y, _, Scale::Log));
    let usable = values.into_iter().filter(|v| v.is_finite() && (!positive || *v > 0.0));
    let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low.is_finite() { (low, high) } else { (0.1, 1.0) }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn even_ticks(low: f64, high: f64, about: usize) -> Vec<(f64, String)> {
    let raw = (high - low) / about.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw).unwrap_or(power * 10.0);
    if !(step.is_finite() && step > 0.0) {
        return Vec::new();
    }
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last.min(first + 50))
        .map(|n| {
            let value = n as f64 * step;
            let text = if decimals == 0 { number::multiple(value) } else { format!("{value:.decimals$}") };
            (value, text)
        })
        .collect()
}

/// Powers of ten, with multiples of them where there are few.
fn log_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let multiples: &[f64] = match high / low {
        ratio if ratio < 12.0 => &[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
        ratio if ratio < 300.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    decades
        .flat_map(|power| multiples.iter().map(move |m| (*m, power)))
        .map(|(m, power)| m * 10f64.powi(power))
        .filter(|v| (low..=high).contains(v))
        .map(|v| (v, tick(v)))
        .collect()
}

fn tick(value: f64) -> String {
    if value >= 1e-3 { number::multiple(value) } else { format!("{value:.0e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_ticks_are_round_and_inside() {
        let texts = |low, high| even_ticks(low, high, 5).into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(texts(0.0, 10.0), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(11.8, 13.1), ["12.0", "12.5", "13.0"]);
        assert_eq!(texts(0.0, 0.04), ["0.00", "0.01", "0.02", "0.03", "0.04"]);
        assert_eq!(texts(0.0, 1.8e10), ["0", "5 G", "10 G", "15 G"]);
        assert!(texts(f64::NAN, 1.0).is_empty());
    }

    #[test]
    fn log_ticks_are_powers() {
        let texts = |low, high| log_ticks(low, high).into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(texts(0.9, 25.0), ["1", "2", "5", "10", "20"]);
        assert_eq!(texts(6.9, 18.4), ["8", "10", "15"]);
        assert_eq!(texts(0.5, 20_000.0), ["1", "10", "100", "1,000", "10,000"]);
    }
}

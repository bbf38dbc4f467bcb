//! A chart as data: series, axes, limits, texts. Independent of pixels.

use ncugate_model::number;
use ncugate_model::stats::{self, median};
use serde::Serialize;

/// A maximum this many times the median calls for a logarithmic axis.
const FAR: f64 = 12.0;

/// A drawing of a report: panels that answer one question, under one legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Stable id, also its file name.
    pub id: String,
    pub title: String,
    /// The point to notice, in a sentence.
    pub note: String,
    /// Alternative text of the chart.
    pub alt: String,
    pub panels: Vec<Panel>,
    /// The numbers of all panels.
    pub table: ChartTable,
}

/// Series over two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    pub x: ChartAxis,
    pub y: ChartAxis,
    /// Series, drawn in order.
    pub series: Vec<Series>,
    /// Limits of gates and ceilings.
    pub limits: Vec<LimitLine>,
}

impl Panel {
    /// The panel without limits. An axis becomes logarithmic if one distant value would flatten all others.
    pub fn new(x: ChartAxis, y: ChartAxis, series: Vec<Series>) -> Self {
        let mut panel = Self { x, y, series, limits: Vec::new() };
        for across in [LineAxis::X, LineAxis::Y] {
            let values: Vec<f64> = panel.series.iter().flat_map(|series| series.marks.telling(across)).collect();
            let axis = if across == LineAxis::X { &mut panel.x } else { &mut panel.y };
            if matches!(axis.scale, Scale::Linear | Scale::Zero) && is_far(&values) {
                axis.scale = Scale::Log;
            }
        }
        panel
    }

    pub const fn axis(&self, across: LineAxis) -> &ChartAxis {
        match across {
            LineAxis::X => &self.x,
            LineAxis::Y => &self.y,
        }
    }
}

fn is_far(values: &[f64]) -> bool {
    let positive = values.iter().all(|v| *v > 0.0);
    let most = values.iter().copied().fold(0.0, f64::max);
    positive && median(values).is_ok_and(|median| most > median * FAR)
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChartAxis {
    /// Caption of the axis.
    pub label: String,
    /// Its unit; empty for a count.
    pub unit: String,
    /// How values map to positions.
    pub scale: Scale,
}

impl ChartAxis {
    pub fn new(label: &str, unit: &str, scale: Scale) -> Self {
        Self { label: label.to_owned(), unit: unit.to_owned(), scale }
    }

    /// Rows or columns with these names.
    pub fn named(label: &str, names: impl IntoIterator<Item = impl ToString>) -> Self {
        Self::new(label, "", Scale::Names(names.into_iter().map(|name| name.to_string()).collect()))
    }

    /// `latency p50 (µs)`, `latency p50 (µs, logarithmic)`.
    pub fn caption(&self) -> String {
        let unit = Some(number::unit(&self.unit)).filter(|unit| !unit.is_empty());
        let about: Vec<&str> = unit.into_iter().chain(self.scale.is_log().then_some("logarithmic")).collect();
        if about.is_empty() { self.label.clone() } else { format!("{} ({})", self.label, about.join(", ")) }
    }
}

/// How values map to positions.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Evenly spaced, around the values.
    Linear,
    /// Evenly spaced, from zero.
    Zero,
    /// Evenly spaced, around the values, which are counts: ticks are integers.
    Count,
    /// Powers of ten; values must be positive.
    Log,
    /// Like [`Scale::Log`], with a tick at each of these values.
    Extents(Vec<f64>),
    /// One row (the first on top) or one column for each name; values are their numbers from 0.
    Names(Vec<String>),
}

impl Scale {
    pub const fn is_log(&self) -> bool {
        matches!(self, Self::Log | Self::Extents(_))
    }
}

/// The colour a series is drawn in; see [`super::palette`]. Good, bad and open are the colours of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Passes, or better.
    Good,
    /// Fails, or worse.
    Bad,
    /// Inconclusive.
    Open,
    /// A reference for comparison.
    Baseline,
    Chosen,
    /// Behind the others.
    Muted,
    /// One of several, by number.
    Nth(usize),
}

/// The shape of a point. Series never differ by shape alone, and series that differ in colour also differ in shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyph {
    Disc,
    Cross,
    Diamond,
    /// A circle around another point.
    Ring,
    Triangle,
    /// A small dot, for many.
    Dot,
}

impl Glyph {
    /// The shape of one of several series, by number.
    pub const fn nth(at: usize) -> Self {
        [Self::Disc, Self::Triangle, Self::Diamond, Self::Cross][at % 4]
    }
}

/// Marks that are drawn together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend; empty keeps it out of the legend.
    pub name: String,
    pub tone: Tone,
    pub marks: Marks,
}

impl Series {
    pub fn new(name: impl Into<String>, tone: Tone, marks: Marks) -> Self {
        Self { name: name.into(), tone, marks }
    }
}

/// Marks of one kind. Values that are not finite are not drawn, and series without a drawn mark are not in the legend.
#[derive(Debug, Clone, PartialEq)]
pub enum Marks {
    Points(Glyph, Vec<ChartPoint>),
    /// A line through points.
    Line(Stroke, Vec<(f64, f64)>),
    /// Horizontal bars in rows of [`Scale::Names`].
    Bars(Vec<Bar>),
    /// Horizontal boxes in rows of [`Scale::Names`].
    Boxes(Vec<Spread>),
}

impl Marks {
    /// The values along an axis; of bars and boxes there are none along their rows.
    pub fn values(&self, across: LineAxis) -> Vec<f64> {
        let of = |(x, y): (f64, f64)| if across == LineAxis::X { x } else { y };
        match self {
            Self::Points(_, points) => points.iter().map(|p| of((p.x, p.y))).collect(),
            Self::Line(_, points) => points.iter().copied().map(of).collect(),
            _ if across == LineAxis::Y => Vec::new(),
            Self::Bars(bars) => bars.iter().flat_map(|b| [b.from, b.to]).collect(),
            Self::Boxes(boxes) => boxes.iter().flat_map(|b| b.quartiles).collect(),
        }
    }

    /// The values by which the scale of an axis is chosen. Lines repeat the values of points. Bars do not flatten other
    /// marks, but a bar from zero has no logarithm.
    fn telling(&self, across: LineAxis) -> Vec<f64> {
        match self {
            Self::Points(..) | Self::Boxes(_) => self.values(across),
            Self::Bars(_) => self.values(across).into_iter().filter(|value| *value <= 0.0).collect(),
            Self::Line(..) => Vec::new(),
        }
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    Solid,
    Dashed,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChartPoint {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
    pub label: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub row: usize,
    pub from: f64,
    pub to: f64,
    pub label: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    pub row: usize,
    /// Minimum, first quartile, median, third quartile, maximum.
    pub quartiles: [f64; 5],
    pub label: String,
}

/// Which axis a line crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineAxis {
    /// A vertical line at a value of x.
    X,
    /// A horizontal line at a value of y.
    Y,
}

/// A reference line for values.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitLine {
    pub across: LineAxis,
    pub value: f64,
    /// Its text (`registers <= 64`).
    pub label: String,
}

/// The numbers of a chart.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ChartTable {
    pub head: Vec<String>,
    /// Rows, at most [`ChartTable::LONGEST`].
    pub rows: Vec<Vec<String>>,
    /// Head and value of columns with one value, which `rows` does not have.
    pub same: Vec<String>,
    /// Whether a column has numbers, not words.
    pub is_number: Vec<bool>,
    /// Number of rows left out.
    pub left_out: usize,
}

impl ChartTable {
    /// Most rows kept; `results.json` has the rest.
    pub const LONGEST: usize = 200;

    /// A table of the first [`Self::LONGEST`] rows. The first column names the rows.
    pub fn new(head: impl IntoIterator<Item = impl ToString>, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let mut head: Vec<String> = head.into_iter().map(|head| head.to_string()).collect();
        let mut rows: Vec<Vec<String>> = rows.into_iter().collect();
        let mut same = Vec::new();
        for at in (1..head.len()).rev() {
            if rows.len() > 1 && rows.iter().all(|row| row[at] == rows[0][at]) {
                same.insert(0, format!("{} {}", head.remove(at), rows[0][at]));
                rows.iter_mut().for_each(|row| drop(row.remove(at)));
            }
        }
        let is_word = |cell: &str| cell != "n/a" && cell.starts_with(char::is_alphabetic);
        let is_number = (0..head.len()).map(|at| !rows.iter().any(|row| is_word(&row[at]))).collect();
        let left_out = rows.len().saturating_sub(Self::LONGEST);
        rows.truncate(Self::LONGEST);
        Self { head, rows, same, is_number, left_out }
    }
}

/// The text of a mark: `tile 64: Latency p50 12.3 µs, Registers 64`.
pub fn mark_label(name: &str, values: &[(&str, f64, &str)]) -> String {
    let value = |(title, value, unit): &(&str, f64, &str)| format!("{title} {}", number::in_sentence(*value, unit));
    format!("{name}: {}", values.iter().map(value).collect::<Vec<_>>().join(", "))
}

/// Minimum, first quartile, median, third quartile and maximum of the finite values; none if there are no finite
/// values.
pub fn five_numbers(values: &[f64]) -> Option<[f64; 5]> {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    stats::five_number_summary(&finite).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_skips_what_is_not_finite() {
        assert_eq!(five_numbers(&[4.0, 1.0, 3.0, 2.0, f64::NAN]), Some([1.0, 1.75, 2.5, 3.25, 4.0]));
        assert_eq!(five_numbers(&[]), None);
        assert_eq!(five_numbers(&[f64::NAN]), None);
    }

    #[test]
    fn long_tables_say_what_they_leave_out() {
        let table = ChartTable::new(["a"], (0..250).map(|n| vec![n.to_string()]));
        assert_eq!((table.rows.len(), table.left_out), (200, 50));
    }

    #[test]
    fn bars_from_zero_keep_their_axis() {
        let bar = |to| Bar { row: 0, from: 0.0, to, label: String::new() };
        let point = |x| ChartPoint { x, y: 0.0, label: String::new() };
        let points = Marks::Points(Glyph::Diamond, vec![point(0.01), point(0.02), point(20.0)]);
        let points = Series::new("", Tone::Good, points);
        let bars = Series::new("", Tone::Good, Marks::Bars(vec![bar(10.0), bar(0.1)]));
        let scale = |series: Vec<Series>| {
            Panel::new(ChartAxis::new("cycles", "", Scale::Zero), ChartAxis::named("state", ["wait"]), series).x.scale
        };
        assert_eq!((scale(vec![points.clone()]), scale(vec![points, bars])), (Scale::Log, Scale::Zero));
    }

    #[test]
    fn one_value_far_from_the_rest_calls_for_a_logarithm() {
        assert!(is_far(&[450.0, 480.0, 750.0, 69_238.0]));
        assert!(!is_far(&[30.0, 40.0, 200.0]));
        assert!(!is_far(&[0.0, 1.0, 1e6]), "zero has no logarithm");
        assert!(!is_far(&[]));
    }
}

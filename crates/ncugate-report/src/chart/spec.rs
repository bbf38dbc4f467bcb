//! A chart as data: series, axes, limits, texts. Independent of pixels.

use ncugate_model::number;
use ncugate_model::stats;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Stable id, also its file name.
    pub id: String,
    pub title: String,
    /// The point to notice, in a sentence.
    pub note: String,
    pub x: ChartAxis,
    pub y: ChartAxis,
    /// Series, drawn in order.
    pub series: Vec<Series>,
    /// Limits of gates and ceilings.
    pub limits: Vec<LimitLine>,
    /// Alternative text of the chart.
    pub alt: String,
    /// Its numbers.
    pub table: ChartTable,
}

/// Charts that answer one question, side by side under one legend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChartGrid {
    /// Stable id, also its file name.
    pub id: String,
    pub title: String,
    /// The point to notice, in a sentence.
    pub note: String,
    /// Alternative text of the whole.
    pub alt: String,
    /// Only axes, series and limits of a panel are drawn; without values, its note.
    pub panels: Vec<Chart>,
    /// The numbers of all panels.
    pub table: ChartTable,
}

/// A drawing of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    Chart(Chart),
    Grid(ChartGrid),
}

impl Figure {
    pub fn id(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.id,
            Self::Grid(grid) => &grid.id,
        }
    }

    pub fn title(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.title,
            Self::Grid(grid) => &grid.title,
        }
    }

    pub fn note(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.note,
            Self::Grid(grid) => &grid.note,
        }
    }

    pub fn table(&self) -> &ChartTable {
        match self {
            Self::Chart(chart) => &chart.table,
            Self::Grid(grid) => &grid.table,
        }
    }

    /// The charts of the drawing.
    pub fn charts(&self) -> &[Chart] {
        match self {
            Self::Chart(chart) => std::slice::from_ref(chart),
            Self::Grid(grid) => &grid.panels,
        }
    }

    pub fn charts_mut(&mut self) -> &mut [Chart] {
        match self {
            Self::Chart(chart) => std::slice::from_mut(chart),
            Self::Grid(grid) => &mut grid.panels,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
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

    /// `latency p50 (µs)`, `latency p50 (µs, logarithmic)`.
    pub fn caption(&self) -> String {
        let unit = Some(number::unit(&self.unit)).filter(|unit| !unit.is_empty());
        let scale = matches!(self.scale, Scale::Log | Scale::Extents(_)).then_some("logarithmic");
        let about: Vec<&str> = unit.into_iter().chain(scale).collect();
        if about.is_empty() { self.label.clone() } else { format!("{} ({})", self.label, about.join(", ")) }
    }
}

/// How values map to positions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
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

/// The colour a series is drawn in; see [`super::palette`]. Good, bad and open are the colours of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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

/// Marks that are drawn together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Its name in the legend; empty keeps it out of the legend.
    pub name: String,
    pub tone: Tone,
    pub marks: Marks,
}

/// Marks of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Marks {
    Points(Glyph, Vec<ChartPoint>),
    /// A line through points.
    Line(Stroke, Vec<(f64, f64)>),
    /// Horizontal bars in rows of [`Scale::Names`].
    Bars(Vec<Bar>),
    /// Horizontal boxes in rows of [`Scale::Names`].
    Boxes(Vec<Spread>),
    /// Columns of stacked shares in rows of [`Scale::Names`].
    Columns(Vec<ShareColumn>),
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stroke {
    /// Whole.
    Solid,
    Dashed,
    /// Thin, one of many.
    Thin,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChartPoint {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
    pub label: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    pub row: usize,
    pub from: f64,
    pub to: f64,
    pub label: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    pub row: usize,
    /// Minimum, first quartile, median, third quartile, maximum.
    pub quartiles: [f64; 5],
    pub label: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShareColumn {
    pub row: usize,
    pub from: f64,
    pub to: f64,
    /// Share that fails.
    pub fail: f64,
    /// Share that is inconclusive.
    pub unknown: f64,
    pub label: String,
}

/// Which axis a line crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineAxis {
    /// A vertical line at a value of x.
    X,
    /// A horizontal line at a value of y.
    Y,
}

/// A reference line for values.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// Number of rows left out.
    pub left_out: usize,
}

impl ChartTable {
    /// Most rows kept; `results.json` has the rest.
    pub const LONGEST: usize = 200;

    /// A table of the first [`Self::LONGEST`] rows.
    pub fn new<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let mut rows: Vec<Vec<String>> = rows.into_iter().collect();
        let left_out = rows.len().saturating_sub(Self::LONGEST);
        rows.truncate(Self::LONGEST);
        Self { head: head.iter().map(|h| (*h).to_owned()).collect(), rows, left_out }
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
}

//! Positions of the parts of a drawing, in pixels.

use super::legend;
use super::ruler::Ruler;
use super::surface::Setting;
use crate::chart::spec::{Chart, LineAxis, Scale};

/// Space right of the plot.
pub const RIGHT: i32 = 22;
/// Space left of the label of the vertical axis, and below that of the horizontal one.
pub const EDGE: (i32, i32) = (8, 4);
/// Height of ticks and label below the plot.
pub const BELOW: i32 = 42;
/// Height of a plot without named rows.
const PLOT: i32 = 290;
/// Height of a named row.
const ROW: i32 = 25;
/// Height of the title.
const TITLE: i32 = 30;
/// Height of the caption of the rows.
const CAPTION: i32 = 18;
/// Height of the labels of vertical limits.
const LABELS: i32 = 16;

/// The parts of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawingLayout {
    /// Total height.
    pub height: i32,
    /// Top of the legend.
    pub legend: i32,
    /// Top of the plot.
    pub top: i32,
    /// Left edge of the plot.
    pub left: i32,
}

impl DrawingLayout {
    /// The layout of a chart whose vertical axis is `y`.
    pub fn new(chart: &Chart, y: &Ruler, setting: Setting) -> Self {
        let legend = match setting {
            Setting::File => TITLE,
            Setting::Page => 0,
        };
        let labels = if chart.limits.iter().any(|limit| limit.across == LineAxis::X) { LABELS } else { 0 };
        let longest = y.texts().map(width).max().unwrap_or(0);
        let (left, caption, plot) = match &chart.y.scale {
            Scale::Names(names) => ((longest + 20).clamp(70, 270), CAPTION, ROW * names.len().max(1) as i32),
            Scale::Linear | Scale::Count | Scale::Zero | Scale::Log => ((longest + 38).clamp(60, 160), 0, PLOT),
        };
        let top = legend + legend::height(chart) + labels + caption;
        Self { height: top + plot + BELOW + EDGE.1, legend, top, left }
    }
}

/// Upper estimate of the width of a small text in pixels. No font is available to measure.
fn width(text: &str) -> i32 {
    let character = |c: char| match c {
        '0'..='9' => 8,
        c if c.is_uppercase() || c == '_' => 9,
        _ => 7,
    };
    text.chars().map(character).sum()
}

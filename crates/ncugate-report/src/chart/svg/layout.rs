//! Positions of the parts of a drawing, in pixels.

use super::limits;
use super::ruler::Ruler;
use super::words;
use crate::chart::spec::{Chart, LineAxis, Scale};

/// Space right of the plot: half of the last label.
pub const RIGHT: i32 = 34;
/// Space left of the labels of the vertical axis, and below the caption of the horizontal one.
pub const EDGE: (i32, i32) = (8, 6);
/// Height of the ticks of the horizontal axis.
const TICKS: i32 = 10;
/// Least height of a named row.
const ROW: i32 = 25;
/// Space around a caption.
const CAPTION: i32 = 6;

/// Heights of plots without named rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotHeight {
    Chart,
    Panel,
}

impl PlotHeight {
    fn pixels(self) -> i32 {
        match self {
            Self::Chart => 290,
            Self::Panel => 130,
        }
    }
}

/// The parts of a drawing.
pub struct DrawingLayout {
    pub width: i32,
    /// Total height.
    pub height: i32,
    /// Top of the plot.
    pub top: i32,
    /// Left edge of the plot.
    pub left: i32,
    /// Height of labels and caption below the plot.
    pub below: i32,
    /// The caption of the vertical axis, in lines; it ends at `caption_end`.
    pub caption: String,
    pub caption_end: i32,
    /// The caption of the horizontal axis, in lines.
    pub x_caption: String,
    pub x: Ruler,
    pub y: Ruler,
}

impl DrawingLayout {
    /// The layout of a chart of this width.
    pub fn new(chart: &Chart, width: i32, plot: PlotHeight) -> Self {
        let y = Ruler::new(chart, LineAxis::Y, plot.pixels());
        let longest = y.texts().map(words::width).max().unwrap_or(0);
        let left = (longest + 20).clamp(40, 290);
        let x = Ruler::new(chart, LineAxis::X, width - left - RIGHT);
        let caption = words::wrapped(&chart.y.caption(), width - 2 * EDGE.0);
        let x_caption = words::wrapped(&chart.x.caption(), width - 2 * EDGE.0);
        let caption_end = words::height(&caption) + CAPTION;
        let top = caption_end + CAPTION + limits::height_above(chart, width);
        let plot = match &chart.y.scale {
            Scale::Names(names) => {
                let row = y.texts().map(words::height).max().unwrap_or(0) + 8;
                row.max(ROW) * names.len().max(1) as i32
            }
            Scale::Linear | Scale::Count | Scale::Zero | Scale::Log | Scale::Extents(_) => plot.pixels(),
        };
        let labels = x.texts().map(words::height).max().unwrap_or(words::LINE);
        let below = TICKS + labels + words::height(&x_caption) + CAPTION;
        Self { width, height: top + plot + below + EDGE.1, top, left, below, caption, caption_end, x_caption, x, y }
    }
}

//! The areas for drawing: the whole drawing, and the plot in it.

use super::canvas::Canvas;
use super::ruler::Ruler;
use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use std::convert::Infallible;

/// Width of a drawing in pixels.
pub const WIDTH: i32 = 620;
/// Columns of panels.
pub const COLUMNS: i32 = 2;

/// The whole drawing, in pixels.
pub type Area = DrawingArea<Canvas, Shift>;
/// The plot in it, in values of the axes.
pub type Plot<'a> = ChartContext<'a, Canvas, Cartesian2d<Ruler, Ruler>>;
/// Result of plotters: writing SVG cannot fail, but a layout can.
pub type PlotResult = Result<(), DrawingAreaErrorKind<Infallible>>;

/// The destination of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// In a page, which names it and owns its colours.
    Page,
    /// In a standalone file, with title, background and colours.
    File,
}

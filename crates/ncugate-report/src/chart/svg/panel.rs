//! A panel: mesh, series and limits of plotters between captions.

use super::axis::PlotAxis;
use super::canvas::{Canvas, MarkStyle};
use super::marks::{self, Mark, SMALL, line, style, text_style};
use super::{Area, PlotResult, words};
use crate::chart::palette;
use crate::chart::spec::{LimitLine, LineAxis, Panel, Scale};
use plotters::chart::{ChartBuilder, ChartContext, LabelAreaPosition};
use plotters::coord::cartesian::Cartesian2d;
use plotters::element::{IntoDynElement, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Space right of the plot: half of the last label.
const RIGHT: i32 = 34;
/// Space left of the labels of the vertical axis, and below the caption of the horizontal one.
const EDGE: (i32, i32) = (8, 6);
/// Height of the ticks of the horizontal axis.
const TICKS: i32 = 10;
/// Least height of a named row.
const ROW: i32 = 25;
/// Space around a caption, and between a label and its line.
const GAP: i32 = 6;

/// The plot of a panel, in values of its axes.
pub type Plot<'a> = ChartContext<'a, Canvas, Cartesian2d<PlotAxis, PlotAxis>>;

/// Positions of the parts of a panel, in pixels.
pub struct PanelLayout {
    pub width: i32,
    /// Total height.
    pub height: i32,
    /// Top and left edge of the plot.
    top: i32,
    left: i32,
    /// Height of labels and caption below the plot.
    below: i32,
    /// Captions of the vertical and the horizontal axis, in lines.
    captions: [String; 2],
    x: PlotAxis,
    y: PlotAxis,
}

impl PanelLayout {
    /// The layout of a panel of this width, one of `columns` side by side.
    pub fn new(panel: &Panel, width: i32, columns: usize) -> Self {
        let plot = if columns == 1 { 290 } else { 130 };
        let y = PlotAxis::new(panel, LineAxis::Y, plot, 0);
        let left = (y.labels().0 + 20).clamp(40, 290);
        let x = PlotAxis::new(panel, LineAxis::X, width - left - RIGHT, RIGHT);
        let captions = [
            words::wrapped(&panel.y.caption(), width - 2 * EDGE.0),
            words::wrapped(&panel.x.caption(), width - left - RIGHT),
        ];
        let limits = limits(panel, LineAxis::X).into_iter().chain(limits(panel, LineAxis::Y));
        let labels = limits.map(|limit| words::height(&wrapped(&limit, width)) + 2);
        let top = words::height(&captions[0]) + 2 * GAP + labels.sum::<i32>();
        let plot = match &panel.y.scale {
            Scale::Names(names) => (y.labels().1 + 8).max(ROW) * names.len().max(1) as i32,
            Scale::Linear | Scale::Count | Scale::Zero | Scale::Log | Scale::Extents(_) => plot,
        };
        let below = TICKS + x.labels().1 + words::height(&captions[1]) + GAP;
        Self { width, height: top + plot + below + EDGE.1, top, left, below, captions, x, y }
    }

    /// Draws the panel with its upper left corner at a pixel of the drawing.
    pub fn draw(&self, drawing: &Area, panel: &Panel, at: (i32, i32)) -> PlotResult {
        let area = drawing.clone().shrink(at, (self.width, self.height));
        let ink = |side, end| text_style(SMALL, palette::INK, Pos::new(side, end));
        area.draw(&Text::new(self.captions[0].as_str(), (EDGE.0, GAP), ink(HPos::Left, VPos::Top)))?;
        let mut plot = ChartBuilder::on(&area)
            .margin_top(self.top)
            .margin_right(RIGHT)
            .margin_left(EDGE.0)
            .margin_bottom(EDGE.1)
            .x_label_area_size(self.below)
            .y_label_area_size(self.left - EDGE.0)
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        let mut mesh = plot.configure_mesh();
        mesh.bold_line_style(style(palette::GRID))
            .axis_style(style(palette::GRID))
            .label_style(text_style(SMALL, palette::QUIET, Pos::default()))
            .x_desc(self.captions[1].as_str())
            .axis_desc_style(text_style(SMALL, palette::INK, Pos::default()))
            .set_tick_mark_size(LabelAreaPosition::Bottom, 3)
            .set_tick_mark_size(LabelAreaPosition::Left, 4);
        // The grid lines follow the values and cross the rows, not columns of points.
        let are_named = [&panel.x, &panel.y].map(|axis| matches!(axis.scale, Scale::Names(_)));
        if are_named[1] {
            mesh.disable_y_mesh();
        }
        if are_named[0] || !are_named[1] {
            mesh.disable_x_mesh();
        }
        mesh.draw()?;
        if !panel.series.iter().any(|series| marks::is_drawn(&series.marks)) {
            let (columns, rows) = plot.plotting_area().get_pixel_range();
            let middle = ((columns.start + columns.end) / 2, (rows.start + rows.end) / 2);
            let quiet = text_style(SMALL, palette::QUIET, Pos::new(HPos::Center, VPos::Center));
            return drawing.draw(&Text::new("no value was measured", middle, quiet));
        }
        panel.series.iter().try_for_each(|series| marks::draw(&mut plot, series))?;
        self.limits(drawing, &mut plot, panel, at.0)
    }

    /// Limit lines with labels above the plot, one row for each, where they cover no point: from the highest horizontal line
    /// down to the leftmost vertical one.
    fn limits(&self, drawing: &Area, plot: &mut Plot<'_>, panel: &Panel, left: i32) -> PlotResult {
        let (columns, rows) = plot.plotting_area().get_pixel_range();
        let (values, levels) = (plot.x_range(), plot.y_range());
        let label = |text: String, at: (i32, i32), side| {
            let style = text_style(SMALL, palette::INK, Pos::new(side, VPos::Bottom));
            drawing.draw(&Mark::new(MarkStyle::Halo, "", vec![Text::new(text, at, style).into_dyn()]))
        };
        let mut bottom = rows.start - GAP;
        for limit in limits(panel, LineAxis::X) {
            limit_line(plot, &limit, vec![(limit.value, levels.start), (limit.value, levels.end)])?;
            let x = plot.backend_coord(&(limit.value, levels.start)).0;
            let text = wrapped(&limit, self.width);
            let (wide, high) = (words::width(&text), words::height(&text));
            let (x, side) = match wide {
                wide if x + wide <= left + self.width - EDGE.0 => (x, HPos::Left),
                wide if x - wide >= left + EDGE.0 => (x, HPos::Right),
                _ => (left + EDGE.0, HPos::Left),
            };
            label(text, (x, bottom), side)?;
            bottom -= high + 2;
        }
        for limit in limits(panel, LineAxis::Y) {
            limit_line(plot, &limit, vec![(values.start, limit.value), (values.end, limit.value)])?;
            let text = wrapped(&limit, self.width);
            let high = words::height(&text);
            label(text, (columns.end - GAP, bottom), HPos::Right)?;
            bottom -= high + 2;
        }
        Ok(())
    }
}

/// Limits with a place on an axis, from low to high; those with the same place share a label.
fn limits(panel: &Panel, across: LineAxis) -> Vec<LimitLine> {
    let mut limits: Vec<LimitLine> = Vec::new();
    for limit in panel.limits.iter().filter(|limit| limit.across == across && limit.value.is_finite()) {
        match limits.iter_mut().find(|other| other.value == limit.value) {
            Some(other) if other.label == limit.label => {}
            Some(other) => other.label = format!("{}; {}", other.label, limit.label),
            None => limits.push(limit.clone()),
        }
    }
    limits.sort_by(|a, b| a.value.total_cmp(&b.value));
    limits
}

fn wrapped(limit: &LimitLine, width: i32) -> String {
    words::wrapped(&limit.label, width - 2 * EDGE.0)
}

fn limit_line(plot: &mut Plot<'_>, limit: &LimitLine, ends: Vec<(f64, f64)>) -> PlotResult {
    let mark = Mark::new(MarkStyle::Dashed, &limit.label, vec![line(ends, palette::INK, 2)]);
    plot.draw_series(std::iter::once(mark)).map(|_| ())
}

//! Limit lines and their labels, which overlap neither each other nor the edge of the drawing.

use super::canvas::MarkStyle;
use super::element::{Mark, SMALL, line, text, text_style};
use super::layout::{DrawingLayout, EDGE};
use super::surface::{Area, Plot, PlotResult};
use super::words;
use crate::chart::palette;
use crate::chart::spec::{Chart, LimitLine, LineAxis};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Space between a label and its line.
const APART: i32 = 4;

/// Limits with a place on an axis; those with the same place share a label.
fn known(chart: &Chart, across: LineAxis) -> Vec<LimitLine> {
    let mut limits: Vec<LimitLine> = Vec::new();
    for limit in chart.limits.iter().filter(|limit| limit.across == across && limit.value.is_finite()) {
        match limits.iter_mut().find(|other| other.value == limit.value) {
            Some(other) if other.label == limit.label => {}
            Some(other) => other.label = format!("{}; {}", other.label, limit.label),
            None => limits.push(limit.clone()),
        }
    }
    limits
}

/// Room for the labels of vertical lines, which are above the plot: one row for each line.
pub fn height_above(chart: &Chart, width: i32) -> i32 {
    let labels = known(chart, LineAxis::X).into_iter().map(|limit| words::wrapped(&limit.label, width - 2 * EDGE.0));
    labels.map(|label| words::height(&label) + 2).sum()
}

/// Draws all limits of a chart.
pub fn draw(area: &Area, plot: &mut Plot<'_>, chart: &Chart, layout: &DrawingLayout) -> PlotResult {
    let mut bottom = layout.top - APART;
    for limit in known(chart, LineAxis::X) {
        limit_line(plot, &limit)?;
        let label = words::wrapped(&limit.label, layout.width - 2 * EDGE.0);
        let x = plot.backend_coord(&(limit.value, 0.0)).0;
        let (x, side) = match words::width(&label) {
            wide if x + wide <= layout.width - EDGE.0 => (x, HPos::Left),
            wide if x - wide >= EDGE.0 => (x, HPos::Right),
            _ => (EDGE.0, HPos::Left),
        };
        draw_label(area, &label, (x, bottom), side)?;
        bottom -= words::height(&label) + 2;
    }
    let mut taken: Vec<TextBox> = Vec::new();
    for limit in known(chart, LineAxis::Y) {
        limit_line(plot, &limit)?;
        let (columns, rows) = plot.plotting_area().get_pixel_range();
        let label = words::wrapped(&limit.label, columns.end - columns.start - 2 * APART);
        let y = plot.backend_coord(&(0.0, limit.value)).1;
        let (wide, high) = (words::width(&label), words::height(&label));
        let middle = (columns.start + columns.end - wide) / 2;
        let lefts = [columns.end - APART - wide, columns.start + APART, middle];
        // Above the line, else below it.
        let places = [y - APART, y + high + APART].into_iter().flat_map(|bottom| lefts.map(|left| (left, bottom)));
        let boxes = places.map(|(left, bottom)| TextBox { left, right: left + wide, top: bottom - high, bottom });
        let fits = |place: &TextBox| {
            let inside = place.top >= rows.start - APART && place.bottom <= rows.end;
            inside && taken.iter().all(|other| !place.overlaps(other))
        };
        if let Some(place) = boxes.into_iter().find(fits) {
            draw_label(area, &label, (place.left, place.bottom), HPos::Left)?;
            taken.push(place);
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
struct TextBox {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl TextBox {
    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

fn draw_label(area: &Area, label: &str, at: (i32, i32), side: HPos) -> PlotResult {
    let style = text_style(SMALL, palette::INK, Pos::new(side, VPos::Bottom));
    area.draw(&Mark::new("", vec![text(label, at, style)]).styled(MarkStyle::Halo))
}

fn limit_line(plot: &mut Plot<'_>, limit: &LimitLine) -> PlotResult {
    let (columns, rows) = (plot.x_range(), plot.y_range());
    let ends = match limit.across {
        LineAxis::X => vec![(limit.value, rows.start), (limit.value, rows.end)],
        LineAxis::Y => vec![(columns.start, limit.value), (columns.end, limit.value)],
    };
    let mark = Mark::new(&limit.label, vec![line(ends, palette::INK, 2)]).styled(MarkStyle::Dashed);
    plot.draw_series(std::iter::once(mark)).map(|_| ())
}

//! The marks of a series, at the values of the axes.

use super::canvas::Canvas;
use super::element::{Element, Mark, filled, glyph, line, manner, outlined, rgb, style};
use super::surface::{Plot, PlotResult};
use crate::chart::palette::{self, Colour};
use crate::chart::spec::{Bar, ChartPoint, Glyph, Marks, Series, ShareColumn, Spread, Stroke, Tone};
use plotters::element::{IntoDynElement, Rectangle};
use plotters::series::LineSeries;
use plotters::style::{Color, ShapeStyle};

/// Half the height of bars and boxes, and of columns, in rows.
const HALF: (f64, f64) = (0.3, 0.4);
/// Opacity of dots in large series.
const CROWD: f64 = 0.4;

/// A mark at values.
type PointMark = Mark<(f64, f64)>;

/// Whether marks are drawn: a line needs two points, because one is not a course.
pub fn is_drawn(marks: &Marks) -> bool {
    match marks {
        Marks::Line(_, points) => points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).count() > 1,
        Marks::Points(..) | Marks::Bars(_) | Marks::Boxes(_) | Marks::Columns(_) => true,
    }
}

/// Whether a chart has a value to draw.
pub fn has_values(series: &Series) -> bool {
    match &series.marks {
        Marks::Points(_, points) => points.iter().any(|p| p.x.is_finite() && p.y.is_finite()),
        Marks::Line(..) => is_drawn(&series.marks),
        Marks::Bars(bars) => bars.iter().any(|b| b.from.is_finite() && b.to.is_finite()),
        Marks::Boxes(boxes) => boxes.iter().any(|s| s.quartiles.iter().all(|v| v.is_finite())),
        Marks::Columns(columns) => !columns.is_empty(),
    }
}

/// Draws a series; values that are not finite are left out.
pub fn draw(plot: &mut Plot<'_>, series: &Series) -> PlotResult {
    let colour = palette::colour(series.tone);
    match &series.marks {
        marks if !is_drawn(marks) => Ok(()),
        Marks::Points(kind, points) => {
            let shown = points.iter().filter(|p| p.x.is_finite() && p.y.is_finite());
            draw_all(plot, shown.map(|p| point(*kind, p, colour)))
        }
        Marks::Line(stroke, points) => {
            let shown = points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite());
            let drawn = match stroke {
                Stroke::Thin => ShapeStyle { color: rgb(colour).mix(CROWD), filled: false, stroke_width: 1 },
                Stroke::Solid | Stroke::Dashed => style(colour).stroke_width(2),
            };
            let parts = LineSeries::<Canvas, _>::new(shown, drawn).collect();
            draw_all(plot, [Mark::new(&series.name, parts).styled(manner(*stroke))])
        }
        Marks::Bars(bars) => {
            let shown = bars.iter().filter(|b| b.from.is_finite() && b.to.is_finite());
            draw_all(plot, shown.map(|b| bar(b, colour)))
        }
        Marks::Boxes(boxes) => {
            let shown = boxes.iter().filter(|s| s.quartiles.iter().all(|v| v.is_finite()));
            draw_all(plot, shown.map(|s| spread(s, colour)))
        }
        Marks::Columns(columns) => {
            let marks: Vec<PointMark> = columns.iter().map(|c| column(c, series.tone, gap(plot, c))).collect();
            draw_all(plot, marks)
        }
    }
}

fn draw_all(plot: &mut Plot<'_>, marks: impl IntoIterator<Item = PointMark>) -> PlotResult {
    plot.draw_series(marks).map(|_| ())
}

fn point(kind: Glyph, point: &ChartPoint, colour: Colour) -> PointMark {
    let opacity = if kind == Glyph::Dot { CROWD } else { 1.0 };
    Mark::new(&point.label, vec![glyph(kind, (point.x, point.y), rgb(colour).mix(opacity))])
}

fn bar(bar: &Bar, colour: Colour) -> PointMark {
    let row = bar.row as f64;
    Mark::new(&bar.label, vec![filled([(bar.from, row - HALF.0), (bar.to, row + HALF.0)], colour)])
}

/// Whiskers from end to end, a box over the quartiles, a thick line at the median.
fn spread(spread: &Spread, colour: Colour) -> PointMark {
    let row = spread.row as f64;
    let (top, bottom) = (row - HALF.0, row + HALF.0);
    let [least, first, median, third, most] = spread.quartiles;
    let parts = vec![
        line(vec![(least, row), (first, row)], colour, 1),
        line(vec![(third, row), (most, row)], colour, 1),
        outlined([(first, top), (third, bottom)], colour),
        line(vec![(median, top), (median, bottom)], colour, 3),
    ];
    Mark::new(&spread.label, parts)
}

/// A column with the failed share at the bottom, the inconclusive share in the middle (an outline), and the passing
/// share on top (a thin line): verdicts differ in form, not only in colour.
fn column(column: &ShareColumn, tone: Tone, gap: u32) -> PointMark {
    let row = column.row as f64;
    let (top, bottom) = (row - HALF.1, row + HALF.1);
    let height = bottom - top;
    let fails = bottom - column.fail * height;
    let unknown = fails - column.unknown * height;
    let holds = top.max(unknown - height / 3.0);
    let part = |tone: Tone, from: f64, to: f64| -> Option<Element<(f64, f64)>> {
        let corners = [(column.from, from), (column.to, to)];
        let outline = style(palette::colour(tone));
        let mut rectangle = Rectangle::new(corners, if tone == Tone::Open { outline } else { outline.filled() });
        rectangle.set_margin(0, 0, 0, gap);
        (to > from).then(|| rectangle.into_dyn())
    };
    let rest = if tone == Tone::Bad { Tone::Good } else { Tone::Muted };
    let parts = [part(tone, fails, bottom), part(Tone::Open, unknown, fails), part(rest, holds, unknown)];
    Mark::new(&column.label, parts.into_iter().flatten().collect())
}

/// Pixels between two columns: one, if there is room for it.
fn gap(plot: &Plot<'_>, column: &ShareColumn) -> u32 {
    let pixel = |x: f64| plot.backend_coord(&(x, column.row as f64)).0;
    u32::from(pixel(column.to) - pixel(column.from) > 1)
}

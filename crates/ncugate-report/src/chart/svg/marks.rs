//! The marks of a series at the values of the axes: groups of plotters' elements under one title.

use super::PlotResult;
use super::canvas::{Canvas, MarkStyle};
use super::panel::Plot;
use crate::chart::palette::{self, Colour};
use crate::chart::spec::{Glyph, Marks, Series, Spread, Stroke};
use plotters::element::{
    Circle, Cross, Drawable, DynElement, EmptyElement, IntoDynElement, PathElement, PointCollection, Polygon,
    Rectangle, TriangleMarker,
};
use plotters::style::text_anchor::Pos;
use plotters::style::{Color, IntoFont, RGBAColor, RGBColor, ShapeStyle, TextStyle};
use plotters_backend::{BackendCoord, DrawingErrorKind};
use std::convert::Infallible;

/// Size of ticks, labels and names in pixels.
pub const SMALL: i32 = 12;
/// Half the height of bars and boxes, in rows.
const HALF: f64 = 0.3;
/// Opacity of dots in large series.
const CROWD: f64 = 0.4;

/// An element at positions of type `C`: values of the axes, or pixels.
type Element<C> = DynElement<'static, Canvas, C>;

/// Elements that are drawn as one.
pub struct Mark<C: Clone> {
    style: MarkStyle,
    title: String,
    parts: Vec<Element<C>>,
}

impl<C: Clone> Mark<C> {
    /// A mark of these parts, under a title that may be empty.
    pub fn new(style: MarkStyle, title: &str, parts: Vec<Element<C>>) -> Self {
        Self { style, title: title.to_owned(), parts }
    }
}

impl<'a, C: Clone> PointCollection<'a, C> for &'a Mark<C> {
    type Point = &'a C;
    type IntoIter = Vec<&'a C>;

    fn point_iter(self) -> Self::IntoIter {
        self.parts.iter().flat_map(|part| part.point_iter()).collect()
    }
}

impl<C: Clone> Drawable<Canvas> for Mark<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut places: I,
        canvas: &mut Canvas,
        parent: (u32, u32),
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let is_group = self.style != MarkStyle::Plain || !self.title.is_empty();
        if is_group {
            canvas.open(self.style, &self.title);
        }
        for part in &self.parts {
            part.draw(places.by_ref().take(part.point_iter().len()), canvas, parent)?;
        }
        if is_group {
            canvas.close();
        }
        Ok(())
    }
}

/// Whether a mark is drawn: a line needs two points, because one is not a course.
pub fn is_drawn(marks: &Marks) -> bool {
    match marks {
        Marks::Points(_, points) => points.iter().any(|p| p.x.is_finite() && p.y.is_finite()),
        Marks::Line(_, points) => points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).count() > 1,
        Marks::Bars(bars) => bars.iter().any(|b| b.from.is_finite() && b.to.is_finite()),
        Marks::Boxes(boxes) => boxes.iter().any(|s| s.quartiles.iter().all(|v| v.is_finite())),
    }
}

/// Draws a series; values that are not finite are left out.
pub fn draw(plot: &mut Plot<'_>, series: &Series) -> PlotResult {
    let colour = palette::colour(series.tone);
    let plain = |title: &str, parts| Mark::new(MarkStyle::Plain, title, parts);
    let marks: Vec<Mark<(f64, f64)>> = match &series.marks {
        marks if !is_drawn(marks) => Vec::new(),
        Marks::Points(kind, points) => {
            let opacity = if *kind == Glyph::Dot { CROWD } else { 1.0 };
            let shown = points.iter().filter(|p| p.x.is_finite() && p.y.is_finite());
            shown.map(|p| plain(&p.label, vec![glyph(*kind, (p.x, p.y), rgb(colour).mix(opacity))])).collect()
        }
        Marks::Line(stroke, points) => {
            let shown = points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
            vec![Mark::new(style_of(*stroke), &series.name, vec![line(shown, colour, 2)])]
        }
        Marks::Bars(bars) => {
            let shown = bars.iter().filter(|b| b.from.is_finite() && b.to.is_finite()).map(|bar| {
                let row = bar.row as f64;
                let corners = [(bar.from, row - HALF), (bar.to, row + HALF)];
                plain(&bar.label, vec![Rectangle::new(corners, style(colour).filled()).into_dyn()])
            });
            shown.collect()
        }
        Marks::Boxes(boxes) => {
            let shown = boxes.iter().filter(|s| s.quartiles.iter().all(|v| v.is_finite()));
            shown.map(|s| plain(&s.label, spread(s, colour))).collect()
        }
    };
    plot.draw_series(marks).map(|_| ())
}

/// Whiskers from end to end, a box over the quartiles, a thick line at the median.
fn spread(spread: &Spread, colour: Colour) -> Vec<Element<(f64, f64)>> {
    let row = spread.row as f64;
    let (top, bottom) = (row - HALF, row + HALF);
    let [least, first, median, third, most] = spread.quartiles;
    vec![
        line(vec![(least, row), (first, row)], colour, 1),
        line(vec![(third, row), (most, row)], colour, 1),
        Rectangle::new([(first, top), (third, bottom)], style(colour)).into_dyn(),
        line(vec![(median, top), (median, bottom)], colour, 3),
    ]
}

/// The symbol of a series in the legend.
pub fn key(series: &Series, (x, y): (i32, i32)) -> Mark<(i32, i32)> {
    let colour = palette::colour(series.tone);
    let square = [(x - 5, y - 5), (x + 5, y + 5)];
    let (style, part) = match &series.marks {
        Marks::Points(kind, _) => (MarkStyle::Plain, glyph(*kind, (x, y), rgb(colour))),
        Marks::Line(stroke, _) => (style_of(*stroke), line(vec![(x - 6, y), (x + 6, y)], colour, 2)),
        Marks::Bars(_) => (MarkStyle::Plain, Rectangle::new(square, style(colour).filled()).into_dyn()),
        Marks::Boxes(_) => (MarkStyle::Plain, Rectangle::new(square, style(colour)).into_dyn()),
    };
    Mark::new(style, "", vec![part])
}

/// The shape of a point.
fn glyph<C: Clone + 'static>(kind: Glyph, at: C, colour: impl Into<RGBAColor>) -> Element<C> {
    let line = ShapeStyle::from(colour.into()).stroke_width(2);
    let filled = line.filled();
    match kind {
        Glyph::Disc => Circle::new(at, 4, filled).into_dyn(),
        Glyph::Dot => Circle::new(at, 2, filled).into_dyn(),
        Glyph::Cross => Cross::new(at, 4, line).into_dyn(),
        Glyph::Ring => Circle::new(at, 7, line).into_dyn(),
        Glyph::Triangle => TriangleMarker::new(at, 6, filled).into_dyn(),
        Glyph::Diamond => {
            let corners = vec![(0, -6), (6, 0), (0, 6), (-6, 0)];
            (EmptyElement::<C, Canvas>::at(at) + Polygon::new(corners, filled)).into_dyn()
        }
    }
}

/// A line through points.
pub fn line<C: Clone + 'static>(places: Vec<C>, colour: Colour, width: u32) -> Element<C> {
    PathElement::new(places, style(colour).stroke_width(width)).into_dyn()
}

fn style_of(stroke: Stroke) -> MarkStyle {
    match stroke {
        Stroke::Solid => MarkStyle::Plain,
        Stroke::Dashed => MarkStyle::Dashed,
    }
}

/// A thin line in a colour.
pub fn style(colour: Colour) -> ShapeStyle {
    ShapeStyle::from(rgb(colour))
}

/// A colour on a light page.
pub fn rgb(colour: Colour) -> RGBColor {
    let (r, g, b) = colour.light;
    RGBColor(r, g, b)
}

/// The style of text with a size, a colour and an anchor.
pub fn text_style(size: i32, colour: Colour, anchor: Pos) -> TextStyle<'static> {
    TextStyle { font: ("sans-serif", size).into_font(), color: rgb(colour).to_backend_color(), pos: anchor }
}

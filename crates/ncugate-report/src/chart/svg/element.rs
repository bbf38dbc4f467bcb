//! Marks: groups of plotters' elements under one title.

use super::canvas::{Canvas, MarkStyle};
use crate::chart::palette::Colour;
use crate::chart::spec::{Glyph, Stroke};
use plotters::element::{
    Circle, Cross, Drawable, DynElement, EmptyElement, IntoDynElement, PathElement, PointCollection, Polygon,
    Rectangle, Text, TriangleMarker,
};
use plotters::style::text_anchor::Pos;
use plotters::style::{Color, IntoFont, RGBAColor, RGBColor, ShapeStyle, TextStyle};
use plotters_backend::{BackendCoord, DrawingErrorKind};
use std::convert::Infallible;

/// Size of text in pixels.
pub const TEXT: i32 = 13;
/// Size of ticks, labels and names in pixels.
pub const SMALL: i32 = 12;

/// An element at positions of type `C`: values of the axes, or pixels.
pub type Element<C> = DynElement<'static, Canvas, C>;

/// Elements that are drawn as one.
pub struct Mark<C: Clone> {
    manner: MarkStyle,
    title: String,
    parts: Vec<Element<C>>,
}

impl<C: Clone> Mark<C> {
    /// A mark of these parts, under a title that may be empty.
    pub fn new(title: &str, parts: Vec<Element<C>>) -> Self {
        Self { manner: MarkStyle::Plain, title: title.to_owned(), parts }
    }

    /// The mark in another style.
    pub fn styled(self, manner: MarkStyle) -> Self {
        Self { manner, ..self }
    }

    fn is_grouped(&self) -> bool {
        self.manner != MarkStyle::Plain || !self.title.is_empty()
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
        if self.is_grouped() {
            canvas.open(self.manner, &self.title);
        }
        for part in &self.parts {
            part.draw(places.by_ref().take(part.point_iter().len()), canvas, parent)?;
        }
        if self.is_grouped() {
            canvas.close();
        }
        Ok(())
    }
}

/// The shape of a point.
pub fn glyph<C: Clone + 'static>(kind: Glyph, at: C, colour: impl Into<RGBAColor>) -> Element<C> {
    let line = ShapeStyle::from(colour.into()).stroke_width(2);
    let filled = line.filled();
    match kind {
        Glyph::Disc => Circle::new(at, 4, filled).into_dyn(),
        Glyph::Dot => Circle::new(at, 2, filled).into_dyn(),
        Glyph::Cross => Cross::new(at, 4, line).into_dyn(),
        Glyph::Ring => Circle::new(at, 8, line).into_dyn(),
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

/// A filled rectangle between two corners.
pub fn filled<C: Clone + 'static>(corners: [C; 2], colour: Colour) -> Element<C> {
    Rectangle::new(corners, style(colour).filled()).into_dyn()
}

/// The outline of a rectangle between two corners.
pub fn outlined<C: Clone + 'static>(corners: [C; 2], colour: Colour) -> Element<C> {
    Rectangle::new(corners, style(colour)).into_dyn()
}

/// Text at a pixel.
pub fn text(words: &str, at: (i32, i32), style: TextStyle<'static>) -> Element<(i32, i32)> {
    Text::new(words.to_owned(), at, style).into_dyn()
}

/// The style of text with a size, a colour and an anchor.
pub fn text_style(size: i32, colour: Colour, anchor: Pos) -> TextStyle<'static> {
    TextStyle { font: ("sans-serif", size).into_font(), color: rgb(colour).to_backend_color(), pos: anchor }
}

/// The style of a line.
pub fn manner(stroke: Stroke) -> MarkStyle {
    match stroke {
        Stroke::Solid | Stroke::Thin => MarkStyle::Plain,
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

//! Draws a chart with plotters' SVG backend: same chart, same bytes.
//!
//! plotters writes one flat list of elements in fixed colours. Every series is drawn on a canvas of its own and put
//! into a `<g>` with a class, so that the page's style sheet owns the colours, and a point can carry a `<title>`.

use super::axis::Ruler;
use super::palette::{self, Colour};
use super::spec::{Across, Axis, Chart, Glyph, LimitLine, Marks, Point, Scale, Series, Stroke, Tone};
use plotters::coord::Shift;
use plotters::prelude::{
    Circle, Cross, DrawingArea, IntoDrawingArea, IntoFont, PathElement, Polygon, RGBColor, Rectangle, SVGBackend,
    ShapeStyle, Text, TriangleMarker,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontTransform, TextStyle};
use std::fmt::Write as _;

/// A chart that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("chart '{chart}' cannot be drawn: {reason}")]
pub struct DrawError {
    /// Id of the chart.
    pub chart: String,
    /// What plotters said.
    pub reason: String,
}

/// Where a drawing is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// In a page, which names it and owns its colours.
    Page,
    /// In a file of its own: with title, background and colours.
    File,
}

const WIDTH: i32 = 620;
const ROW: i32 = 25;
const TEXT: i32 = 16;
const LEGEND_ROW: i32 = 20;
/// Height of the line that says what the rows of a chart are.
const CAPTION: i32 = 18;
/// Ticks of a vertical axis, about.
const Y_TICKS: usize = 5;
/// Keeps a label readable over what it lies on.
const HALO: &str = " stroke=\"#fff\" stroke-width=\"4\" stroke-linejoin=\"round\" paint-order=\"stroke\"";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The chart as an SVG element.
pub fn draw(chart: &Chart, setting: Setting) -> Result<String, DrawError> {
    let mut drawing = Drawing::new(chart, setting);
    drawing.all().map_err(|e| DrawError { chart: chart.id.clone(), reason: e.to_string() })?;
    Ok(drawing.finish())
}

/// A drawing under way.
struct Drawing<'c> {
    chart: &'c Chart,
    setting: Setting,
    size: (i32, i32),
    x: Ruler,
    y: Ruler,
    /// Left, top, right, bottom of the plot.
    frame: (i32, i32, i32, i32),
    body: String,
}

impl<'c> Drawing<'c> {
    fn new(chart: &'c Chart, setting: Setting) -> Self {
        let title = if setting == Setting::File { 30 } else { 0 };
        let legend = legend_places(chart, 0).last().map_or(8, |(_, row)| 26 + row * LEGEND_ROW);
        let labels = if chart.limits.iter().any(|l| l.across == Across::X) { 16 } else { 0 };
        let named = if matches!(chart.y.scale, Scale::Names(_)) { CAPTION } else { 0 };
        let top = title + legend + labels + named;
        let (left, height) = match &chart.y.scale {
            Scale::Names(names) => {
                let longest = names.iter().map(|n| n.chars().count()).max().unwrap_or(0) as i32;
                ((longest * 7 + 20).clamp(70, 270), ROW * names.len().max(1) as i32)
            }
            Scale::Linear | Scale::Count | Scale::Zero | Scale::Log => {
                let ticks = Ruler::new(chart, Across::Y, (top + 290, top)).ticks(Y_TICKS);
                let longest = ticks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0) as i32;
                ((longest * 8 + 38).clamp(60, 160), 290)
            }
        };
        let frame = (left, top, WIDTH - 16, top + height);
        Self {
            chart,
            setting,
            size: (WIDTH, frame.3 + 46),
            x: Ruler::new(chart, Across::X, (frame.0, frame.2)),
            y: Ruler::new(chart, Across::Y, vertical(&chart.y, frame)),
            frame,
            body: String::new(),
        }
    }

    fn all(&mut self) -> Drawn {
        self.title()?;
        self.grid()?;
        self.captions()?;
        let chart = self.chart;
        for series in &chart.series {
            self.series(series)?;
        }
        self.limits()?;
        self.legend()
    }

    /// Draws on a fresh canvas and keeps what was drawn as a group.
    fn group(&mut self, colour: Colour, attributes: &str, title: &str, draw: impl FnOnce(&Area<'_>) -> Drawn) -> Drawn {
        let mut canvas = String::new();
        {
            let size = (self.size.0 as u32, self.size.1 as u32);
            let area = SVGBackend::with_string(&mut canvas, size).into_drawing_area();
            draw(&area)?;
            area.present()?;
        }
        let inner = canvas.split_once(">\n").map_or("", |(_, rest)| rest);
        let inner = inner.trim_end().strip_suffix("</svg>").unwrap_or(inner);
        let _ = write!(self.body, "<g class=\"{}\"{attributes}>", colour.class);
        if !title.is_empty() {
            let _ = write!(self.body, "<title>{}</title>", escape(title));
        }
        self.body.push_str(inner.trim_end());
        self.body.push_str("</g>\n");
        Ok(())
    }

    fn title(&mut self) -> Drawn {
        if self.setting == Setting::Page {
            return Ok(());
        }
        let size = self.size;
        self.group(palette::PAGE, "", "", |area| {
            Ok(area.draw(&Rectangle::new([(0, 0), size], style(palette::PAGE).filled()))?)
        })?;
        let title = self.chart.title.clone();
        self.group(palette::INK, " font-weight=\"600\"", "", |area| {
            write_text(area, &title, (16, 10), TEXT + 3, palette::INK, (HPos::Left, VPos::Top))
        })
    }

    fn grid(&mut self) -> Drawn {
        let (left, top, right, bottom) = self.frame;
        let named = matches!(self.chart.y.scale, Scale::Names(_));
        let x_ticks = self.x.ticks(8);
        let y_ticks = self.y.ticks(Y_TICKS);
        let (x, y) = (self.x.clone(), self.y.clone());
        self.group(palette::GRID, "", "", |area| {
            for (value, _) in x_ticks.iter().filter(|_| named) {
                line(area, &[(x.place(*value), top), (x.place(*value), bottom)], palette::GRID, 1)?;
            }
            for (value, _) in y_ticks.iter().filter(|_| !named) {
                line(area, &[(left, y.place(*value)), (right, y.place(*value))], palette::GRID, 1)?;
            }
            line(area, &[(left, bottom), (right, bottom)], palette::GRID, 1)
        })?;
        self.group(palette::QUIET, "", "", |area| {
            for (value, text) in &x_ticks {
                let at = (x.place(*value), bottom + 6);
                write_text(area, text, at, TEXT - 1, palette::QUIET, (HPos::Center, VPos::Top))?;
            }
            for (value, text) in &y_ticks {
                let text = crate::report::text::clip(text, 36);
                let at = (left - 8, y.place(*value));
                write_text(area, &text, at, TEXT - 1, palette::QUIET, (HPos::Right, VPos::Center))?;
            }
            Ok(())
        })
    }

    fn captions(&mut self) -> Drawn {
        let (left, top, right, bottom) = self.frame;
        let (x, y) = (self.chart.x.caption(), self.chart.y.caption());
        let named = matches!(self.chart.y.scale, Scale::Names(_));
        self.group(palette::INK, "", "", |area| {
            let at = ((left + right) / 2, bottom + 26);
            write_text(area, &x, at, TEXT, palette::INK, (HPos::Center, VPos::Top))?;
            if named {
                let y = crate::report::text::clip(&y, 86);
                let fits = y.chars().count() as i32 * 7 < left - 12;
                let (at, side) = if fits { (left - 8, HPos::Right) } else { (8, HPos::Left) };
                return write_text(area, &y, (at, top - 6), TEXT - 1, palette::INK, (side, VPos::Bottom));
            }
            let ink = rgb(palette::INK);
            let style = TextStyle::from(("sans-serif", TEXT).into_font())
                .transform(FontTransform::Rotate270)
                .color(&ink)
                .pos(Pos::new(HPos::Center, VPos::Top));
            Ok(area.draw(&Text::new(y, (10, (top + bottom) / 2), style))?)
        })
    }

    fn series(&mut self, series: &Series) -> Drawn {
        let colour = palette::colour(series.tone);
        let (x, y) = (self.x.clone(), self.y.clone());
        match &series.marks {
            Marks::Points(Glyph::Dot, points) => self.group(colour, " fill-opacity=\".4\"", "", |area| {
                points.iter().try_for_each(|p| glyph(area, Glyph::Dot, place(&x, &y, p), colour))
            }),
            Marks::Points(kind, points) => points.iter().try_for_each(|point| {
                let at = place(&x, &y, point);
                self.group(colour, "", &point.label, |area| glyph(area, *kind, at, colour))
            }),
            Marks::Line(stroke, points) => {
                let places: Vec<_> = points.iter().map(|(px, py)| (x.place(*px), y.place(*py))).collect();
                self.group(colour, dashes(*stroke), &series.name, |area| line(area, &places, colour, 2))
            }
            Marks::Bars(bars) => bars.iter().try_for_each(|bar| {
                let half = (y.row() * 3 / 10).max(2);
                let centre = y.place(bar.row as f64);
                let (from, to) = (x.place(bar.from), x.place(bar.to));
                let corners = [(from.min(to), centre - half), (from.max(to).max(from.min(to) + 1), centre + half)];
                self.group(colour, "", &bar.label, |area| {
                    Ok(area.draw(&Rectangle::new(corners, style(colour).filled()))?)
                })
            }),
            Marks::Boxes(boxes) => boxes.iter().try_for_each(|spread| {
                let half = (y.row() * 3 / 10).max(2);
                let centre = y.place(spread.row as f64);
                let at = spread.quartiles.map(|v| x.place(v));
                self.group(colour, "", &spread.label, |area| boxed(area, at, centre, half, colour))
            }),
            Marks::Cells(cells) => cells.iter().try_for_each(|cell| {
                let edges = (x.place(cell.from), x.place(cell.to));
                let (half, centre) = ((y.row() * 4 / 10).max(2), y.place(cell.row as f64));
                self.cell(edges, (centre - half, centre + half), cell)
            }),
        }
    }

    /// A column whose lower part fails, whose middle cannot be told, and whose rest holds (drawn as a thin line).
    fn cell(&mut self, (left, right): (i32, i32), (top, bottom): (i32, i32), cell: &super::spec::Cell) -> Drawn {
        let right = (right - 1).max(left + 1);
        let height = f64::from(bottom - top);
        let fail_top = bottom - (cell.fail * height).round() as i32;
        let unknown_top = fail_top - (cell.unknown * height).round() as i32;
        let parts = [
            (Tone::Bad, fail_top, bottom),
            (Tone::Muted, unknown_top, fail_top),
            (Tone::Good, top.max(unknown_top - (bottom - top) / 3), unknown_top),
        ];
        for (tone, from, to) in parts {
            if to > from {
                let colour = palette::colour(tone);
                self.group(colour, "", &cell.label, |area| {
                    Ok(area.draw(&Rectangle::new([(left, from), (right, to)], style(colour).filled()))?)
                })?;
            }
        }
        Ok(())
    }

    fn limits(&mut self) -> Drawn {
        let (left, top, right, bottom) = self.frame;
        // A label at the right end would lie on a vertical limit there.
        let crosses = |limit: &LimitLine| limit.across == Across::X && self.x.place(limit.value) > (left + right) / 2;
        let crossed = self.chart.limits.iter().any(crosses);
        for limit in &self.chart.limits {
            let (ends, at, anchor) = match limit.across {
                Across::X => {
                    let x = self.x.place(limit.value);
                    let side = if x > (left + right) / 2 { HPos::Right } else { HPos::Left };
                    ([(x, top), (x, bottom)], (x, top - 4), (side, VPos::Bottom))
                }
                Across::Y => {
                    let y = self.y.place(limit.value);
                    let (x, side) = if crossed { (left + 4, HPos::Left) } else { (right - 4, HPos::Right) };
                    ([(left, y), (right, y)], (x, y - 4), (side, VPos::Bottom))
                }
            };
            let colour = palette::LIMIT;
            self.group(colour, dashes(Stroke::Dashed), &limit.label, |area| line(area, &ends, colour, 2))?;
            let label = crate::report::text::clip(&limit.label, 48);
            let halo = Colour { class: "limit halo", ..colour };
            self.group(halo, HALO, "", |area| write_text(area, &label, at, TEXT - 1, colour, anchor))?;
        }
        Ok(())
    }

    fn legend(&mut self) -> Drawn {
        let top = if self.setting == Setting::File { 42 } else { 12 };
        let chart = self.chart;
        let named = chart.series.iter().filter(|s| !s.name.is_empty());
        for (series, (x, row)) in named.zip(legend_places(chart, 14)) {
            let y = top + row * LEGEND_ROW;
            let colour = palette::colour(series.tone);
            let name = legend_name(series);
            let attributes = match &series.marks {
                Marks::Line(stroke, _) => dashes(*stroke),
                _ => "",
            };
            self.group(colour, attributes, "", |area| match &series.marks {
                Marks::Points(kind, _) => glyph(area, *kind, (x, y), colour),
                Marks::Line(..) => line(area, &[(x - 6, y), (x + 6, y)], colour, 2),
                Marks::Bars(_) | Marks::Boxes(_) | Marks::Cells(_) => {
                    Ok(area.draw(&Rectangle::new([(x - 5, y - 5), (x + 5, y + 5)], style(colour).filled()))?)
                }
            })?;
            self.group(palette::QUIET, "", "", |area| {
                write_text(area, &name, (x + 12, y), TEXT - 1, palette::QUIET, (HPos::Left, VPos::Center))
            })?;
        }
        Ok(())
    }

    fn finish(self) -> String {
        let (width, height) = self.size;
        let Chart { id, title, alt, .. } = self.chart;
        let rules = match self.setting {
            Setting::Page => String::new(),
            Setting::File => format!(
                "<style>{}@media (prefers-color-scheme:dark){{{}}}</style>\n",
                palette::rules(|c| c.light, ""),
                palette::rules(|c| c.dark, "")
            ),
        };
        let (id, title, alt) = (escape(id), escape(title), escape(alt));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{title}. {alt}\" class=\"chart\" id=\"svg-{id}\" font-family=\"sans-serif\">\n\
             <title>{title}</title>\n{rules}{}</svg>\n",
            self.body
        )
    }
}

fn legend_name(series: &Series) -> String {
    crate::report::text::clip(&series.name, 28)
}

/// Left edge and row of every entry of the legend.
fn legend_places(chart: &Chart, left: i32) -> Vec<(i32, i32)> {
    let (mut x, mut row) = (left, 0);
    let mut places = Vec::new();
    for series in chart.series.iter().filter(|s| !s.name.is_empty()) {
        let width = 32 + legend_name(series).chars().count() as i32 * 7;
        if x > left && x + width > WIDTH - 14 + left {
            (x, row) = (left, row + 1);
        }
        places.push((x, row));
        x += width;
    }
    places
}

fn vertical(axis: &Axis, frame: (i32, i32, i32, i32)) -> (i32, i32) {
    match axis.scale {
        Scale::Names(_) => (frame.1, frame.3),
        Scale::Linear | Scale::Count | Scale::Zero | Scale::Log => (frame.3, frame.1),
    }
}

fn place(x: &Ruler, y: &Ruler, point: &Point) -> (i32, i32) {
    (x.place(point.x), y.place(point.y))
}

fn dashes(stroke: Stroke) -> &'static str {
    match stroke {
        Stroke::Solid => "",
        Stroke::Dashed => " stroke-dasharray=\"5 4\"",
    }
}

fn glyph(area: &Area<'_>, kind: Glyph, at: (i32, i32), colour: Colour) -> Drawn {
    let filled = style(colour).filled();
    match kind {
        Glyph::Disc => area.draw(&Circle::new(at, 4, filled))?,
        Glyph::Dot => area.draw(&Circle::new(at, 2, filled))?,
        Glyph::Cross => area.draw(&Cross::new(at, 4, style(colour).stroke_width(2)))?,
        Glyph::Ring => area.draw(&Circle::new(at, 8, style(colour).stroke_width(2)))?,
        Glyph::Triangle => area.draw(&TriangleMarker::new(at, 6, filled))?,
        Glyph::Diamond => {
            let (x, y) = at;
            let corners = vec![(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)];
            area.draw(&Polygon::new(corners, filled))?;
        }
    }
    Ok(())
}

fn boxed(area: &Area<'_>, at: [i32; 5], centre: i32, half: i32, colour: Colour) -> Drawn {
    let [least, first, median, third, most] = at;
    line(area, &[(least, centre), (first, centre)], colour, 1)?;
    line(area, &[(third, centre), (most, centre)], colour, 1)?;
    area.draw(&Rectangle::new([(first, centre - half), (third.max(first + 1), centre + half)], style(colour)))?;
    line(area, &[(median, centre - half), (median, centre + half)], colour, 3)
}

fn line(area: &Area<'_>, places: &[(i32, i32)], colour: Colour, width: u32) -> Drawn {
    Ok(area.draw(&PathElement::new(places.to_vec(), style(colour).stroke_width(width)))?)
}

fn write_text(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    size: i32,
    colour: Colour,
    (horizontal, vertical): (HPos, VPos),
) -> Drawn {
    let colour = rgb(colour);
    let style = TextStyle::from(("sans-serif", size).into_font()).color(&colour).pos(Pos::new(horizontal, vertical));
    Ok(area.draw(&Text::new(text.to_owned(), at, style))?)
}

fn style(colour: Colour) -> ShapeStyle {
    ShapeStyle::from(rgb(colour))
}

fn rgb(colour: Colour) -> RGBColor {
    let (r, g, b) = colour.light;
    RGBColor(r, g, b)
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

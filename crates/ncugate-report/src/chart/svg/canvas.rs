//! A plotters backend that writes SVG: every colour has a class, elements have groups, groups have titles.
//!
//! plotters' own SVG backend fixes the colours. Here an element has the class of its colour in the [`palette`], so that
//! the style sheet of a page chooses light or dark. The literal colour is that of a light page.

use crate::chart::{Chart, palette};
use plotters::style::FontStyle;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind};
use std::convert::Infallible;
use std::fmt::{self, Write as _};

/// Approximate width of a character relative to the font size. No font is available to measure.
const CHARACTER: f64 = 0.58;
/// Distance of two lines of a text, in font sizes.
const LEADING: f64 = 1.15;

/// How the elements of a group are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkStyle {
    Plain,
    Dashed,
    /// Over a halo in the colour of the page, which keeps overlapping text readable.
    Halo,
}

impl MarkStyle {
    fn attributes(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dashed => " stroke-dasharray=\"5 4\"",
            Self::Halo => {
                " class=\"halo\" stroke=\"#fff\" stroke-width=\"4\" stroke-linejoin=\"round\" paint-order=\"stroke\""
            }
        }
    }
}

/// An SVG document under construction.
#[derive(Debug)]
pub struct Canvas {
    size: (u32, u32),
    svg: String,
}

impl Canvas {
    /// A document of this width and height in pixels, with style rules unless the page has them.
    pub fn new((width, height): (i32, i32), chart: &Chart, rules: &str) -> Self {
        let (id, title, alt) = (EscapedText(&chart.id), EscapedText(&chart.title), EscapedText(&chart.alt));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{title}. {alt}\" class=\"chart\" id=\"svg-{id}\" font-family=\"sans-serif\">\n\
             <title>{title}</title>\n"
        );
        if !rules.is_empty() {
            let _ = writeln!(svg, "<style>{rules}</style>");
        }
        Self { size: (width.unsigned_abs(), height.unsigned_abs()), svg }
    }

    /// Opens a group. Its title is shown as a tooltip.
    pub fn open(&mut self, manner: MarkStyle, title: &str) {
        let _ = write!(self.svg, "<g{}>", manner.attributes());
        if !title.is_empty() {
            let _ = write!(self.svg, "<title>{}</title>", EscapedText(title));
        }
    }

    /// Closes the innermost group.
    pub fn close(&mut self) {
        self.svg.push_str("</g>\n");
    }

    /// Returns the document and leaves the canvas empty.
    pub fn finish(&mut self) -> String {
        let mut svg = std::mem::take(&mut self.svg);
        svg.push_str("</svg>\n");
        svg
    }

    /// Adds an element unless its colour is that of invisible elements of plotters.
    fn element(&mut self, color: BackendColor, element: fmt::Arguments<'_>) -> SvgResult {
        if color.alpha > 0.0 {
            let _ = writeln!(self.svg, "{element}");
        }
        Ok(())
    }
}

type SvgResult = Result<(), DrawingErrorKind<Infallible>>;

impl DrawingBackend for Canvas {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> SvgResult {
        Ok(())
    }

    fn present(&mut self) -> SvgResult {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> SvgResult {
        self.draw_rect(at, at, &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> SvgResult {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.element(
            style.color(),
            format_args!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"{}/>", Paint::stroke(style)),
        )
    }

    /// A filled rectangle is at least one pixel wide and high, so that small values stay visible.
    fn draw_rect<S: BackendStyle>(&mut self, a: BackendCoord, b: BackendCoord, style: &S, fill: bool) -> SvgResult {
        let (x, y) = (a.0.min(b.0), a.1.min(b.1));
        let (width, height) = (a.0.abs_diff(b.0).max(1), a.1.abs_diff(b.1).max(1));
        let paint = Paint::new(style, fill);
        self.element(
            style.color(),
            format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{paint}/>"),
        )
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> SvgResult {
        self.element(style.color(), format_args!("<polyline points=\"{}\"{}/>", points(path), Paint::new(style, false)))
    }

    fn draw_circle<S: BackendStyle>(&mut self, at: BackendCoord, radius: u32, style: &S, fill: bool) -> SvgResult {
        let (x, y) = at;
        self.element(
            style.color(),
            format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{}/>", Paint::new(style, fill)),
        )
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> SvgResult {
        self.element(style.color(), format_args!("<polygon points=\"{}\"{}/>", points(path), Paint::new(style, true)))
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> SvgResult {
        let (x, y) = at;
        let anchor = match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Center => "middle",
            HPos::Right => "end",
        };
        let lines: Vec<&str> = text.split('\n').collect();
        let more = (lines.len() - 1) as f64;
        // Position of the first baseline, in font sizes.
        let down = match style.anchor().v_pos {
            VPos::Top => 0.76,
            VPos::Center => 0.27 - more * LEADING / 2.0,
            VPos::Bottom => -0.27 - more * LEADING,
        };
        let weight = if matches!(style.style(), FontStyle::Bold) { " font-weight=\"600\"" } else { "" };
        let (size, paint) = (style.size(), Paint::fill(style.color()));
        let spans: String = (lines.iter().enumerate())
            .map(|(at, line)| match at {
                0 => EscapedText(line).to_string(),
                _ => format!("<tspan x=\"{x}\" dy=\"{LEADING}em\">{}</tspan>", EscapedText(line)),
            })
            .collect();
        self.element(
            style.color(),
            format_args!(
                "<text x=\"{x}\" y=\"{y}\" dy=\"{down:.2}em\" text-anchor=\"{anchor}\" font-size=\"{size}\"{weight}{paint}>{spans}</text>"
            ),
        )
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let longest = text.split('\n').map(|line| line.chars().count()).max().unwrap_or(0);
        let height = style.size() * (1.0 + LEADING * text.matches('\n').count() as f64);
        Ok(((longest as f64 * style.size() * CHARACTER).ceil() as u32, height.ceil() as u32))
    }
}

fn points(path: impl IntoIterator<Item = BackendCoord>) -> String {
    let places: Vec<String> = path.into_iter().map(|(x, y)| format!("{x},{y}")).collect();
    places.join(" ")
}

/// The attributes of a colour: ` class="pass" fill="#007a61"`.
struct Paint {
    color: BackendColor,
    /// Width of the line; none for a filled shape.
    stroke: Option<u32>,
    /// Whether the shape has an inside that must stay empty.
    hollow: bool,
}

impl Paint {
    /// The inside of a shape, or its outline.
    fn new(style: &impl BackendStyle, fill: bool) -> Self {
        if fill {
            return Self::fill(style.color());
        }
        Self { hollow: true, ..Self::stroke(style) }
    }

    fn fill(color: BackendColor) -> Self {
        Self { color, stroke: None, hollow: false }
    }

    fn stroke(style: &impl BackendStyle) -> Self {
        Self { color: style.color(), stroke: Some(style.stroke_width()), hollow: false }
    }
}

impl fmt::Display for Paint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BackendColor { rgb: (r, g, b), alpha } = self.color;
        let property = if self.stroke.is_some() { "stroke" } else { "fill" };
        if let Some(class) = palette::class((r, g, b)) {
            write!(f, " class=\"{class}\"")?;
        }
        if self.hollow {
            f.write_str(" fill=\"none\"")?;
        }
        write!(f, " {property}=\"#{r:02x}{g:02x}{b:02x}\"")?;
        if alpha < 1.0 {
            write!(f, " {property}-opacity=\"{alpha}\"")?;
        }
        match self.stroke {
            Some(width) if width != 1 => write!(f, " stroke-width=\"{width}\""),
            _ => Ok(()),
        }
    }
}

/// Text escaped for markup, without characters that XML 1.0 forbids.
struct EscapedText<'a>(&'a str);

impl fmt::Display for EscapedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(' ')?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::ChartTable;
    use plotters::style::{BLACK, Color, RGBColor, ShapeStyle};

    fn drawn(draw: impl FnOnce(&mut Canvas) -> SvgResult) -> String {
        let text = |text: &str| text.to_owned();
        let (panels, table) = (Vec::new(), ChartTable::default());
        let chart = Chart { id: text("a"), title: text("A"), note: text(""), alt: text("Nothing."), panels, table };
        let mut canvas = Canvas::new((20, 10), &chart, "");
        assert!(draw(&mut canvas).is_ok());
        let svg = canvas.finish();
        svg.lines().skip(2).filter(|line| *line != "</svg>").collect()
    }

    #[test]
    fn a_colour_of_the_palette_has_its_class() {
        let (r, g, b) = palette::SERIES[0].light;
        let purple = RGBColor(r, g, b);
        assert_eq!(
            drawn(|canvas| canvas.draw_rect((9, 8), (2, 3), &purple.filled(), true)),
            "<rect x=\"2\" y=\"3\" width=\"7\" height=\"5\" class=\"series-0\" fill=\"#7a3db8\"/>"
        );
        assert_eq!(
            drawn(|canvas| canvas.draw_circle((1, 2), 3, &ShapeStyle::from(purple.mix(0.4)).stroke_width(2), false)),
            "<circle cx=\"1\" cy=\"2\" r=\"3\" class=\"series-0\" fill=\"none\" stroke=\"#7a3db8\" stroke-opacity=\"0.4\" stroke-width=\"2\"/>"
        );
        assert_eq!(
            drawn(|canvas| canvas.draw_path([(0, 1), (2, 3)], &BLACK)),
            "<polyline points=\"0,1 2,3\" fill=\"none\" stroke=\"#000000\"/>"
        );
    }

    #[test]
    fn transparent_lines_are_left_out_and_thin_rectangles_drawn() {
        assert_eq!(drawn(|canvas| canvas.draw_line((0, 0), (9, 9), &BLACK.mix(0.0))), "");
        assert!(
            drawn(|canvas| canvas.draw_rect((5, 5), (5, 8), &BLACK.filled(), true))
                .contains("width=\"1\" height=\"3\"")
        );
    }

    #[test]
    fn groups_have_titles_and_text_is_escaped() {
        let svg = drawn(|canvas| {
            canvas.open(MarkStyle::Dashed, "a < b & \u{0} c");
            canvas.close();
            Ok(())
        });
        assert_eq!(svg, "<g stroke-dasharray=\"5 4\"><title>a &lt; b &amp; \u{fffd} c</title></g>");
    }
}

//! Draws a chart with plotters: same chart, same bytes.
//!
//! plotters provides coordinates, ticks, mesh, axes, legend and elements. Ours is the backend (`canvas`), which writes SVG
//! with colours that a style sheet can set.

mod axis;
mod canvas;
mod marks;
mod panel;
mod words;

use super::palette;
use super::spec::{Chart, ChartTable, Series};
use canvas::Canvas;
use marks::{Mark, SMALL, rgb, text_style};
use panel::PanelLayout;
use plotters::chart::{ChartBuilder, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::element::Text;
use plotters::style::FontStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::Serialize;
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

#[cfg(test)]
mod tests;

/// Width of a drawing in pixels.
const WIDTH: i32 = 620;
/// Most panels side by side.
const COLUMNS: usize = 2;
/// Size of the title of a file in pixels, and the height of its lines.
const TITLE: (i32, i32) = (16, 19);
/// Space left of title and legend, and above them.
const MARGIN: (i32, i32) = (16, 10);
/// Width of a symbol of the legend, with the space right of it, and height of a line: plotters' 1.25 of the font.
const SYMBOL: (i32, i32) = (22, SMALL * 5 / 4);

/// An area of the drawing, in pixels.
type Area = DrawingArea<Canvas, Shift>;
/// Result of plotters: writing SVG cannot fail, but a layout can.
type PlotResult = Result<(), DrawingAreaErrorKind<Infallible>>;

/// The destination of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// In a page, which names it and owns its colours.
    Page,
    /// In a standalone file, with title, background and colours.
    File,
}

/// A chart that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("chart '{chart}' cannot be drawn: {reason}")]
pub struct DrawError {
    pub chart: String,
    pub reason: String,
}

/// A chart drawn for a page.
#[derive(Serialize)]
pub struct Drawing<'a> {
    id: &'a str,
    title: &'a str,
    note: &'a str,
    svg: String,
    table: &'a ChartTable,
}

impl<'a> Drawing<'a> {
    /// # Errors
    ///
    /// plotters refuses the layout.
    pub fn new(chart: &'a Chart) -> Result<Self, DrawError> {
        let svg = draw(chart, Setting::Page)?;
        Ok(Self { id: &chart.id, title: &chart.title, note: &chart.note, svg, table: &chart.table })
    }
}

/// The chart as an SVG element; panels are side by side.
///
/// # Errors
///
/// plotters refuses the layout.
pub fn draw(chart: &Chart, setting: Setting) -> Result<String, DrawError> {
    let (title, rules) = match setting {
        Setting::Page => (String::new(), String::new()),
        Setting::File => {
            let rules = format!(":root{{color-scheme:light dark}}{}", palette::rules());
            // Letters of a title are larger than those that `words` measures.
            (words::wrapped(&chart.title, (WIDTH - 2 * MARGIN.0) * SMALL / TITLE.0), rules)
        }
    };
    let legend = legend(chart);
    let lines: usize = legend.iter().map(|(_, name)| name.lines().count()).sum();
    let above = MARGIN.1 + TITLE.1 * title.lines().count() as i32;
    let top = above + if lines == 0 { 0 } else { SYMBOL.1 * lines as i32 + MARGIN.1 };
    let columns = chart.panels.len().clamp(1, COLUMNS);
    let layouts: Vec<PanelLayout> =
        chart.panels.iter().map(|panel| PanelLayout::new(panel, WIDTH / columns as i32, columns)).collect();
    let heights = layouts.chunks(columns).map(|row| row.iter().map(|layout| layout.height).max().unwrap_or(0));
    let heights: Vec<i32> = heights.collect();
    let height = top + heights.iter().sum::<i32>();
    let canvas = Rc::new(RefCell::new(Canvas::new((WIDTH, height), chart, &rules)));
    let fill = |area: Area| -> PlotResult {
        if setting == Setting::File {
            area.fill(&rgb(palette::PAGE))?;
            let mut style = text_style(TITLE.0, palette::INK, Pos::new(HPos::Left, VPos::Top));
            style.font = style.font.style(FontStyle::Bold);
            area.draw(&Text::new(title, MARGIN, style))?;
        }
        if lines > 0 {
            draw_legend(&area.clone().shrink((MARGIN.0, above), (WIDTH - MARGIN.0, top - above)), legend)?;
        }
        let mut y = top;
        for ((panels, layouts), height) in chart.panels.chunks(columns).zip(layouts.chunks(columns)).zip(&heights) {
            for (column, (panel, layout)) in panels.iter().zip(layouts).enumerate() {
                layout.draw(&area, panel, (layout.width * column as i32, y))?;
            }
            y += height;
        }
        Ok(())
    };
    fill(Area::from(&canvas)).map_err(|error| DrawError { chart: chart.id.clone(), reason: error.to_string() })?;
    let svg = canvas.borrow_mut().finish();
    Ok(svg)
}

/// The drawn series that have a name, each name once, in lines.
fn legend(chart: &Chart) -> Vec<(&Series, String)> {
    let mut entries: Vec<(&Series, String)> = Vec::new();
    for series in chart.panels.iter().flat_map(|panel| &panel.series) {
        let is_known = entries.iter().any(|(known, _)| known.name == series.name);
        if !series.name.is_empty() && !is_known && marks::is_drawn(&series.marks) {
            entries.push((series, words::wrapped(&series.name, WIDTH - 2 * MARGIN.0 - SYMBOL.0)));
        }
    }
    entries
}

/// The legend of plotters, above the plots, where it hides no data.
fn draw_legend(area: &Area, entries: Vec<(&Series, String)>) -> PlotResult {
    let mut plot = ChartBuilder::on(area).build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
    for (series, name) in entries {
        for at in 0..name.lines().count() {
            // plotters gives a label one line; blank ones make room for the further lines of a name.
            let label = if at == 0 { name.as_str() } else { " " };
            let entry = plot.draw_series(std::iter::empty::<Mark<(f64, f64)>>())?.label(label);
            if at == 0 {
                entry.legend(|(x, y)| marks::key(series, (x + 6, y + 1)));
            }
        }
    }
    plot.configure_series_labels()
        .position(SeriesLabelPosition::Coordinate(0, 0))
        .margin(0)
        .legend_area_size(SYMBOL.0)
        .label_font(text_style(SMALL, palette::QUIET, Pos::new(HPos::Left, VPos::Top)))
        .draw()
}

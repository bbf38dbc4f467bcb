//! The legend: names of series in lines above the plot, where they hide no data.

use super::element::{Mark, SMALL, filled, glyph, line, manner, rgb, text, text_style};
use super::surface::{Area, PlotResult, WIDTH};
use crate::chart::palette;
use crate::chart::spec::{Chart, Marks, Series};
use ncugate_model::number::text::clip;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Height of a line.
const LINE: i32 = 20;
/// Space around the legend.
const MARGIN: i32 = 14;
/// Longest name, in characters.
const NAME: usize = 28;

/// Height of the legend of a chart, with the space below it.
pub fn height(chart: &Chart) -> i32 {
    places(chart).last().map_or(8, |(_, line)| 26 + line * LINE)
}

/// Draws the legend of a chart from a pixel down.
pub fn draw(area: &Area, chart: &Chart, top: i32) -> PlotResult {
    for (series, (x, line)) in named(chart).zip(places(chart)) {
        let y = top + 12 + line * LINE;
        area.draw(&key(series, (x, y)))?;
        let style = text_style(SMALL, palette::QUIET, Pos::new(HPos::Left, VPos::Center));
        area.draw(&text(&name(series), (x + 12, y), style))?;
    }
    Ok(())
}

fn named(chart: &Chart) -> impl Iterator<Item = &Series> {
    chart.series.iter().filter(|series| !series.name.is_empty())
}

fn name(series: &Series) -> String {
    clip(&series.name, NAME)
}

/// Left edge and line of every entry.
fn places(chart: &Chart) -> Vec<(i32, i32)> {
    let (mut x, mut line) = (MARGIN, 0);
    let mut places = Vec::new();
    for series in named(chart) {
        let width = 32 + name(series).chars().count() as i32 * 7;
        if x > MARGIN && x + width > WIDTH {
            (x, line) = (MARGIN, line + 1);
        }
        places.push((x, line));
        x += width;
    }
    places
}

/// The symbol of a series.
fn key(series: &Series, (x, y): (i32, i32)) -> Mark<(i32, i32)> {
    let colour = palette::colour(series.tone);
    match &series.marks {
        Marks::Points(kind, _) => Mark::new("", vec![glyph(*kind, (x, y), rgb(colour))]),
        Marks::Line(stroke, _) => {
            Mark::new("", vec![line(vec![(x - 6, y), (x + 6, y)], colour, 2)]).styled(manner(*stroke))
        }
        Marks::Bars(_) | Marks::Boxes(_) | Marks::Columns(_) => {
            Mark::new("", vec![filled([(x - 5, y - 5), (x + 5, y + 5)], colour)])
        }
    }
}

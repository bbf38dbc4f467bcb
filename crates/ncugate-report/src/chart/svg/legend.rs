//! The legend: names of series in lines above the plot, where they hide no data.

use super::element::{Mark, SMALL, filled, glyph, line, manner, outlined, rgb, text, text_style};
use super::series::is_drawn;
use super::surface::{Area, PlotResult, WIDTH};
use super::words;
use crate::chart::palette;
use crate::chart::spec::{Chart, Marks, Series};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Height of a line of entries with names of one line.
const LINE: i32 = 20;
/// Space around the legend.
const MARGIN: i32 = 14;
/// Width of a symbol, with the space right of a name.
const SYMBOL: i32 = 32;

/// A legend of one or several charts.
pub struct Legend<'c> {
    entries: Vec<LegendEntry<'c>>,
    height: i32,
}

struct LegendEntry<'c> {
    series: &'c Series,
    /// Its name, in lines.
    name: String,
    /// Left edge and top.
    at: (i32, i32),
}

impl<'c> Legend<'c> {
    /// The series of the charts that have a name, each name once.
    pub fn new(charts: &'c [Chart]) -> Self {
        let (mut x, mut y, mut tall) = (MARGIN, 0, LINE);
        let mut entries: Vec<LegendEntry<'_>> = Vec::new();
        for series in charts.iter().flat_map(|chart| &chart.series) {
            let known = entries.iter().any(|entry| entry.series.name == series.name);
            if series.name.is_empty() || known || !is_drawn(&series.marks) {
                continue;
            }
            let name = words::wrapped(&series.name, WIDTH - 2 * MARGIN - SYMBOL);
            let width = SYMBOL + words::width(&name);
            if x > MARGIN && x + width > WIDTH {
                (x, y, tall) = (MARGIN, y + tall, LINE);
            }
            tall = tall.max(words::height(&name) + LINE - words::LINE);
            entries.push(LegendEntry { series, name, at: (x, y) });
            x += width;
        }
        let height = if entries.is_empty() { 0 } else { y + tall + MARGIN / 2 };
        Self { entries, height }
    }

    /// Height, with the space below it; 0 without entries.
    pub fn height(&self) -> i32 {
        self.height
    }

    /// Draws the entries from a pixel down.
    pub fn draw(&self, area: &Area, top: i32) -> PlotResult {
        self.entries.iter().try_for_each(|entry| {
            let (x, y) = (entry.at.0, top + entry.at.1 + LINE / 2 + 2);
            area.draw(&key(entry.series, (x, y)))?;
            let style = text_style(SMALL, palette::QUIET, Pos::new(HPos::Left, VPos::Top));
            area.draw(&text(&entry.name, (x + 12, y - SMALL / 2), style))
        })
    }
}

/// The symbol of a series.
fn key(series: &Series, (x, y): (i32, i32)) -> Mark<(i32, i32)> {
    let colour = palette::colour(series.tone);
    match &series.marks {
        Marks::Points(kind, _) => Mark::new("", vec![glyph(*kind, (x, y), rgb(colour))]),
        Marks::Line(stroke, _) => {
            Mark::new("", vec![line(vec![(x - 6, y), (x + 6, y)], colour, 2)]).styled(manner(*stroke))
        }
        Marks::Bars(_) | Marks::Columns(_) => Mark::new("", vec![filled([(x - 5, y - 5), (x + 5, y + 5)], colour)]),
        Marks::Boxes(_) => Mark::new("", vec![outlined([(x - 5, y - 5), (x + 5, y + 5)], colour)]),
    }
}

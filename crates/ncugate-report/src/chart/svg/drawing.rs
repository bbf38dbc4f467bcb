//! Charts on a canvas: plotters' charts with our marks and texts, under one title and one legend.

use super::canvas::{Canvas, SvgHead};
use super::element::{SMALL, TEXT, rgb, style, text, text_style};
use super::layout::{DrawingLayout, EDGE, PlotHeight, RIGHT};
use super::legend::Legend;
use super::surface::{Area, COLUMNS, Plot, PlotResult, Setting, WIDTH};
use super::{limits, series, words};
use crate::chart::palette;
use crate::chart::spec::{Chart, Figure, Scale};
use plotters::chart::{ChartBuilder, LabelAreaPosition};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, TextStyle};
use std::cell::RefCell;
use std::rc::Rc;

/// A chart that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("chart '{chart}' cannot be drawn: {reason}")]
pub struct DrawError {
    pub chart: String,
    pub reason: String,
}

/// Size of the title of a file in pixels, and the height of its lines.
const TITLE: (i32, i32) = (TEXT + 3, 19);
/// Space left of a title and above it.
const MARGIN: (i32, i32) = (16, 10);

/// The chart as an SVG element: the same bytes for the same chart.
///
/// # Errors
///
/// plotters refuses the layout.
pub fn draw(chart: &Chart, setting: Setting) -> Result<String, DrawError> {
    let head = SvgHead { id: &chart.id, title: &chart.title, alt: &chart.alt, rules: &rules(setting) };
    document(&head, std::slice::from_ref(chart), 1, setting)
}

/// A figure as an SVG element; panels are side by side.
///
/// # Errors
///
/// plotters refuses the layout.
pub fn draw_figure(figure: &Figure, setting: Setting) -> Result<String, DrawError> {
    match figure {
        Figure::Chart(chart) => draw(chart, setting),
        Figure::Grid(grid) => {
            let head = SvgHead { id: &grid.id, title: &grid.title, alt: &grid.alt, rules: &rules(setting) };
            document(&head, &grid.panels, COLUMNS.min(grid.panels.len().max(1) as i32), setting)
        }
    }
}

/// Style rules that a file brings and a page has.
fn rules(setting: Setting) -> String {
    match setting {
        Setting::Page => String::new(),
        Setting::File => {
            let (light, dark) = (palette::rules(|c| c.light, ""), palette::rules(|c| c.dark, ""));
            format!("{light}@media (prefers-color-scheme:dark){{{dark}}}")
        }
    }
}

fn document(head: &SvgHead<'_>, charts: &[Chart], columns: i32, setting: Setting) -> Result<String, DrawError> {
    let refused = |error: &dyn std::fmt::Display| DrawError { chart: head.id.to_owned(), reason: error.to_string() };
    let title = match setting {
        Setting::Page => String::new(),
        // Letters of a title are larger than those that `words` measures.
        Setting::File => words::wrapped(head.title, (WIDTH - 2 * MARGIN.0) * SMALL / TITLE.0),
    };
    let above = MARGIN.1 + TITLE.1 * title.lines().count() as i32;
    let legend = Legend::new(charts);
    let plot = if columns == 1 { PlotHeight::Chart } else { PlotHeight::Panel };
    let (width, count) = (WIDTH / columns, columns as usize);
    let layouts: Vec<DrawingLayout> = charts.iter().map(|chart| DrawingLayout::new(chart, width, plot)).collect();
    let heights: Vec<i32> =
        layouts.chunks(count).map(|row| row.iter().map(|layout| layout.height).max().unwrap_or(0)).collect();
    let height = above + legend.height() + heights.iter().sum::<i32>();
    let canvas = Rc::new(RefCell::new(Canvas::new((WIDTH.unsigned_abs(), height.unsigned_abs()), head)));
    around(&Area::from(&canvas), &title, &legend, above, setting).map_err(|error| refused(&error))?;
    let mut y = above + legend.height();
    let mut rows = heights.into_iter();
    let mut row = 0;
    for (at, (chart, layout)) in charts.iter().zip(layouts).enumerate() {
        let column = at % count;
        if column == 0 {
            y += row;
            row = rows.next().unwrap_or(0);
        }
        let part = Rc::new(RefCell::new(Canvas::part((width.unsigned_abs(), layout.height.unsigned_abs()))));
        panel(&Area::from(&part), chart, layout).map_err(|error| refused(&error))?;
        let elements = part.borrow_mut().elements();
        canvas.borrow_mut().add((width * column as i32, y), &elements);
    }
    let svg = canvas.borrow_mut().finish();
    Ok(svg)
}

/// Background and title of a file, and the legend.
fn around(area: &Area, title: &str, legend: &Legend<'_>, above: i32, setting: Setting) -> PlotResult {
    if setting == Setting::File {
        area.fill(&rgb(palette::PAGE))?;
        let mut style = text_style(TITLE.0, palette::INK, Pos::new(HPos::Left, VPos::Top));
        style.font = style.font.style(FontStyle::Bold);
        area.draw(&text(title, MARGIN, style))?;
    }
    legend.draw(area, above)
}

fn panel(area: &Area, chart: &Chart, layout: DrawingLayout) -> PlotResult {
    let DrawingLayout { width, height, ref caption, caption_end, ref x_caption, .. } = layout;
    let label = |colour, side, end| text_style(SMALL, colour, Pos::new(side, end));
    area.draw(&text(caption, (EDGE.0, caption_end), label(palette::INK, HPos::Left, VPos::Bottom)))?;
    let middle = (layout.left + width - RIGHT) / 2;
    // A long caption stays inside the picture.
    let half = words::width(x_caption) / 2;
    let x = middle.min(width - EDGE.0 - half).max(EDGE.0 + half);
    area.draw(&text(x_caption, (x, height - EDGE.1), label(palette::INK, HPos::Center, VPos::Bottom)))?;
    let mut plot = ChartBuilder::on(area)
        .margin_top(layout.top)
        .margin_right(RIGHT)
        .margin_left(EDGE.0)
        .margin_bottom(EDGE.1)
        .x_label_area_size(layout.below)
        .y_label_area_size(layout.left - EDGE.0)
        .build_cartesian_2d(layout.x.clone(), layout.y.clone())?;
    mesh(&mut plot, chart)?;
    if !chart.series.iter().any(series::has_values) {
        return nothing(area, &plot, chart);
    }
    chart.series.iter().try_for_each(|one| series::draw(&mut plot, one))?;
    limits::draw(area, &mut plot, chart, &layout)
}

/// The reason in the middle of a chart without values.
fn nothing(area: &Area, plot: &Plot<'_>, chart: &Chart) -> PlotResult {
    let (columns, rows) = plot.plotting_area().get_pixel_range();
    let reason = if chart.note.is_empty() { "no value was measured" } else { chart.note.as_str() };
    let reason = words::wrapped(reason, columns.end - columns.start - 2 * EDGE.0);
    let middle = ((columns.start + columns.end) / 2, (rows.start + rows.end) / 2);
    area.draw(&text(&reason, middle, text_style(SMALL, palette::QUIET, Pos::new(HPos::Center, VPos::Center))))
}

/// Grid, ticks and labels. The grid lines follow the values and cross the rows, not columns of points.
fn mesh(plot: &mut Plot<'_>, chart: &Chart) -> PlotResult {
    let mut mesh = plot.configure_mesh();
    let labels: TextStyle<'static> = text_style(SMALL, palette::QUIET, Pos::default());
    mesh.bold_line_style(style(palette::GRID))
        .axis_style(style(palette::GRID))
        .label_style(labels)
        .set_tick_mark_size(LabelAreaPosition::Bottom, 3)
        .set_tick_mark_size(LabelAreaPosition::Left, 4);
    match chart.y.scale {
        Scale::Names(_) => mesh.disable_y_mesh(),
        Scale::Linear | Scale::Count | Scale::Zero | Scale::Log | Scale::Extents(_) => mesh.disable_x_mesh(),
    };
    if matches!(chart.x.scale, Scale::Names(_)) {
        mesh.disable_x_mesh();
    }
    mesh.draw()
}

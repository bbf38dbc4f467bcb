//! A chart on a canvas: plotters' chart with our marks and texts.

use super::canvas::{Canvas, MarkStyle, SvgHead};
use super::element::{Mark, SMALL, TEXT, line, rgb, style, text, text_style};
use super::layout::{BELOW, DrawingLayout, EDGE, RIGHT};
use super::ruler::Ruler;
use super::surface::{Area, Plot, PlotResult, Setting, WIDTH};
use super::{legend, series};
use crate::chart::palette;
use crate::chart::spec::{Chart, LimitLine, LineAxis, Scale};
use ncugate_model::number::text::clip;
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

/// Longest label of a limit, in characters.
const LABEL: usize = 48;
/// Longest caption of named rows, in characters.
const CAPTION: usize = 86;

/// The chart as an SVG element: the same bytes for the same chart.
///
/// # Errors
///
/// plotters refuses the layout.
pub fn draw(chart: &Chart, setting: Setting) -> Result<String, DrawError> {
    let y = Ruler::new(chart, LineAxis::Y);
    let layout = DrawingLayout::new(chart, &y, setting);
    let rules = match setting {
        Setting::Page => String::new(),
        Setting::File => {
            let (light, dark) = (palette::rules(|c| c.light, ""), palette::rules(|c| c.dark, ""));
            format!("{light}@media (prefers-color-scheme:dark){{{dark}}}")
        }
    };
    let head = SvgHead { id: &chart.id, title: &chart.title, alt: &chart.alt, rules: &rules };
    let canvas = Rc::new(RefCell::new(Canvas::new((WIDTH.unsigned_abs(), layout.height.unsigned_abs()), &head)));
    let drawn = whole(&Area::from(&canvas), chart, y, layout, setting);
    drawn.map_err(|error| DrawError { chart: chart.id.clone(), reason: error.to_string() })?;
    let svg = canvas.borrow_mut().finish();
    Ok(svg)
}

fn whole(area: &Area, chart: &Chart, y: Ruler, layout: DrawingLayout, setting: Setting) -> PlotResult {
    if setting == Setting::File {
        area.fill(&rgb(palette::PAGE))?;
        title(area, &chart.title)?;
    }
    let mut plot = ChartBuilder::on(area)
        .margin_top(layout.top)
        .margin_right(RIGHT)
        .margin_left(EDGE.0)
        .margin_bottom(EDGE.1)
        .x_label_area_size(BELOW)
        .y_label_area_size(layout.left - EDGE.0)
        .build_cartesian_2d(Ruler::new(chart, LineAxis::X), y)?;
    mesh(&mut plot, chart)?;
    if matches!(chart.y.scale, Scale::Names(_)) {
        caption(area, &chart.y.caption(), layout)?;
    }
    chart.series.iter().try_for_each(|one| series::draw(&mut plot, one))?;
    limits(area, &mut plot, chart)?;
    legend::draw(area, chart, layout.legend)
}

fn title(area: &Area, title: &str) -> PlotResult {
    let mut style = text_style(TEXT + 3, palette::INK, Pos::new(HPos::Left, VPos::Top));
    style.font = style.font.style(FontStyle::Bold);
    area.draw(&text(title, (16, 10), style))
}

/// Grid, ticks and labels. The grid lines follow the values and cross the rows, not columns of points.
fn mesh(plot: &mut Plot<'_>, chart: &Chart) -> PlotResult {
    let label = |size, colour| -> TextStyle<'static> { text_style(size, colour, Pos::default()) };
    let mut mesh = plot.configure_mesh();
    mesh.bold_line_style(style(palette::GRID))
        .axis_style(style(palette::GRID))
        .label_style(label(SMALL, palette::QUIET))
        .axis_desc_style(label(TEXT, palette::INK))
        .x_desc(chart.x.caption())
        .set_tick_mark_size(LabelAreaPosition::Bottom, 3)
        .set_tick_mark_size(LabelAreaPosition::Left, 4);
    match chart.y.scale {
        Scale::Names(_) => mesh.disable_y_mesh(),
        Scale::Linear | Scale::Count | Scale::Zero | Scale::Log => mesh.disable_x_mesh().y_desc(chart.y.caption()),
    };
    mesh.draw()
}

/// The caption of the named rows: above their names if there is room, else from the left edge on.
fn caption(area: &Area, words: &str, layout: DrawingLayout) -> PlotResult {
    let words = clip(words, CAPTION);
    let fits = words.chars().count() as i32 * 7 < layout.left - 12;
    let (x, side) = if fits { (layout.left - EDGE.0, HPos::Right) } else { (EDGE.0, HPos::Left) };
    area.draw(&text(&words, (x, layout.top - 6), text_style(SMALL, palette::INK, Pos::new(side, VPos::Bottom))))
}

fn limits(area: &Area, plot: &mut Plot<'_>, chart: &Chart) -> PlotResult {
    let (columns, _) = plot.plotting_area().get_pixel_range();
    let middle = (columns.start + columns.end) / 2;
    let known = || chart.limits.iter().filter(|limit| limit.value.is_finite());
    // A label at the right end would overlap a vertical limit there.
    let crosses = |limit: &LimitLine| limit.across == LineAxis::X && pixel(plot, limit).0 > middle;
    let crossed = known().any(crosses);
    for limit in known() {
        limit_line(plot, limit)?;
        let (x, y) = pixel(plot, limit);
        let (at, side) = match limit.across {
            LineAxis::X if x > middle => ((x, y - 4), HPos::Right),
            LineAxis::X => ((x, y - 4), HPos::Left),
            LineAxis::Y if crossed => ((columns.start + 4, y - 4), HPos::Left),
            LineAxis::Y => ((columns.end - 4, y - 4), HPos::Right),
        };
        let style = text_style(SMALL, palette::INK, Pos::new(side, VPos::Bottom));
        area.draw(&Mark::new("", vec![text(&clip(&limit.label, LABEL), at, style)]).styled(MarkStyle::Halo))?;
    }
    Ok(())
}

/// The left or upper end of a limit.
fn pixel(plot: &Plot<'_>, limit: &LimitLine) -> (i32, i32) {
    let (columns, rows) = plot.plotting_area().get_pixel_range();
    let (x, y) = plot.backend_coord(&(limit.value, limit.value));
    match limit.across {
        LineAxis::X => (x, rows.start),
        LineAxis::Y => (columns.start, y),
    }
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

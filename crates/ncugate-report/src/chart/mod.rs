//! Charts: a drawing is data ([`Chart`]), built from a [`ChartedRun`], with one file for each chart; [`svg`] draws any
//! of them.
//!
//! Decides no verdict and does not depend on reports, which build the [`ChartedRun`] and place the drawings.

mod charted_run;
mod distribution;
pub mod front;
mod gate_metric;
mod heat;
mod interactions;
mod kernel_roofline;
mod latency_occupancy;
mod limiters;
mod log_scale;
mod outliers;
pub mod palette;
mod parameters;
mod roofline;
mod rounds;
mod scaling;
mod search;
mod sensitivity;
mod spec;
mod stages;
mod stalls;
pub mod svg;
mod timeline;

pub use charted_run::{ChartedRun, ChartedShape, ChartedTimeline};
pub use kernel_roofline::{KernelPoint, kernel_roofline};
pub use spec::{
    Bar, Chart, ChartAxis, ChartGrid, ChartPoint, ChartTable, Figure, Glyph, LimitLine, LineAxis, Marks, Scale, Series,
    ShareColumn, Spread, Stroke, Tone, mark_label,
};

#[cfg(test)]
mod tests;

/// Ids of the charts of a report.
const IDS: [&str; 15] = [
    "gate-metrics",
    "gates-by-variant",
    "interactions",
    "latency-distribution",
    "latency-occupancy",
    "latency-rounds",
    "occupancy-limiters",
    "parameter-effects",
    "roofline",
    "scaling",
    "search",
    "sensitivity",
    "stages",
    "stalls",
    "timeline",
];
/// Whether a chart can have this id. If so, a file of that name in a report's folder of charts is ours.
pub fn is_id(text: &str) -> bool {
    IDS.contains(&text)
}

/// Every chart that a run has data for, in the order of the page.
pub fn charts(run: &ChartedRun<'_>) -> Vec<Figure> {
    let chart = |chart: Option<Chart>| chart.map(Figure::Chart);
    let grid = |grid: Option<ChartGrid>| grid.map(Figure::Grid);
    let all = [
        chart(heat::chart(run)),
        chart(sensitivity::chart(run)),
        chart(latency_occupancy::chart(run)),
        chart(distribution::chart(run)),
        chart(rounds::chart(run)),
        chart(search::chart(run)),
        grid(gate_metric::grid(run)),
        grid(parameters::grid(run)),
        chart(interactions::chart(run)),
        chart(stages::chart(run)),
        grid(scaling::grid(run)),
        chart(roofline::chart(run)),
        chart(stalls::chart(run)),
        chart(timeline::chart(run)),
        chart(limiters::chart(run)),
    ];
    let mut charts: Vec<Figure> = all.into_iter().flatten().collect();
    charts.iter_mut().flat_map(Figure::charts_mut).for_each(log_scale::where_needed);
    charts
}

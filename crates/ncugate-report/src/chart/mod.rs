//! Charts: a drawing is data ([`Chart`]), built from a [`ChartedRun`], with one file for each chart; [`svg`] draws any
//! of them.
//!
//! Decides no verdict and does not depend on reports, which build the [`ChartedRun`] and place the drawings.

mod charted_run;
mod coordinates;
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
pub use kernel_roofline::kernel_roofline;
pub use spec::{
    Bar, Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LimitLine, LineAxis, Marks, Scale, Series, ShareColumn,
    Spread, Stroke, Tone,
};

#[cfg(test)]
mod tests;

/// Ids of charts that occur at most once in a report.
const SINGLE: [&str; 15] = [
    "front",
    "gates-by-variant",
    "interactions",
    "latency-distribution",
    "latency-occupancy",
    "latency-rounds",
    "occupancy-limiters",
    "parallel-coordinates",
    "parameter-effects",
    "roofline",
    "search",
    "sensitivity",
    "stages",
    "stalls",
    "timeline",
];
/// Prefixes of the other ids.
const MANY: [&str; 2] = ["gate-", "scaling-"];

/// Whether a chart can have this id. If so, a file of that name in a report's folder of charts is ours.
pub fn is_id(text: &str) -> bool {
    SINGLE.contains(&text) || MANY.iter().any(|start| text.strip_prefix(start).is_some_and(|rest| !rest.is_empty()))
}

/// Every chart that a run has data for, in the order of the page.
pub fn charts(run: &ChartedRun<'_>) -> Vec<Chart> {
    let mut charts = Vec::new();
    charts.extend(heat::chart(run));
    charts.extend(sensitivity::chart(run));
    charts.extend(latency_occupancy::chart(run));
    charts.extend(front::chart(run));
    charts.extend(distribution::chart(run));
    charts.extend(rounds::chart(run));
    charts.extend(search::chart(run));
    charts.extend(gate_metric::charts(run));
    charts.extend(parameters::chart(run));
    charts.extend(coordinates::chart(run));
    charts.extend(interactions::chart(run));
    charts.extend(stages::chart(run));
    charts.extend(scaling::charts(run));
    charts.extend(roofline::chart(run));
    charts.extend(stalls::chart(run));
    charts.extend(timeline::chart(run));
    charts.extend(limiters::chart(run));
    charts.iter_mut().for_each(log_scale::where_needed);
    charts
}

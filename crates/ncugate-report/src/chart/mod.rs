//! Charts: a drawing is data ([`Chart`]), built from a [`ChartedRun`], with one file for each chart; [`svg`] draws any
//! of them.
//!
//! Decides no verdict and does not depend on reports, which build the [`ChartedRun`] and place the drawings.

mod charted_run;
mod distribution;
pub mod front;
mod gate_metric;
mod latency_occupancy;
pub mod palette;
mod parameters;
mod roofline;
mod scaling;
mod sensitivity;
mod spec;
mod stalls;
pub mod svg;
mod timeline;

pub use charted_run::{ChartedRun, ChartedShape, ChartedTimeline};
pub use roofline::{KernelPoint, MemoryRoof, kernel_roofline};
pub use spec::{
    Bar, Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LimitLine, LineAxis, Marks, Panel, Scale, Series, Spread,
    Stroke, Tone, mark_label,
};
pub use timeline::launch_timeline;

#[cfg(test)]
mod tests;

/// Ids of the charts of a report.
const IDS: [&str; 9] = [
    "gate-metrics",
    "latency-distribution",
    "latency-occupancy",
    "parameter-effects",
    "roofline",
    "scaling",
    "sensitivity",
    "stalls",
    "timeline",
];

/// Whether a chart can have this id. If so, a file of that name in a report's folder of charts is ours.
pub fn is_id(text: &str) -> bool {
    IDS.contains(&text)
}

/// Every chart that a run has data for, in the order of the page.
pub fn charts(run: &ChartedRun<'_>) -> Vec<Chart> {
    let all = [
        sensitivity::chart,
        latency_occupancy::chart,
        distribution::chart,
        gate_metric::chart,
        parameters::chart,
        scaling::chart,
        roofline::chart,
        stalls::chart,
        timeline::chart,
    ];
    all.iter().filter_map(|chart| chart(run)).collect()
}

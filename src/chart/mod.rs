//! Charts: what is drawn is data ([`Chart`]), built one file a chart; [`svg`] draws any of them.
//!
//! Reads the report's rows; decides no verdict.

mod axis;
mod context;
mod distribution;
mod gate_metric;
mod heat;
mod latency_occupancy;
mod limiters;
mod logarithm;
pub mod palette;
mod parameters;
mod roofline;
mod scaling;
mod sensitivity;
mod spec;
mod stages;
mod stalls;
pub mod svg;

pub use context::Context;
pub use spec::{
    Across, Axis, Bar, Cell, Chart, Glyph, LimitLine, Marks, Point, Scale, Series, Spread, Stroke, Table, Tone,
    quartiles,
};

use crate::report::Report;

/// Ids of charts of which a report has one at most.
const SINGLE: [&str; 9] = [
    "gates-by-variant",
    "latency-distribution",
    "latency-occupancy",
    "occupancy-limiters",
    "parameter-effects",
    "roofline",
    "sensitivity",
    "stages",
    "stalls",
];
/// How ids of the others begin.
const MANY: [&str; 2] = ["gate-", "scaling-"];

/// Whether a chart can have this id: then a file of that name in a report's folder of charts is ours.
pub fn is_id(text: &str) -> bool {
    SINGLE.contains(&text) || MANY.iter().any(|start| text.strip_prefix(start).is_some_and(|rest| !rest.is_empty()))
}

/// Every chart the report has data for, in the order of the page.
pub fn charts(report: &Report, context: &Context) -> Vec<Chart> {
    let mut charts = Vec::new();
    charts.extend(heat::chart(report, context));
    charts.extend(sensitivity::chart(report, context));
    charts.extend(latency_occupancy::chart(report, context));
    charts.extend(distribution::chart(report, context));
    charts.extend(gate_metric::charts(report, context));
    charts.extend(parameters::chart(report, context));
    charts.extend(stages::chart(report));
    charts.extend(scaling::charts(report, context));
    charts.extend(roofline::chart(report, context));
    charts.extend(stalls::chart(report));
    charts.extend(limiters::chart(report));
    charts.iter_mut().for_each(logarithm::where_needed);
    charts
}

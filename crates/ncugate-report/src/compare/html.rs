//! A comparison as one self-contained page.

use super::comparison::{ComparedPair, RunComparison};
use super::tables::is_raw;
use super::times::ComparedTime;
use crate::error::RenderError;
use crate::page;
use serde::Serialize;
use std::collections::HashMap;

/// Most pairs with metrics on the page.
const DETAILED: usize = 200;
/// Most metrics of a pair on the page.
const METRICS: usize = 400;
/// Rows of the table, and pairs, shown before "show all".
const SHOWN: usize = 15;

#[derive(Serialize)]
struct Context<'a> {
    comparison: &'a RunComparison,
    /// Whether launches of reports are compared, with total times.
    has_launches: bool,
    times: Vec<TimeCells<'a>>,
    details: Vec<PairDetail<'a>>,
    left_out: usize,
    shown: usize,
    /// Most metrics of a pair.
    most: usize,
}

/// A row of the table of times.
#[derive(Serialize)]
struct TimeCells<'a> {
    time: &'a ComparedTime,
    /// Id of the pair's metrics on the page.
    anchor: Option<String>,
    only: &'static str,
    /// Percent of the time of all kernels of the second side.
    share: Option<f64>,
    /// `+1.2 % to +1.9 %`.
    interval: Option<String>,
    /// Ratio of the medians, to sort by.
    ratio: Option<f64>,
    /// `pass, then fail`.
    turned: Option<String>,
}

#[derive(Serialize)]
struct PairDetail<'a> {
    anchor: String,
    pair: &'a ComparedPair,
    /// Rows of the catalogue, which come first.
    named: usize,
    more: usize,
}

pub fn html(comparison: &RunComparison) -> Result<String, RenderError> {
    let total: f64 = comparison.times.iter().filter_map(|time| time.totals[1]).sum();
    let detailed = comparison.pairs.iter().take(DETAILED).enumerate();
    let anchors: HashMap<&str, String> = detailed.map(|(at, pair)| (pair.name.as_str(), anchor(at))).collect();
    let times = comparison.times.iter().map(|time| {
        let [before, after] = time.medians;
        TimeCells {
            time,
            anchor: anchors.get(time.label.as_str()).filter(|_| time.presence.is_both()).cloned(),
            only: time.presence.words(),
            share: time.totals[1].filter(|_| total > 0.0).map(|nanos| 100.0 * nanos / total),
            interval: time.change.as_ref().and_then(|change| change.interval).map(|interval| interval.text()),
            ratio: before.zip(after).map(|(before, after)| after / before).filter(|ratio| ratio.is_finite()),
            turned: time.turned.map(|(a, b)| format!("{a}, then {b}")),
        }
    });
    let details = comparison.pairs.iter().take(DETAILED).enumerate().map(|(at, pair)| PairDetail {
        anchor: anchor(at),
        pair,
        named: pair.rows.iter().take_while(|row| !is_raw(row)).count(),
        more: pair.rows.len().saturating_sub(METRICS),
    });
    let context = Context {
        comparison,
        has_launches: comparison.times.iter().any(|time| time.launches.iter().any(Option::is_some)),
        times: times.collect(),
        details: details.collect(),
        left_out: comparison.pairs.len().saturating_sub(DETAILED),
        shown: SHOWN,
        most: METRICS,
    };
    page::render("compare.html", context, Some(page::KERNELS_SCRIPT))
}

fn anchor(at: usize) -> String {
    format!("pair-{}", at + 1)
}

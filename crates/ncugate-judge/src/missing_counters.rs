//! Finds metrics that were requested and can be counted, but are missing.

use super::measurements::Measurements;
use super::results::Correctness;
use crate::frame::required_metrics;
use indexmap::IndexMap;
use ncugate_model::metric::{Catalogue, MetricSource};
use ncugate_model::number::counted;
use ncugate_model::{Cell, ShapeName, VariantId};
use ncugate_phase::plan::{Method, Variant, VariantRole};
use std::sync::Arc;

/// Maximum number of metrics and variants listed in a caution.
const NAMED: usize = 3;

/// The missing counters with the same reason.
#[derive(Default)]
struct MissingCounters {
    metrics: Vec<String>,
    variants: Vec<VariantId>,
    shapes: Vec<ShapeName>,
}

/// A sentence for each reason why proven variants have no counters. Covers kernels without any counter, and every
/// metric that a gate, the objective or `[profile] metrics` names.
pub fn cautions(measurements: &Measurements<'_>) -> Vec<String> {
    let phase = measurements.phase();
    let named = requested_metrics(measurements);
    let mut found: IndexMap<Arc<str>, MissingCounters> = IndexMap::new();
    let profiled = |variant: &&Variant| {
        let is_measured = matches!(variant.method, Method::Kernel(_) | Method::Function(_))
            || variant.standing == VariantRole::Candidate;
        let proven = matches!(measurements.correctness().get(&variant.id), Some(Correctness::Proven { .. }));
        proven && (is_measured || required_metrics::asks_of_baselines(phase))
    };
    for variant in measurements.plan().variants.iter().filter(profiled) {
        let build = measurements.run().builds.iter().find(|build| build.variant == variant.id);
        let is_launched = |shape: &&ShapeName| build.is_none_or(|build| build.outcome.left_out_at(shape).is_none());
        for shape in phase.profile.shapes.iter().filter(is_launched) {
            let read = |metric: &String| measurements.quantities().read(&variant.id, shape, metric);
            let all = countable(measurements, required_metrics::metrics(phase));
            let nothing = all.iter().all(|metric| read(metric).value().is_none());
            let wanted = if nothing && matches!(variant.method, Method::Kernel(_)) { &all } else { &named };
            for metric in wanted {
                // A share of zero was counted.
                if let Cell::Missing(reason) = read(metric) {
                    let missing = found.entry(reason).or_default();
                    push(&mut missing.metrics, metric);
                    push(&mut missing.variants, &variant.id);
                    push(&mut missing.shapes, shape);
                }
            }
        }
    }
    found.into_iter().map(|(reason, missing)| missing.sentence(&reason)).collect()
}

/// Metrics that the user requested.
fn requested_metrics(measurements: &Measurements<'_>) -> Vec<String> {
    let phase = measurements.phase();
    let metrics = required_metrics::metrics(phase);
    let by_name = |metric: &String| {
        phase.objective.metric == *metric
            || phase.profile.metrics.contains(metric)
            || required_metrics::names(phase, metric)
    };
    countable(measurements, metrics.into_iter().filter(by_name).collect())
}

/// The metrics that ncu can count on the chip.
fn countable(measurements: &Measurements<'_>, metrics: Vec<String>) -> Vec<String> {
    let catalogue = Catalogue::embedded();
    let counted = metrics.into_iter().filter(|metric| catalogue.source(metric) == Some(MetricSource::Ncu));
    counted.filter(|name| catalogue.definition(name, measurements.capability()).is_ok()).collect()
}

fn push<T: Clone + PartialEq>(list: &mut Vec<T>, item: &T) {
    if !list.contains(item) {
        list.push(item.clone());
    }
}

impl MissingCounters {
    fn sentence(&self, reason: &str) -> String {
        let named = |names: Vec<&str>, what: &str| {
            if names.len() > NAMED { counted(names.len(), what) } else { names.join(", ") }
        };
        let metrics = named(self.metrics.iter().map(String::as_str).collect(), "counter");
        let variants = named(self.variants.iter().map(|id| id.0.as_str()).collect(), "variant");
        let shapes = named(self.shapes.iter().map(|shape| shape.0.as_str()).collect(), "shape");
        format!("not counted: {metrics} of {variants} at {shapes}: {reason}")
    }
}

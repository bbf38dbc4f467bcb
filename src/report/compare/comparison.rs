//! Two sides paired by name: changes, their noise, and verdicts that turned.

use super::side::{ComparedSide, ComparedSubject, MeasuredWith};
use crate::config::{Shape, Workload};
use crate::metric::Catalogue;
use crate::model::{Better, ShapeName, Verdict};
use crate::report::change::{ChangeNoise, LatencyChange, MetricChange, MetricFacts, ranges};
use crate::report::gate_row::GateRow;
use crate::report::model::Conclusion;
use crate::report::number;
use crate::report::provenance::conditions;
use crate::stats::{self, Pairing, Resampler};
use indexmap::IndexMap;
use ncu_rep::unit_of;
use rayon::prelude::*;
use serde::Serialize;

/// `b` against `a`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// The first side.
    pub a: SideSummary,
    /// The second side.
    pub b: SideSummary,
    /// What differs beside the numbers, and so may explain them.
    pub notes: Vec<String>,
    /// Gates that both or either side judged.
    pub gates: Vec<GateChange>,
    /// Subjects that both sides have: the largest change of latency that noise does not explain first, then the rest.
    pub pairs: Vec<ComparedPair>,
    /// Subjects that only the first side has.
    pub only_a: Vec<String>,
    /// Subjects that only the second side has.
    pub only_b: Vec<String>,
    /// The result in a sentence.
    pub sentence: String,
}

/// A side in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SideSummary {
    /// As the reader named it.
    pub name: String,
    /// What it is.
    pub about: String,
    /// How it ended, where a run was judged.
    pub conclusion: Option<Conclusion>,
    /// One sentence why.
    pub reason: Option<String>,
}

/// A gate on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateChange {
    /// Its name.
    pub name: String,
    /// Verdict on the first side, with the measured value.
    pub a: Option<(Verdict, Option<String>)>,
    /// Verdict on the second side, with the measured value.
    pub b: Option<(Verdict, Option<String>)>,
    /// Whether the verdict is another.
    pub turned: bool,
}

impl GateChange {
    /// A side's verdict with what was measured: `fail (96)`.
    pub fn words(side: &Option<(Verdict, Option<String>)>) -> String {
        match side {
            Some((verdict, Some(measured))) => format!("{verdict} ({measured})"),
            Some((verdict, None)) => verdict.to_string(),
            None => "absent".to_owned(),
        }
    }
}

/// A variant at a shape, or a kernel, on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedPair {
    /// Its name.
    pub name: String,
    /// Verdicts, where they are another.
    pub turned: Option<(Verdict, Verdict)>,
    /// Latency with its noise, where both sides have samples.
    pub latency: Option<LatencyChange>,
    /// Metrics that both sides have: those of the catalogue first, then ncu's, the largest change first.
    pub rows: Vec<MetricChange>,
}

impl RunComparison {
    /// Compares two sides.
    pub fn new(a: &ComparedSide, b: &ComparedSide, resampler: &Resampler) -> Self {
        let (matched, only_a, only_b) = matched(a, b);
        let mut pairs: Vec<ComparedPair> =
            matched.into_par_iter().map(|(name, ours, theirs)| pair(name, ours, theirs, resampler)).collect();
        pairs.sort_by(|x, y| weight(y).total_cmp(&weight(x)));
        let sentence = sentence(a, b, &pairs);
        Self { a: summary(a), b: summary(b), notes: notes(a, b), gates: gates(a, b), pairs, only_a, only_b, sentence }
    }
}

fn summary(side: &ComparedSide) -> SideSummary {
    SideSummary {
        name: side.name.clone(),
        about: side.about.clone(),
        conclusion: side.conclusion,
        reason: side.reason.clone(),
    }
}

type Matched<'a> = Vec<(String, &'a ComparedSubject, &'a ComparedSubject)>;

/// Subjects by name; where each side has just one, the two are meant.
fn matched<'a>(a: &'a ComparedSide, b: &'a ComparedSide) -> (Matched<'a>, Vec<String>, Vec<String>) {
    if let (Some((x, ours)), Some((y, theirs)), 1, 1) =
        (a.subjects.first(), b.subjects.first(), a.subjects.len(), b.subjects.len())
    {
        let name = if x == y { ours.label.clone() } else { format!("{} → {}", ours.label, theirs.label) };
        return (vec![(name, ours, theirs)], Vec::new(), Vec::new());
    }
    let pairs = a.subjects.iter().filter_map(|(k, s)| Some((s.label.clone(), s, b.subjects.get(k)?))).collect();
    let alone = |of: &ComparedSide, other: &ComparedSide| {
        of.subjects.iter().filter(|(k, _)| !other.subjects.contains_key(*k)).map(|(_, s)| s.label.clone()).collect()
    };
    (pairs, alone(a, b), alone(b, a))
}

fn pair(name: String, a: &ComparedSubject, b: &ComparedSubject, resampler: &Resampler) -> ComparedPair {
    // The sides are different runs: their rounds have nothing in common.
    let latency = LatencyChange::new(&a.samples, &b.samples, Pairing::Independent, resampler).ok();
    let both = a.values.iter().filter_map(|(metric, before)| {
        let after = b.values.get(metric)?;
        row(metric, before, after, latency.filter(|_| metric == "latency_p50"))
    });
    let (mut rows, mut counters): (Vec<MetricChange>, Vec<MetricChange>) =
        both.partition(|row| Catalogue::embedded().get(&row.metric).is_some());
    counters.sort_by(|x, y| y.distance().total_cmp(&x.distance()));
    rows.append(&mut counters);
    let turned = a.verdict.zip(b.verdict).filter(|(x, y)| x != y);
    ComparedPair { name, turned, latency, rows }
}

fn row(metric: &str, before: &[f64], after: &[f64], latency: Option<LatencyChange>) -> Option<MetricChange> {
    let known = Catalogue::embedded().get(metric);
    let facts = MetricFacts {
        name: metric,
        title: known.map_or(metric, |m| m.title.as_str()),
        unit: known.map_or_else(|| unit_of(metric), |m| m.unit.as_str()),
        better: known.map_or(Better::Context, |m| m.better),
    };
    let noise = latency.map_or_else(|| ranges(before, after), |l| ChangeNoise::Interval(l.interval));
    Some(MetricChange::new(facts, stats::median(before).ok()?, stats::median(after).ok()?, noise))
}

/// What puts a pair before others: a verdict that turned, then the size of a change that noise does not explain.
fn weight(pair: &ComparedPair) -> f64 {
    let turned = if pair.turned.is_some() { 1e6 } else { 0.0 };
    turned + pair.latency.filter(|l| !l.interval.holds_one()).map_or(0.0, |l| l.ratio.ln().abs())
}

fn gates(a: &ComparedSide, b: &ComparedSide) -> Vec<GateChange> {
    let of = |side: &ComparedSide| -> IndexMap<String, (Verdict, Option<String>)> {
        let measured = |g: &GateRow| g.measured.as_ref().map(|n| number::with_unit(n.value, &g.unit));
        side.gates.iter().map(|g| (g.name.clone(), (g.effective(), measured(g)))).collect()
    };
    let (ours, theirs) = (of(a), of(b));
    let names = ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name)));
    names
        .map(|name| {
            let (x, y) = (ours.get(name).cloned(), theirs.get(name).cloned());
            let turned = x.as_ref().map(|g| g.0) != y.as_ref().map(|g| g.0);
            GateChange { name: name.clone(), a: x, b: y, turned }
        })
        .collect()
}

fn notes(a: &ComparedSide, b: &ComparedSide) -> Vec<String> {
    let another = |what: &str, ours: &str, theirs: &str| format!("another {what}: {ours}, then {theirs}");
    let workload = a.workload.as_ref().zip(b.workload.as_ref()).and_then(|(ours, theirs)| unlike(ours, theirs));
    let conditions = match (&a.measured_with, &b.measured_with) {
        (MeasuredWith::Run(ours), MeasuredWith::Run(theirs)) => {
            let both = conditions(ours).into_iter().zip(conditions(theirs));
            both.filter(|(x, y)| x != y).map(|((what, x), (_, y))| another(what, &x, &y)).collect()
        }
        (MeasuredWith::Devices(ours), MeasuredWith::Devices(theirs)) if ours != theirs => {
            vec![another("device", &ours.join(", "), &theirs.join(", "))]
        }
        _ => Vec::new(),
    };
    workload.into_iter().chain(conditions).collect()
}

/// Whether two runs computed something else, and in what: then their times say nothing of each other.
fn unlike(ours: &Workload, theirs: &Workload) -> Option<String> {
    let dims = |workload: &Workload, name: &ShapeName| {
        workload.shapes.iter().find(|shape| shape.name == *name).map(|shape| shape.dims.clone())
    };
    let both = |shape: &&Shape| dims(theirs, &shape.name).is_some_and(|dims| dims != shape.dims);
    let shapes: Vec<String> = ours.shapes.iter().filter(both).map(|shape| format!("shape {}", shape.name)).collect();
    let parts = [
        ("reference", ours.reference != theirs.reference),
        ("buffers", ours.buffers != theirs.buffers),
        ("scalars", ours.scalars != theirs.scalars),
    ];
    let parts = parts.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what.to_owned());
    let parts: Vec<String> = parts.chain(shapes).collect();
    (!parts.is_empty()).then(|| format!("another workload ({}): latencies do not compare", parts.join(", ")))
}

/// `verdict Fail, then Pass; of 180 timed on both sides 3 are faster, 170 within noise, 7 slower; ...`.
fn sentence(a: &ComparedSide, b: &ComparedSide, pairs: &[ComparedPair]) -> String {
    let mut parts = Vec::new();
    match (a.conclusion, b.conclusion) {
        (Some(x), Some(y)) if x == y => parts.push(format!("Verdict {x} on both sides")),
        (Some(x), Some(y)) => parts.push(format!("Verdict {x}, then {y}")),
        _ => {}
    }
    let latencies: Vec<LatencyChange> = pairs.iter().filter_map(|p| p.latency).collect();
    let count = |word: &str| latencies.iter().filter(|l| l.word() == word).count();
    let ratios: Vec<f64> = latencies.iter().map(|l| l.ratio).collect();
    match stats::median(&ratios) {
        Ok(median) => parts.push(format!(
            "of {} timed on both sides {} are faster, {} within noise, {} slower; median change of latency {}",
            latencies.len(),
            count("faster"),
            count("within noise"),
            count("slower"),
            number::change(median),
        )),
        Err(_) => parts.push(format!("{} compared by their counters", number::counted(pairs.len(), "pair"))),
    }
    parts.join("; ") + "."
}

//! Two sides paired by name: changes, their noise, and verdicts that turned.

use super::side::{Side, Subject};
use crate::metric::Catalogue;
use crate::model::{Better, Verdict};
use crate::report::number;
use crate::stats::{self, Pairing, Resampler};
use indexmap::IndexMap;
use ncu_rep::unit_of;
use rayon::prelude::*;
use serde::Serialize;

/// `b` against `a`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The first side.
    pub a: Summary,
    /// The second side.
    pub b: Summary,
    /// What differs beside the numbers, and so may explain them.
    pub notes: Vec<String>,
    /// Gates that both or either side judged.
    pub gates: Vec<GateChange>,
    /// Subjects that both sides have: the largest change of latency that noise does not explain first, then the rest.
    pub pairs: Vec<Pair>,
    /// Subjects that only the first side has.
    pub only_a: Vec<String>,
    /// Subjects that only the second side has.
    pub only_b: Vec<String>,
    /// The result in a sentence.
    pub sentence: String,
}

/// A side in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// As the reader named it.
    pub name: String,
    /// What it is.
    pub about: String,
    /// The verdict, where a run was judged.
    pub verdict: Option<String>,
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

/// A variant at a shape, or a kernel, on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Its name.
    pub name: String,
    /// Verdicts, where they are another.
    pub turned: Option<(Verdict, Verdict)>,
    /// Latency with its noise, where both sides have samples.
    pub latency: Option<Latency>,
    /// Metrics that both sides have: those of the catalogue first, then ncu's, the largest change first.
    pub rows: Vec<Row>,
}

/// Median latency of `b` over that of `a`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// Median of the first side in microseconds.
    pub a: f64,
    /// Median of the second side in microseconds.
    pub b: f64,
    /// Ratio of the medians.
    pub ratio: f64,
    /// Lower end of the 95 % bootstrap interval of the ratio.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Samples on each side.
    pub samples: (usize, usize),
}

impl Latency {
    /// Whether noise explains the change: 1 lies inside the interval.
    pub fn is_noise(&self) -> bool {
        self.low <= 1.0 && self.high >= 1.0
    }

    /// `slower`, `faster`, or `within noise`.
    pub fn word(&self) -> &'static str {
        match (self.is_noise(), self.ratio < 1.0) {
            (true, _) => "within noise",
            (false, true) => "faster",
            (false, false) => "slower",
        }
    }
}

/// A metric on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Name in gates and results.
    pub metric: String,
    /// For people.
    pub title: String,
    /// Unit as people write it.
    pub unit: String,
    /// Median of the first side.
    pub a: f64,
    /// Median of the second side.
    pub b: f64,
    /// Change from the first to the second.
    pub change: String,
    /// Whether the second is better; none where neither way is, they are equal, or noise explains it.
    pub better: Option<bool>,
    /// Whether the launches of the two sides overlap; none where a side has one value and nothing is known of its noise.
    pub noise: Option<bool>,
}

impl Comparison {
    /// Compares two sides.
    pub fn new(a: &Side, b: &Side, resampler: &Resampler) -> Self {
        let (matched, only_a, only_b) = matched(a, b);
        let mut pairs: Vec<Pair> =
            matched.into_par_iter().map(|(name, ours, theirs)| pair(name, ours, theirs, resampler)).collect();
        pairs.sort_by(|x, y| weight(y).total_cmp(&weight(x)));
        let sentence = sentence(a, b, &pairs);
        Self { a: summary(a), b: summary(b), notes: notes(a, b), gates: gates(a, b), pairs, only_a, only_b, sentence }
    }
}

fn summary(side: &Side) -> Summary {
    Summary {
        name: side.name.clone(),
        about: side.about.clone(),
        verdict: side.verdict.clone(),
        reason: side.reason.clone(),
    }
}

type Matched<'a> = Vec<(String, &'a Subject, &'a Subject)>;

/// Subjects by name; where each side has just one, the two are meant.
fn matched<'a>(a: &'a Side, b: &'a Side) -> (Matched<'a>, Vec<String>, Vec<String>) {
    if let (Some((x, ours)), Some((y, theirs)), 1, 1) =
        (a.subjects.first(), b.subjects.first(), a.subjects.len(), b.subjects.len())
    {
        let name = if x == y { ours.label.clone() } else { format!("{} → {}", ours.label, theirs.label) };
        return (vec![(name, ours, theirs)], Vec::new(), Vec::new());
    }
    let pairs = a.subjects.iter().filter_map(|(k, s)| Some((s.label.clone(), s, b.subjects.get(k)?))).collect();
    let alone = |of: &Side, other: &Side| {
        of.subjects.iter().filter(|(k, _)| !other.subjects.contains_key(*k)).map(|(_, s)| s.label.clone()).collect()
    };
    (pairs, alone(a, b), alone(b, a))
}

fn pair(name: String, a: &Subject, b: &Subject, resampler: &Resampler) -> Pair {
    let latency = latency(a, b, resampler);
    let both = a.values.iter().filter_map(|(metric, ours)| row(metric, ours, b.values.get(metric)?));
    let (mut logical, mut counters): (Vec<Row>, Vec<Row>) =
        both.partition(|row| Catalogue::embedded().get(&row.metric).is_some());
    if let Some(latency) = latency.filter(Latency::is_noise) {
        for row in logical.iter_mut().filter(|row| row.metric.starts_with("latency_p50")) {
            row.better = None;
            row.noise = Some(latency.is_noise());
        }
    }
    counters.sort_by(|x, y| distance(y).total_cmp(&distance(x)));
    logical.append(&mut counters);
    let turned = a.verdict.zip(b.verdict).filter(|(x, y)| x != y);
    Pair { name, turned, latency, rows: logical }
}

fn latency(a: &Subject, b: &Subject, resampler: &Resampler) -> Option<Latency> {
    // The sides are different runs: their rounds have nothing in common.
    let compared = stats::compare(&b.samples, &a.samples, Pairing::Independent, resampler).ok()?;
    Some(Latency {
        a: stats::median(&a.samples).ok()?,
        b: stats::median(&b.samples).ok()?,
        ratio: compared.median_ratio.value,
        low: compared.median_ratio.interval.low,
        high: compared.median_ratio.interval.high,
        samples: (a.samples.len(), b.samples.len()),
    })
}

fn row(metric: &str, ours: &[f64], theirs: &[f64]) -> Option<Row> {
    let (a, b) = (stats::median(ours).ok()?, stats::median(theirs).ok()?);
    let known = Catalogue::embedded().get(metric);
    let better = known.map_or(Better::Context, |m| m.better);
    let noise = (ours.len() > 1 && theirs.len() > 1).then(|| overlap(ours, theirs));
    Some(Row {
        metric: metric.to_owned(),
        title: known.map_or_else(|| metric.to_owned(), |m| m.title.clone()),
        unit: number::unit(known.map_or_else(|| unit_of(metric), |m| m.unit.as_str())).to_owned(),
        a,
        b,
        change: number::changed(a, b, known.map_or_else(|| unit_of(metric), |m| m.unit.as_str())),
        better: match better {
            _ if a == b || noise == Some(true) => None,
            Better::Higher => Some(b > a),
            Better::Lower => Some(b < a),
            Better::Context => None,
        },
        noise,
    })
}

/// Whether the ranges of two sets of values have a point in common.
fn overlap(a: &[f64], b: &[f64]) -> bool {
    let range = |values: &[f64]| {
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
    };
    let ((a_low, a_high), (b_low, b_high)) = (range(a), range(b));
    a_low <= b_high && b_low <= a_high
}

/// How far apart the values of a row are, as the size of the logarithm of their ratio.
fn distance(row: &Row) -> f64 {
    match (row.a, row.b) {
        (a, b) if a == b => 0.0,
        (a, b) if a == 0.0 || b == 0.0 || (a < 0.0) != (b < 0.0) => f64::INFINITY,
        (a, b) => (b / a).ln().abs(),
    }
}

/// What puts a pair before others: a verdict that turned, then the size of a change that noise does not explain.
fn weight(pair: &Pair) -> f64 {
    let turned = if pair.turned.is_some() { 1e6 } else { 0.0 };
    turned + pair.latency.filter(|l| !l.is_noise()).map_or(0.0, |l| l.ratio.ln().abs())
}

fn gates(a: &Side, b: &Side) -> Vec<GateChange> {
    let of = |side: &Side| -> IndexMap<String, (Verdict, Option<String>)> {
        let measured = |g: &super::Gate| g.measured.map(|value| number::with_unit(value, &g.unit));
        side.gates.iter().map(|g| (g.name.clone(), (g.verdict, measured(g)))).collect()
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

fn notes(a: &Side, b: &Side) -> Vec<String> {
    let theirs: IndexMap<&str, &str> = b.conditions.iter().map(|(label, v)| (label.as_str(), v.as_str())).collect();
    let differs = |(label, ours): &(String, String)| {
        let other = theirs.get(label.as_str()).filter(|other| *other != ours)?;
        Some(format!("another {label}: {ours}, then {other}"))
    };
    a.conditions.iter().filter_map(differs).collect()
}

/// `verdict Fail, then Pass; of 180 timed on both sides 3 are faster, 170 within noise, 7 slower; ...`.
fn sentence(a: &Side, b: &Side, pairs: &[Pair]) -> String {
    let mut parts = Vec::new();
    match (&a.verdict, &b.verdict) {
        (Some(x), Some(y)) if x == y => parts.push(format!("Verdict {x} on both sides")),
        (Some(x), Some(y)) => parts.push(format!("Verdict {x}, then {y}")),
        _ => {}
    }
    let latencies: Vec<Latency> = pairs.iter().filter_map(|p| p.latency).collect();
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

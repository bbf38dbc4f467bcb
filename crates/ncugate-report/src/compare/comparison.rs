//! Pairs two sides by name: changes, their noise, and changed verdicts.

use super::renamed;
use super::side::{ComparedSide, ComparedSubject, MeasurementSetup, SideSummary};
use super::times::{self, ComparedTime, SidePresence};
use super::totals::totals;
use crate::number;
use crate::provenance::conditions;
use indexmap::{IndexMap, IndexSet};
use ncu_explain::{ChangeNoise, LatencyChange, MetricChange, MetricColumn, are_too_few, launches, ranges};
use ncu_rep::unit_of;
use ncugate_judge::GateResult;
use ncugate_model::metric::{Catalogue, MetricKind, id};
use ncugate_model::stats::{self, Pairing, Resampler};
use ncugate_model::{CleanText, Gpu, ShapeName, Verdict};
use ncugate_phase::config::{Shape, Workload};
use rayon::prelude::*;
use serde::Serialize;

/// `b` compared with `a`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    pub a: SideSummary,
    pub b: SideSummary,
    /// Differences other than the numbers, which may explain them.
    pub notes: Vec<CleanText>,
    /// Gates judged on at least one side.
    pub gates: Vec<GateChange>,
    /// Times of all subjects: kernels of reports by the longest total time, variants of runs in the order of `pairs`,
    /// then subjects of one side.
    pub times: Vec<ComparedTime>,
    /// Subjects that both sides have: significant changes of latency first, the largest of them on top, then the rest.
    pub pairs: Vec<ComparedPair>,
    /// Subjects that only the first side has.
    pub only_a: Vec<CleanText>,
    /// Subjects that only the second side has.
    pub only_b: Vec<CleanText>,
    pub sentence: CleanText,
}

/// A gate on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateChange {
    pub name: CleanText,
    /// Verdict on the first side, with the measured value.
    pub a: Option<(Verdict, Option<CleanText>)>,
    /// Verdict on the second side, with the measured value.
    pub b: Option<(Verdict, Option<CleanText>)>,
    /// Whether the verdict changed.
    pub turned: bool,
}

/// A variant at a shape, or a kernel, on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedPair {
    pub name: CleanText,
    pub turned: Option<(Verdict, Verdict)>,
    /// Latency with its noise, if both sides have samples.
    pub latency: Option<LatencyChange>,
    /// The difference in launch between the sides; none if they are alike.
    pub note: Option<CleanText>,
    /// Metrics that both sides have: those of the catalogue first, then ncu's, the largest change first.
    pub rows: Vec<MetricChange>,
}

impl RunComparison {
    pub fn new(a: &ComparedSide, b: &ComparedSide, resampler: &Resampler) -> Self {
        let unlike =
            a.workload.as_ref().zip(b.workload.as_ref()).map(|(ours, theirs)| WorkloadDifference::of(ours, theirs));
        let unlike = unlike.unwrap_or_default();
        let (matched, only_a, only_b) = matched(a, b);
        let both: Vec<(&ComparedSubject, &ComparedSubject)> = matched.iter().map(|m| (m.a, m.b)).collect();
        let totals = totals(a, b, &both);
        let mut compared: Vec<(SubjectPair<'_>, ComparedPair)> = matched
            .into_par_iter()
            .map(|matched| {
                let scope =
                    if unlike.touches(&matched.key) { ComparisonScope::Counters } else { ComparisonScope::Everything };
                let pair = pair(&matched, scope, resampler);
                (matched, pair)
            })
            .collect();
        compared.sort_by(|x, y| weight(y).total_cmp(&weight(x)));
        let both = compared.iter().map(|(subjects, pair)| ComparedTime::of_pair(subjects.a, subjects.b, pair));
        let only = [(&only_a, SidePresence::OnlyA), (&only_b, SidePresence::OnlyB)];
        let only = only.into_iter().flat_map(|(subjects, presence)| {
            subjects.iter().map(move |subject| ComparedTime::of_one(subject, presence))
        });
        let mut times: Vec<ComparedTime> = both.chain(only).collect();
        times::sort(&mut times);
        let pairs: Vec<ComparedPair> = compared.into_iter().map(|(_, pair)| pair).collect();
        let sentence = CleanText::whole(&sentence((a, b), &pairs, totals, &unlike));
        let labels = |subjects: Vec<&ComparedSubject>| subjects.into_iter().map(alone).collect();
        Self {
            a: a.summary.clone(),
            b: b.summary.clone(),
            notes: notes(a, b).into_iter().chain(few_launches(&times)).collect(),
            gates: gates(a, b),
            times,
            pairs,
            only_a: labels(only_a),
            only_b: labels(only_b),
            sentence,
        }
    }
}

/// A subject of each side.
struct SubjectPair<'a> {
    key: CleanText,
    name: CleanText,
    a: &'a ComparedSubject,
    b: &'a ComparedSubject,
}

/// The scope of a pair's comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ComparisonScope {
    Everything,
    /// Counters without times, and nothing is called better: the sides compute different results.
    Counters,
}

/// Pairs, and the subjects of one side.
type Matches<'a> = (Vec<SubjectPair<'a>>, Vec<&'a ComparedSubject>, Vec<&'a ComparedSubject>);

/// Pairs subjects by key. If each side has just one subject, the two are paired. A subject of the same name is also
/// paired if each side has only one of that name left: two launch shapes of one kernel, or a case of a run and its
/// launches.
fn matched<'a>(a: &'a ComparedSide, b: &'a ComparedSide) -> Matches<'a> {
    if let (Some((x, ours)), Some((y, theirs)), 1, 1) =
        (a.subjects.first(), b.subjects.first(), a.subjects.len(), b.subjects.len())
    {
        let name = if x == y { ours.label.clone() } else { joined(ours, theirs) };
        return (vec![SubjectPair { key: x.clone(), name, a: ours, b: theirs }], Vec::new(), Vec::new());
    }
    let left = |of: &'a ComparedSide, other: &ComparedSide| -> Vec<&'a ComparedSubject> {
        of.subjects.iter().filter(|(key, _)| !other.subjects.contains_key(*key)).map(|(_, subject)| subject).collect()
    };
    let (left_a, left_b) = (left(a, b), left(b, a));
    let partner = |ours: &'a ComparedSubject| {
        single(&left_a, &ours.name)?;
        single(&left_b, &ours.name)
    };
    let pairs: Vec<SubjectPair<'a>> = a
        .subjects
        .iter()
        .filter_map(|(key, ours)| {
            let theirs = b.subjects.get(key).or_else(|| partner(ours))?;
            Some(SubjectPair { key: key.clone(), name: ours.label.clone(), a: ours, b: theirs })
        })
        .collect();
    let is_paired = |subject: &ComparedSubject| {
        pairs.iter().any(|pair| std::ptr::eq(pair.a, subject) || std::ptr::eq(pair.b, subject))
    };
    let alone = |of: Vec<&'a ComparedSubject>| of.into_iter().filter(|subject| !is_paired(subject)).collect();
    let (only_a, only_b, renamed) = renamed::pairs(alone(left_a), alone(left_b));
    let renamed = renamed.into_iter().map(|(ours, theirs)| {
        let name = joined(ours, theirs);
        SubjectPair { key: name.clone(), name, a: ours, b: theirs }
    });
    let pairs = pairs.into_iter().chain(renamed.collect::<Vec<_>>()).collect();
    (pairs, only_a, only_b)
}

/// The labels of two subjects, once if they are equal.
fn joined(ours: &ComparedSubject, theirs: &ComparedSubject) -> CleanText {
    match ours.label == theirs.label {
        true => ours.label.clone(),
        false => CleanText::whole(&format!("{} → {}", ours.label, theirs.label)),
    }
}

/// The subject of this name, if there is just one.
fn single<'a>(of: &[&'a ComparedSubject], name: &CleanText) -> Option<&'a ComparedSubject> {
    let mut same = of.iter().filter(|subject| subject.name == *name);
    same.next().copied().filter(|_| same.next().is_none())
}

/// The label of an unpaired subject, with its time if it comes from a report.
fn alone(subject: &ComparedSubject) -> CleanText {
    let nanos = subject.launched.as_ref().and_then(|launched| launched.nanos);
    let timed = |nanos| CleanText::whole(&format!("{} ({})", subject.label, number::with_unit(nanos, "ns")));
    nanos.map_or_else(|| subject.label.clone(), timed)
}

fn pair(
    SubjectPair { name, a, b, .. }: &SubjectPair<'_>,
    compared: ComparisonScope,
    resampler: &Resampler,
) -> ComparedPair {
    // The sides are different runs and share no rounds.
    let latency = match compared {
        ComparisonScope::Everything => LatencyChange::new(&a.samples, &b.samples, Pairing::Independent, resampler).ok(),
        ComparisonScope::Counters => None,
    };
    let of_launches = a.launched.is_some() || b.launched.is_some();
    let both = a.values.iter().filter_map(|(metric, before)| {
        let after = b.values.get(metric)?;
        let noise = match (compared, latency.filter(|_| *metric == *id::LATENCY_P50)) {
            (ComparisonScope::Counters, _) => ChangeNoise::Unspread,
            (ComparisonScope::Everything, Some(latency)) => ChangeNoise::Interval(latency.interval),
            (ComparisonScope::Everything, None) if of_launches => launches(metric, before, after),
            (ComparisonScope::Everything, None) => ranges(metric, before, after),
        };
        row(metric, before, after, noise, compared)
    });
    let (mut rows, mut counters): (Vec<MetricChange>, Vec<MetricChange>) =
        both.partition(|row| Catalogue::embedded().get(&row.metric).is_some());
    counters.sort_by(|x, y| y.distance().total_cmp(&x.distance()));
    rows.append(&mut counters);
    let turned = a.verdict.zip(b.verdict).filter(|(x, y)| x != y);
    let shapes = a.launched.as_ref().zip(b.launched.as_ref());
    let unlike = shapes.map(|(ours, theirs)| ours.shape.change(&theirs.shape)).filter(|change| !change.is_empty());
    // Kernels that differ in arguments can have one label.
    let is_other = a.launched.is_some() && b.launched.is_some() && a.label == b.label && a.name != b.name;
    let name_change = is_other.then(|| format!("another kernel: `{}`, then `{}`", a.name, b.name));
    let note: Vec<String> =
        name_change.into_iter().chain(unlike.map(|change| format!("another launch shape: {change}"))).collect();
    let note = (!note.is_empty()).then(|| CleanText::whole(&note.join("; ")));
    ComparedPair { name: name.clone(), turned, latency, note, rows }
}

fn row(
    metric: &str,
    before: &[f64],
    after: &[f64],
    noise: ChangeNoise,
    compared: ComparisonScope,
) -> Option<MetricChange> {
    let known = Catalogue::embedded().get(metric);
    let mut column = MetricColumn::known(metric);
    if known.is_none() {
        column.unit = unit_of(metric).to_owned();
    }
    let mut change = MetricChange::new(&column, stats::median(before).ok()?, stats::median(after).ok()?, noise);
    let is_time = *metric == *id::DURATION || known.is_some_and(|known| known.kind == MetricKind::Timing);
    if compared == ComparisonScope::Counters && is_time {
        change.change = "not compared".into();
    }
    Some(change)
}

/// Sort key of a pair: a changed verdict first, then the size of a change beyond noise; of launches the change of their
/// total time.
fn weight((subjects, pair): &(SubjectPair<'_>, ComparedPair)) -> f64 {
    let total = |subject: &ComparedSubject| subject.launched.as_ref()?.nanos;
    if let (Some(before), Some(after)) = (total(subjects.a), total(subjects.b)) {
        return (after - before).abs();
    }
    let turned = if pair.turned.is_some() { 1e6 } else { 0.0 };
    turned + pair.latency.filter(|l| !l.interval.holds_one()).map_or(0.0, |l| l.ratio.ln().abs())
}

fn gates(a: &ComparedSide, b: &ComparedSide) -> Vec<GateChange> {
    let of = |side: &ComparedSide| -> IndexMap<CleanText, (Verdict, Option<CleanText>)> {
        let measured = |g: &GateResult| g.summary.measured.as_ref().map(|n| number::with_unit(n.value, &g.unit).into());
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

fn notes(a: &ComparedSide, b: &ComparedSide) -> Vec<CleanText> {
    let another = |what: &str, ours: &str, theirs: &str| format!("another {what}: {ours}, then {theirs}");
    let workloads = a.workload.as_ref().zip(b.workload.as_ref());
    let unlike = workloads.and_then(|(ours, theirs)| WorkloadDifference::of(ours, theirs).words());
    let workload = unlike.map(|unlike| format!("another workload ({unlike}): latencies do not compare"));
    let conditions: Vec<String> = match (&a.measured_with, &b.measured_with) {
        (MeasurementSetup::Run(ours), MeasurementSetup::Run(theirs)) => {
            let both = conditions(ours).into_iter().zip(conditions(theirs));
            let unlike = both.filter(|(x, y)| x != y).map(|((what, x), (_, y))| another(what, &x, &y));
            unlike.chain(values_of_unlike_gpus(ours.gpu.as_ref(), theirs.gpu.as_ref())).collect()
        }
        (MeasurementSetup::Devices(ours), MeasurementSetup::Devices(theirs)) if ours != theirs => {
            let listed =
                |devices: &IndexSet<CleanText>| devices.iter().map(CleanText::as_str).collect::<Vec<_>>().join(", ");
            vec![another("device", &listed(ours), &listed(theirs))]
        }
        _ => Vec::new(),
    };
    workload.iter().chain(&conditions).map(|note| CleanText::whole(note)).collect()
}

/// Kernels whose changes are not judged, because their launches are too few.
fn few_launches(times: &[ComparedTime]) -> Option<CleanText> {
    let are_few = |time: &&ComparedTime| matches!(time.launches, [Some(a), Some(b)] if are_too_few(a, b));
    let kernels: Vec<&ComparedTime> = times.iter().filter(are_few).collect();
    let few = match kernels.iter().all(|time| time.launches == [Some(1), Some(1)]) {
        true => "one launch each",
        false => "too few launches",
    };
    let of = number::counted(kernels.len(), "kernel");
    let words = format!("{few} ({of}): no verdict on times and counters; profile at least 4 launches on each side");
    (!kernels.is_empty()).then(|| CleanText::whole(&words))
}

/// Which values of two runs compare their code alone, if they are from unlike GPUs.
fn values_of_unlike_gpus(ours: Option<&Gpu>, theirs: Option<&Gpu>) -> Option<String> {
    let (ours, theirs) = ours.zip(theirs).filter(|(ours, theirs)| ours != theirs)?;
    let compared = if ours.compute_capability == theirs.compute_capability {
        "latencies, rates and cache hits compare the GPUs too; registers, shared memory and instructions the code alone"
    } else {
        "all values compare the GPUs too, because machine code for two compute capabilities differs"
    };
    Some(compared.to_owned())
}

/// Differences in what two runs compute. If there are any, their times are not comparable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct WorkloadDifference {
    parts: Vec<&'static str>,
    shapes: Vec<String>,
}

impl WorkloadDifference {
    /// Whether a difference concerns a variant at a shape: `variant@shape`.
    fn touches(&self, key: &str) -> bool {
        let is_at = |shape: &String| key.strip_suffix(shape.as_str()).is_some_and(|rest| rest.ends_with('@'));
        !self.parts.is_empty() || self.shapes.iter().any(is_at)
    }

    fn words(&self) -> Option<String> {
        let parts = self.parts.iter().map(|part| (*part).to_owned());
        let parts: Vec<String> = parts.chain(self.shapes.iter().map(|shape| format!("shape {shape}"))).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn of(ours: &Workload, theirs: &Workload) -> Self {
        let dims = |workload: &Workload, name: &ShapeName| {
            workload.shapes.iter().find(|shape| shape.name == *name).map(|shape| shape.dims.clone())
        };
        let both = |shape: &&Shape| dims(theirs, &shape.name).is_some_and(|dims| dims != shape.dims);
        let shapes: Vec<String> = ours.shapes.iter().filter(both).map(|shape| shape.name.to_string()).collect();
        let parts = [
            ("reference", ours.reference != theirs.reference),
            ("buffers", ours.buffers != theirs.buffers),
            ("scalars", ours.scalars != theirs.scalars),
        ];
        let parts = parts.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what).collect();
        Self { parts, shapes }
    }
}

/// `Verdict Fail, then Pass; 180 pairs timed on both sides: 3 faster, 170 within noise, 7 slower; ...`.
fn sentence(
    (a, b): (&ComparedSide, &ComparedSide),
    pairs: &[ComparedPair],
    totals: Option<String>,
    unlike: &WorkloadDifference,
) -> String {
    let mut parts = Vec::new();
    match (a.summary.conclusion, b.summary.conclusion) {
        (Some(x), Some(y)) if x == y => parts.push(format!("Verdict {x} on both sides")),
        (Some(x), Some(y)) => parts.push(format!("Verdict {x}, then {y}")),
        _ => {}
    }
    let latencies: Vec<LatencyChange> = pairs.iter().filter_map(|p| p.latency).collect();
    let count = |word: &str| latencies.iter().filter(|l| l.word() == word).count();
    let ratios: Vec<f64> = latencies.iter().map(|l| l.ratio).collect();
    match stats::median(&ratios) {
        Ok(median) => parts.push(format!(
            "{} timed on both sides: {} faster, {} within noise, {} slower; median change of latency {}",
            number::counted(latencies.len(), "pair"),
            count("faster"),
            count("within noise"),
            count("slower"),
            number::change(median),
        )),
        Err(_) => {
            parts.extend(totals.as_deref().map(String::from));
            parts.push(format!("{} compared by their counters", number::counted(pairs.len(), "pair")));
        }
    }
    if let Some(unlike) = unlike.words() {
        parts.push(format!("another workload ({unlike}): latencies do not compare"));
    }
    parts.join("; ") + "."
}

//! Each candidate as the first toolchain builds it, compared with its builds by the others.

use super::inputs::ReportInputs;
use super::{number, selected_times};
use crate::document::{CellTone, Column, DocumentBlock, DocumentTable, Section, TableCell};
use ncu_explain::LatencyChange;
use ncugate_judge::Correctness;
use ncugate_model::stats::{Pairing, Resampler, Resampling};
use ncugate_model::{BuildOutcome, BuildRecord, CleanText, CodeGrowth, Resources, ShapeName, VariantId};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A smaller change of the median is none: the place of code in memory alone can move it that far.
const SMALLEST: f64 = 0.01;
/// The risk of one false change among all comparisons; a row alone has at least `RAREST`, which few samples can tell.
const RISK: f64 = 0.05;
const RAREST: f64 = 0.001;

/// All candidates of a phase with several toolchains.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ToolchainComparison {
    /// A row for each candidate and each toolchain but the first, the gravest change first.
    pub rows: Vec<ToolchainRow>,
    /// `toolchain cuda130 against cuda128: 80 same machine code, 2 slower`, for each toolchain but the first.
    pub summaries: Vec<CleanText>,
}

/// A candidate by two toolchains.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ToolchainRow {
    /// Its id by the first toolchain.
    pub variant: CleanText,
    pub toolchain: CleanText,
    pub change: ToolchainChange,
    /// The reason, if it is wrong or not compared.
    pub reason: Option<CleanText>,
    /// Registers per thread by the first and by this toolchain; null if it did not build.
    pub registers: [Option<u32>; 2],
    /// Instructions that spill registers, in the same order.
    pub spills: [Option<u32>; 2],
    /// The source line, else the kernel, with the largest growth in instructions.
    pub grown: Option<GrownCode>,
    /// The largest change of the median latency over the timed shapes.
    pub latency: Option<ToolchainLatency>,
}

/// Instructions of a place by the first and by another toolchain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GrownCode {
    /// `file:line`, or the kernel.
    pub place: CleanText,
    pub before: u32,
    pub after: u32,
}

/// Median latencies of the same rounds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ToolchainLatency {
    pub shape: CleanText,
    /// By the first toolchain, in microseconds.
    pub before: f64,
    /// By the other one.
    pub after: f64,
    /// Interval of their ratio.
    pub ratio: [f64; 2],
}

/// The effect of a toolchain on a candidate, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolchainChange {
    /// It is correct by the first toolchain alone.
    Wrong,
    Slower,
    /// A side is not correct, or was not timed.
    NotCompared,
    Faster,
    /// Its machine code differs, and its latency does not.
    Equal,
    SameCode,
}

impl ToolchainChange {
    const ALL: [Self; 6] = [Self::SameCode, Self::Equal, Self::Faster, Self::Slower, Self::Wrong, Self::NotCompared];

    const fn words(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Slower => "slower",
            Self::NotCompared => "not compared",
            Self::Faster => "faster",
            Self::Equal => "different and equal",
            Self::SameCode => "same machine code",
        }
    }

    const fn tone(self) -> CellTone {
        match self {
            Self::Wrong => CellTone::Fail,
            Self::Slower => CellTone::Worse,
            Self::NotCompared => CellTone::Inconclusive,
            Self::Faster => CellTone::Better,
            Self::Equal | Self::SameCode => CellTone::Plain,
        }
    }
}

/// The comparison; empty if the phase has no toolchains.
pub fn comparison(inputs: &ReportInputs<'_>) -> ToolchainComparison {
    let Some(first) = inputs.phase.toolchains.first() else { return ToolchainComparison::default() };
    let rows = rows(inputs, &first.name);
    ToolchainComparison { summaries: summaries(&rows, &first.name), rows }
}

fn rows(inputs: &ReportInputs<'_>, first_name: &str) -> Vec<ToolchainRow> {
    let proofs: BTreeMap<&VariantId, &Correctness> =
        inputs.judgement.variants.iter().map(|of| (&of.variant, &of.correctness)).collect();
    let builds: BTreeMap<&VariantId, &BuildRecord> = inputs.run.builds.iter().map(|of| (&of.variant, of)).collect();
    let pairs: Vec<(VariantId, &VariantId, &str)> = inputs
        .plan
        .candidates()
        .filter_map(|variant| {
            let (toolchain, first) = variant.counterpart(inputs.phase)?;
            Some((first, &variant.id, toolchain))
        })
        .collect();
    let comparisons = (pairs.len() * inputs.phase.bench.shapes.len()).max(1);
    let level = 1.0 - (RISK / comparisons as f64).max(RAREST);
    let resampler = Resampler::new(Resampling { level, ..Resampling::default() });
    let mut rows: Vec<ToolchainRow> = pairs
        .iter()
        .map(|(first, other, toolchain)| {
            let sides = [first, *other].map(|id| builds.get(id).map(|record| &record.outcome));
            let resources = sides.map(|side| side.and_then(resources));
            let mut row = ToolchainRow {
                variant: first.0.clone(),
                toolchain: (*toolchain).into(),
                change: ToolchainChange::SameCode,
                reason: None,
                registers: resources.map(|of| of.map(|of| of.registers)),
                spills: resources.map(|of| of.map(|of| of.spills)),
                grown: sides[1].and_then(grown),
                latency: None,
            };
            match correctness([first, *other].map(|id| proofs.get(id).copied()), first_name) {
                Err((change, reason)) => (row.change, row.reason) = (change, Some(reason.into())),
                Ok(()) if sides[0].and_then(code).is_some_and(|code| sides[1].and_then(self::code) == Some(code)) => {}
                Ok(()) => {
                    row.latency = latency(inputs, (first, other), &resampler);
                    row.change = row.latency.as_ref().map_or(ToolchainChange::NotCompared, ToolchainLatency::change);
                    row.reason = row.latency.is_none().then(|| "it has too few latency samples".into());
                }
            }
            row
        })
        .collect();
    rows.sort_by(|a, b| a.change.cmp(&b.change).then(b.distance().total_cmp(&a.distance())));
    rows
}

fn resources(outcome: &BuildOutcome) -> Option<Resources> {
    match outcome {
        BuildOutcome::Built { resources, .. } => Some(*resources),
        BuildOutcome::Refused { resources, .. } => *resources,
        BuildOutcome::Failed { .. } | BuildOutcome::NotNeeded => None,
    }
}

fn code(outcome: &BuildOutcome) -> Option<&str> {
    match outcome {
        BuildOutcome::Built { code_sha256, .. } => Some(code_sha256),
        BuildOutcome::Refused { .. } | BuildOutcome::Failed { .. } | BuildOutcome::NotNeeded => None,
    }
}

fn grown(outcome: &BuildOutcome) -> Option<GrownCode> {
    let BuildOutcome::Built { growth: Some(CodeGrowth { place, before, after }), .. } = outcome else { return None };
    Some(GrownCode { place: place.into(), before: *before, after: *after })
}

/// Whether both sides are correct; else the change and its reason.
fn correctness([first, other]: [Option<&Correctness>; 2], name: &str) -> Result<(), (ToolchainChange, String)> {
    let proven = |side: Option<&Correctness>| matches!(side, Some(Correctness::Proven { .. }));
    let reason = |side: Option<&Correctness>| match side {
        Some(Correctness::Wrong { reason } | Correctness::Cheats { reason }) => reason.clone(),
        Some(Correctness::Unproven { reason } | Correctness::Unchecked { reason }) => reason.clone(),
        Some(Correctness::Proven { .. }) | None => "it was not measured".to_owned(),
    };
    let is_wrong = matches!(other, Some(Correctness::Wrong { .. } | Correctness::Cheats { .. }));
    match (proven(first), proven(other)) {
        (true, true) => Ok(()),
        (true, false) if is_wrong => Err((ToolchainChange::Wrong, reason(other))),
        (true, false) => Err((ToolchainChange::NotCompared, reason(other))),
        (false, true) => Err((ToolchainChange::NotCompared, format!("not correct by {name} alone: {}", reason(first)))),
        (false, false) => {
            Err((ToolchainChange::NotCompared, format!("not correct by {name} either: {}", reason(first))))
        }
    }
}

/// The largest change over the timed shapes.
fn latency(
    inputs: &ReportInputs<'_>,
    (first, other): (&VariantId, &VariantId),
    resampler: &Resampler,
) -> Option<ToolchainLatency> {
    let at = |shape: &ShapeName| {
        let (ours, theirs) = selected_times::samples(inputs.quantities, (other, first), shape)?;
        let change = LatencyChange::new(theirs, ours, Pairing::Rounds, resampler).ok()?;
        let ratio = [change.interval.0, change.interval.1];
        Some(ToolchainLatency { shape: shape.0.clone(), before: change.before, after: change.after, ratio })
    };
    let all: Option<Vec<ToolchainLatency>> = inputs.phase.bench.shapes.iter().map(at).collect();
    // A loss at one shape is not hidden by a larger gain at another.
    let key = |latency: &ToolchainLatency| (latency.change() == ToolchainChange::Slower, latency.distance());
    all?.into_iter().max_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)))
}

impl ToolchainLatency {
    fn ratio(&self) -> f64 {
        self.after / self.before
    }

    fn distance(&self) -> f64 {
        self.ratio().ln().abs()
    }

    fn change(&self) -> ToolchainChange {
        let [low, high] = self.ratio;
        match self.ratio() {
            ratio if low > 1.0 && ratio > 1.0 + SMALLEST => ToolchainChange::Slower,
            ratio if high < 1.0 && ratio < 1.0 - SMALLEST => ToolchainChange::Faster,
            _ => ToolchainChange::Equal,
        }
    }
}

impl ToolchainRow {
    fn distance(&self) -> f64 {
        self.latency.as_ref().map_or(0.0, ToolchainLatency::distance)
    }
}

fn summaries(rows: &[ToolchainRow], first: &str) -> Vec<CleanText> {
    let mut names: Vec<&CleanText> = rows.iter().map(|row| &row.toolchain).collect();
    names.sort_unstable();
    names.dedup();
    let of = |name: &CleanText| {
        let counted = ToolchainChange::ALL.iter().filter_map(|change| {
            let count = rows.iter().filter(|row| row.toolchain == *name && row.change == *change).count();
            (count > 0).then(|| format!("{count} {}", change.words()))
        });
        format!("toolchain {name} against {first}: {}", counted.collect::<Vec<_>>().join(", ")).into()
    };
    names.into_iter().map(of).collect()
}

/// The section of a page; none without toolchains.
pub fn section(comparison: &ToolchainComparison) -> Option<Section> {
    let numbers = ["latency", "registers", "spills", "instructions"].map(Column::number);
    let texts = ["variant", "toolchain", "change"].map(Column::text);
    let mut table = DocumentTable::new("Toolchains", texts.into_iter().chain(numbers).collect());
    for row in &comparison.rows {
        let pair = |[before, after]: [Option<u32>; 2]| match (before, after) {
            (Some(before), Some(after)) if before == after => TableCell::new(after.to_string()),
            (before, after) => {
                let text = |side: Option<u32>| side.map_or_else(|| "n/a".to_owned(), |value| value.to_string());
                TableCell::new(format!("{} → {}", text(before), text(after)))
            }
        };
        let latency = row.latency.as_ref().map_or_else(
            || TableCell::missing(""),
            |latency| {
                let [before, after] = [latency.before, latency.after].map(|value| number::with_unit(value, "us"));
                let [low, high] = latency.ratio.map(number::change);
                TableCell::new(format!("{before} → {after}")).note(format!("{low} to {high} at {}", latency.shape))
            },
        );
        let grown = row.grown.as_ref().map_or_else(
            || TableCell::missing(""),
            |grown| TableCell::new(format!("{} → {}", grown.before, grown.after)).note(grown.place.as_str()),
        );
        table.row(vec![
            TableCell::of(row.variant.as_str(), CellTone::Code),
            TableCell::new(row.toolchain.as_str()),
            TableCell::of(row.change.words(), row.change.tone()).note(row.reason.as_deref().unwrap_or_default()),
            latency,
            pair(row.registers),
            pair(row.spills),
            grown,
        ]);
    }
    let about = "Changes of less than 1 %, and those within the interval of the ratio of medians, are equal. Instructions: of the \
                 source line that grew the most.";
    let lines = comparison.summaries.iter().map(|line| DocumentBlock::Text(line.to_string()));
    let blocks = lines.chain([DocumentBlock::Aside(about.to_owned()), table.block()?]).collect();
    Some(Section::new("toolchains", "Toolchains", blocks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// The rows of a fixture with a second toolchain, whose latencies are those of the first times a factor by row.
    fn rows(factors: &[(usize, f64)], wrong: Option<usize>) -> Vec<ToolchainRow> {
        let gates =
            "[[gate]]\nrequire = \"latency_p50 < 1e6\"\n[toolchains]\nold = { nvcc = \"a\" }\nnew = { nvcc = \"b\" }\n";
        let mut fixture = Fixture::with_gates(6, gates);
        let pairs: Vec<(VariantId, VariantId)> =
            fixture.plan.candidates().filter_map(|v| Some((v.counterpart(&fixture.phase)?.1, v.id.clone()))).collect();
        let hash = |id: &VariantId, builds: &[BuildRecord]| {
            builds.iter().find(|of| of.variant == *id).and_then(|of| code(&of.outcome)).map(str::to_owned)
        };
        for (at, (first, other)) in pairs.iter().enumerate() {
            let factor = factors.iter().find(|(row, _)| *row == at).map(|(_, factor)| *factor);
            let same = hash(first, &fixture.run.builds).unwrap_or_default();
            let record = fixture.run.builds.iter_mut().find(|of| of.variant == *other).unwrap();
            if let BuildOutcome::Built { code_sha256, growth, resources, .. } = &mut record.outcome {
                *growth = Some(CodeGrowth { place: "k.cu:9".to_owned(), before: 40, after: 60 });
                if factor.is_none() {
                    *code_sha256 = same;
                    *growth = None;
                } else {
                    resources.spills = 12;
                }
            }
            for shape in &fixture.phase.bench.shapes {
                let samples: Vec<f64> = fixture
                    .quantities
                    .samples(first, shape)
                    .unwrap()
                    .iter()
                    .map(|us| us * factor.unwrap_or(1.0))
                    .collect();
                let row = fixture.quantities.row(other, shape).unwrap();
                let sampling = fixture
                    .quantities
                    .sampling_at(row)
                    .cloned()
                    .map(|sampling| ncugate_model::quantities::Sampling { fresh: None, ..sampling });
                fixture.quantities.set_samples(row, samples.into());
                fixture.quantities.set_sampling(row, sampling.unwrap());
            }
        }
        for result in &mut fixture.judgement.variants {
            result.correctness = match wrong.is_some_and(|at| result.variant == pairs[at].1) {
                true => Correctness::Wrong { reason: "wrong at shape 's'".to_owned() },
                false => Correctness::Proven { cases: 1, max_abs: 0.0 },
            };
        }
        fixture.report().toolchains.rows
    }

    #[test]
    fn a_row_says_what_a_toolchain_changed_the_gravest_first() {
        use ToolchainChange::{Equal, Faster, SameCode, Slower, Wrong};
        let rows = rows(&[(0, 1.2), (1, 0.8), (2, 1.001), (3, 1.0)], Some(3));
        let changes: Vec<ToolchainChange> = rows.iter().map(|row| row.change).collect();
        assert_eq!(changes, [Wrong, Slower, Faster, Equal, SameCode, SameCode]);
        let slower = &rows[1];
        let latency = slower.latency.as_ref().unwrap();
        assert!((latency.after / latency.before - 1.2).abs() < 1e-9 && latency.ratio[0] > 1.0);
        assert_eq!((slower.spills, slower.grown.as_ref().unwrap().place.as_str()), ([Some(0), Some(12)], "k.cu:9"));
        assert_eq!(rows[0].reason.as_deref(), Some("wrong at shape 's'"));
        let sentence =
            "toolchain new against old: 2 same machine code, 1 different and equal, 1 faster, 1 slower, 1 wrong";
        assert_eq!(summaries(&rows, "old"), [sentence]);
    }
}

//! The report as data: built once, read by every renderer.
//!
//! Holds values and the text that people read; knows no clock, disk or environment.

use super::deep_profile::DeepProfileRow;
use super::deltas::{Delta, ShapeDelta};
use super::diagnosis_row::{DiagnosisOutcome, DiagnosisRow};
use super::finding_row::FindingRow;
use super::in_use::InUse;
use super::model::{Headline, Measure, MetricColumn, ObjectiveRow};
use super::provenance::{Provenance, RunOrigin};
use super::search::SearchRow;
use super::shape_matrix::ShapeMatrix;
use super::speed_of_light::SpeedOfLightRow;
use super::steps::StepTable;
use super::trust::Trust;
use super::variant_row::VariantRow;
use super::waiver_row::WaiverRow;
use crate::chart::Chart;
use ncugate_judge::{FallbackResult, GateResult, PreconditionResult, StageResult, TierResult};
use ncugate_model::{CleanText, Verdict};
use serde::Serialize;

/// A judged run, ready to be shown. The template of the page is given all of it but variants and charts, which have their own
/// ways into the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    pub title: CleanText,
    /// Short name of the phase.
    pub phase: CleanText,
    pub run: CleanText,
    /// File of the phase, for annotations.
    pub file: CleanText,
    /// What a reader has to know in ten seconds.
    pub headline: Headline,
    /// What ships: the variant to use at each shape.
    pub in_use: InUse,
    /// Variants by shapes; none where fewer than two shapes were measured.
    pub matrix: Option<ShapeMatrix>,
    /// What the numbers rest on.
    pub trust: Trust,
    /// Where the numbers come from.
    pub source: RunOrigin,
    /// Gates, in the order of the file.
    pub gates: Vec<GateResult>,
    /// Tiers, easiest first.
    pub tiers: Vec<TierResult>,
    /// Stages, in order.
    pub stages: Vec<StageResult>,
    /// The fallback, when one was taken.
    pub fallback: Option<FallbackResult>,
    /// Go/no-go conditions.
    pub preconditions: Vec<PreconditionResult>,
    /// Waivers, in force and expired.
    pub waivers: Vec<WaiverRow>,
    /// Metrics that were measured, in the order of columns.
    pub metrics: Vec<MetricColumn>,
    /// Parameters of the variants, in the order of the sweep.
    pub params: Vec<CleanText>,
    /// What the selected variant was selected by; none where the metric was not measured.
    pub objective: Option<ObjectiveRow>,
    /// Shapes, in the order of the phase.
    pub shapes: Vec<CleanText>,
    /// Index in `shapes` of the objective's shape.
    pub objective_shape: usize,
    /// Candidates and baselines, best first.
    #[serde(skip)]
    pub variants: Vec<VariantRow>,
    /// The steps of the selected variant, where its evaluation is several.
    pub steps: Option<StepTable>,
    /// The selected variant beside each baseline and each stored run.
    pub deltas: Vec<Delta>,
    /// The objective at every shape beside a stored run, else beside the first baseline.
    pub shape_deltas: Vec<ShapeDelta>,
    /// The search that chose the candidates, where one did.
    pub search: Option<SearchRow>,
    /// How busy the units of the chip were in the selected variant's launches at the objective's shape; empty where nothing was counted.
    pub speed_of_light: Vec<SpeedOfLightRow>,
    /// What the rules could say of each variant in use at its shapes, the objective's first.
    pub diagnosis: Vec<DiagnosisRow>,
    /// What the counters say, gravest first; then the largest estimates of ncu's rules.
    pub findings: Vec<FindingRow>,
    /// The deep profile of the selected variant, where there is one.
    pub deep_profile: Option<DeepProfileRow>,
    /// Charts, in the order of the page.
    #[serde(skip)]
    pub charts: Vec<Chart>,
    /// What was measured where, with what.
    pub provenance: Provenance,
    /// What is not in the numbers, and why.
    pub missing: Vec<CleanText>,
    /// What the reader must be warned of.
    pub warnings: Vec<CleanText>,
    /// Commands that make this report again.
    pub reproduce: Vec<CleanText>,
}

impl RunReport {
    /// What the rules could not say: of the objective's shape in full, of all others in a sentence.
    pub fn unsaid(&self) -> Vec<String> {
        let (first, others) = match self.diagnosis.split_first() {
            Some((first, others)) => (Some(first), others),
            None => return Vec::new(),
        };
        let at = |outcome: DiagnosisOutcome| {
            let shapes = others.iter().filter(|row| row.outcome == outcome).map(|row| row.shape.as_str());
            shapes.collect::<Vec<_>>().join(", ")
        };
        let several = |head: &str, outcome: DiagnosisOutcome, tail: &str| match at(outcome) {
            shapes if shapes.is_empty() => None,
            shapes => Some(format!("{head} {shapes}: {tail}")),
        };
        let unjudged = several("Not judged at", DiagnosisOutcome::NotJudged, "rules lack counters there.");
        let clean = several("At", DiagnosisOutcome::Clean, "nothing that the rules know costs much of the time.");
        let first = first.map(|row| row.sentence.to_string()).filter(|sentence| !sentence.is_empty());
        [first, unjudged, clean].into_iter().flatten().collect()
    }

    /// Whether required gates failed and the fallback holds its own: the phase passes, with a warning.
    pub fn falls_back(&self) -> bool {
        self.fallback.as_ref().is_some_and(|f| f.verdict == Verdict::Pass)
    }

    pub fn metric(&self, name: &str) -> Option<(usize, &MetricColumn)> {
        self.metrics.iter().enumerate().find(|(_, m)| m.name == name)
    }

    /// Value of a variant at a shape, by index of the shape.
    pub fn value(&self, variant: &VariantRow, shape: usize, metric: &str) -> Option<f64> {
        let (column, _) = self.metric(metric)?;
        variant.shapes.get(shape)?.values.get(column).and_then(Measure::number).map(|n| n.value)
    }
}

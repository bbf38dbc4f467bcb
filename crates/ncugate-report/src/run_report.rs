//! The report as data: built once, read by every renderer.
//!
//! Holds values and the text that people read. Has no access to clock, disk or environment.

use super::ablation_row::AblationRow;
use super::deep_profile::DeepProfileRow;
use super::deltas::{Delta, ShapeDelta};
use super::first_screen::FirstScreen;
use super::in_use::InUse;
use super::model::{Headline, Measure, ObjectiveRow};
use super::provenance::{Provenance, RunOrigin};
use super::toolchains::ToolchainComparison;
use super::trust::Trust;
use super::variant_row::VariantRow;
use super::waiver_row::WaiverRow;
use crate::chart::Chart;
use crate::document::{DocumentTable, Section};
use crate::history::ShapeComparison;
use ncu_explain::{DiagnosisOutcome, DiagnosisRow, FindingRow, MetricColumn};
use ncugate_judge::{FallbackResult, GateResult, PreconditionResult, StageResult, TierResult};
use ncugate_model::{CleanText, Verdict};
use serde::Serialize;

/// A judged run, ready for rendering. The template of the page receives all fields except variants and charts, which
/// are embedded separately.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    pub title: CleanText,
    /// Short name of the phase.
    pub phase: CleanText,
    pub run: CleanText,
    /// File of the phase, for annotations.
    pub file: CleanText,
    /// The facts that a reader needs in ten seconds.
    pub headline: Headline,
    /// Rows, next step and notes of the first screen.
    pub first_screen: FirstScreen,
    /// The recommendation: the variant to use at each shape.
    pub in_use: InUse,
    /// Evidence behind the numbers.
    pub trust: Trust,
    /// Origin of the numbers.
    pub source: RunOrigin,
    /// Gates, in the order of the file.
    pub gates: Vec<GateResult>,
    /// Tiers, easiest first.
    pub tiers: Vec<TierResult>,
    /// Stages, in order.
    pub stages: Vec<StageResult>,
    /// The fallback, if it was used.
    pub fallback: Option<FallbackResult>,
    /// Go/no-go conditions.
    pub preconditions: Vec<PreconditionResult>,
    /// Waivers, in force and expired.
    pub waivers: Vec<WaiverRow>,
    /// Metrics that were measured, in the order of columns.
    pub metrics: Vec<MetricColumn>,
    /// Parameters of the variants, in the order of the sweep.
    pub params: Vec<CleanText>,
    /// The objective of the selection; none if its metric was not measured.
    pub objective: Option<ObjectiveRow>,
    /// Shapes, in the order of the phase.
    pub shapes: Vec<CleanText>,
    /// Index in `shapes` of the objective's shape.
    pub objective_shape: usize,
    /// Candidates and baselines, best first.
    #[serde(skip)]
    pub variants: Vec<VariantRow>,
    /// The steps of the selected variant, if its evaluation has several.
    #[serde(skip)]
    pub steps: Option<Section>,
    /// The selected variant compared with each baseline and each stored run.
    pub deltas: Vec<Delta>,
    /// The objective at every shape, compared with a stored run, else with the first baseline.
    pub shape_deltas: Vec<ShapeDelta>,
    /// Latencies at every shape, beside those of the baselines.
    pub times: Vec<ShapeComparison>,
    /// Effects of the parameters on the gated metrics, strongest first.
    #[serde(skip)]
    pub effects: DocumentTable,
    /// The candidates by several toolchains.
    pub toolchains: ToolchainComparison,
    /// The search that chose the candidates, if any.
    #[serde(skip)]
    pub search: Option<Section>,
    /// Utilisation of the units of the chip in the selected variant's launches at the objective's shape; empty if
    /// nothing was counted.
    #[serde(skip)]
    pub utilisation: DocumentTable,
    /// Coverage of the rules for each variant in use at its shapes, the objective's shape first.
    pub diagnosis: Vec<DiagnosisRow>,
    /// Findings from the counters, most severe first; then the largest estimates of ncu's rules.
    pub findings: Vec<FindingRow>,
    /// What costs of the selected variant were worth, if that was measured.
    pub ablations: Vec<AblationRow>,
    /// The deep profile of the selected variant, if there is one.
    pub deep_profile: Option<DeepProfileRow>,
    /// Charts, in the order of the page.
    #[serde(skip)]
    pub charts: Vec<Chart>,
    /// Machine, tools, sources and command of the measurements.
    pub provenance: Provenance,
    /// Exclusions from the numbers, and why.
    pub missing: Vec<CleanText>,
    /// Warnings for the reader.
    pub warnings: Vec<CleanText>,
    /// Commands that reproduce this report.
    pub reproduce: Vec<CleanText>,
}

impl RunReport {
    /// Gates that do not pass, or are waived: of the phase, of required tiers, of stages and of the fallback.
    pub fn open_gates(&self) -> impl Iterator<Item = &GateResult> {
        let tiers = self.tiers.iter().filter(|tier| tier.required).flat_map(|tier| &tier.gates);
        let stages = self.stages.iter().flat_map(|stage| &stage.gates);
        let fallback = self.fallback.iter().flat_map(|fallback| &fallback.gates);
        let gates = self.gates.iter().chain(tiers).chain(stages).chain(fallback);
        gates.filter(|gate| gate.verdict != Verdict::Pass || gate.waived.is_some())
    }

    /// A metric of a variant at the objective's shape, by its column.
    pub fn value_text(&self, variant: &VariantRow, column: usize) -> String {
        let values = variant.shapes.get(self.objective_shape).and_then(|shape| shape.values.get(column));
        values.and_then(|value| value.number()).map_or_else(|| "n/a".to_owned(), |number| number.text.clone())
    }

    /// Rules that could not be evaluated: in full for the objective's shape, in one sentence for all others.
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

    /// Whether required gates failed and the fallback holds its own gates: the phase passes with a warning.
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

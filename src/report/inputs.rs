//! What a report is built from, and its assembly.

use super::deltas::{self, Earlier};
use super::model::{Finding, MetricColumn, Report};
use super::{charted, closely, gates, headline, provenance, text, variants};
use crate::chart;
use crate::config::Phase;
use crate::explain;
use crate::frame::Quantities;
use crate::judge::Judgement;
use crate::metric::{Catalogue, ShownIn};
use crate::model::Better;
use crate::model::BuildRecord;
use crate::model::Verdict;
use crate::model::{CheckRecord, LatencyRecord};
use crate::model::{DeepProfile, ProfileRecord};
use crate::plan::Plan;
use crate::store::Manifest;
use jiff::Timestamp;
use std::collections::HashSet;

/// Where the run comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Measured by this command.
    Live,
    /// Read from a run on disk: its folder, as the reader would write it.
    Recorded {
        /// The folder.
        folder: String,
    },
    /// The recording of the phase, shown because nothing could be measured. Nobody asked for it: it is no pass.
    Unasked {
        /// The folder.
        folder: String,
        /// Why nothing was measured.
        why: String,
    },
}

/// What was profiled once more, for the report alone.
#[derive(Debug, Clone, Copy)]
pub struct Closely<'a> {
    /// The looks.
    pub looks: &'a [DeepProfile],
    /// What they counted.
    pub quantities: &'a Quantities,
    /// Why they cannot be read.
    pub problem: Option<&'a str>,
}

/// Everything a report is built from.
pub struct Inputs<'a> {
    /// The phase as run.
    pub phase: &'a Phase,
    /// Its variants.
    pub plan: &'a Plan,
    /// When, where, with what.
    pub manifest: &'a Manifest,
    /// How variants were built.
    pub builds: &'a [BuildRecord],
    /// Correctness cases.
    pub checks: &'a [CheckRecord],
    /// Latencies.
    pub latencies: &'a [LatencyRecord],
    /// What was profiled.
    pub profiles: &'a [ProfileRecord],
    /// Everything measured.
    pub quantities: &'a Quantities,
    /// The verdicts.
    pub judgement: &'a Judgement,
    /// What the counters say, gravest first (of the selected variant, or of several).
    pub findings: &'a [explain::Finding],
    /// What ncu's own rules and sampler say.
    pub said: &'a [explain::NcuObservations],
    /// The close looks.
    pub closely: Closely<'a>,
    /// Live or recorded.
    pub source: Source,
    /// Stored runs that requirements compare with, a line each: `baseline: run ...`.
    pub compared: &'a [String],
    /// Stored runs that the selected variant is set beside.
    pub earlier: &'a [Earlier<'a>],
    /// The clocks, as ncu's reports tell of them.
    pub clocks: &'a explain::Clocks,
    /// The time the age is counted to; none leaves the age out, so that the same run renders to the same bytes.
    pub now: Option<Timestamp>,
}

/// Findings shown; the gravest.
const FINDINGS: usize = 3;

impl Report {
    /// Builds the report. Pure: the same inputs give the same report.
    pub fn new(inputs: &Inputs<'_>) -> Self {
        let metrics = metric_columns(inputs);
        let gate_rows: Vec<_> = inputs.judgement.gates.iter().map(gates::row).collect();
        let params = parameters(inputs.plan);
        let rows = variants::rows(inputs, &metrics, &params);
        let shapes: Vec<String> = inputs.phase.workload.shapes.iter().map(|s| text::line(&s.name.0)).collect();
        let objective_shape =
            inputs.phase.workload.shapes.iter().position(|s| s.name == inputs.phase.objective.shape).unwrap_or(0);
        let mut report = Self {
            title: text::line(&inputs.phase.title),
            phase: text::line(&inputs.phase.name),
            run: text::line(&inputs.manifest.run),
            file: text::line(&inputs.phase.file.display().to_string()),
            headline: headline::headline(inputs, &metrics),
            source: provenance::origin(inputs),
            gates: gate_rows,
            tiers: inputs.judgement.tiers.iter().map(gates::tier).collect(),
            stages: inputs.judgement.stages.iter().map(gates::stage).collect(),
            fallback: inputs.judgement.fallback.as_ref().map(gates::fallback),
            preconditions: inputs.judgement.preconditions.iter().map(gates::precondition).collect(),
            waivers: gates::waivers(inputs.judgement),
            deltas: deltas::deltas(inputs, &metrics),
            metrics,
            params,
            shapes,
            objective_shape,
            findings: gravest(inputs).into_iter().chain(closely::findings(inputs)).collect(),
            closely: closely::row(inputs, &rows),
            variants: rows,
            charts: Vec::new(),
            provenance: provenance::provenance(inputs),
            missing: provenance::missing(inputs),
            warnings: inputs
                .judgement
                .warnings
                .iter()
                .chain(&inputs.manifest.warnings)
                .map(|w| text::line(w))
                .collect(),
            reproduce: provenance::reproduce(inputs),
        };
        report.charts = chart::charts(&charted::run(&report, inputs));
        report
    }

    /// Whether required gates failed and the fallback holds its own: the phase passes, with a warning.
    pub fn falls_back(&self) -> bool {
        self.fallback.as_ref().is_some_and(|f| f.verdict == Verdict::Pass)
    }

    /// The metric of that name and its column.
    pub fn metric(&self, name: &str) -> Option<(usize, &MetricColumn)> {
        self.metrics.iter().enumerate().find(|(_, m)| m.name == name)
    }

    /// Value of a variant at a shape, by index of the shape.
    pub fn value(&self, variant: &super::VariantRow, shape: usize, metric: &str) -> Option<f64> {
        let (column, _) = self.metric(metric)?;
        variant.shapes.get(shape)?.values.get(column)?.number().map(|n| n.value)
    }
}

/// Columns that hold at least one value, or that a gate names: those that readers look for first, then the rest in the
/// order they were measured.
fn metric_columns(inputs: &Inputs<'_>) -> Vec<MetricColumn> {
    let gated: HashSet<&str> = inputs.judgement.gates.iter().filter_map(|g| g.metric.as_deref()).collect();
    let held = |name: &str| inputs.quantities.column(name).is_some_and(|cells| cells.has_value());
    let names: Vec<&str> = inputs.quantities.metrics().filter(|name| held(name) || gated.contains(name)).collect();
    let leading: Vec<&str> = Catalogue::embedded().shown(ShownIn::Lead).collect();
    let rest = names.iter().copied().filter(|name| !leading.contains(name));
    let first = leading.iter().copied().filter(|name| names.contains(name));
    first
        .chain(rest)
        .map(|name| {
            let known = Catalogue::embedded().get(name);
            MetricColumn {
                name: text::line(name),
                title: text::clip(known.map_or(name, |m| m.title.as_str()), text::LABEL),
                unit: known.map_or_else(String::new, |m| text::clip(&m.unit, 16)),
                better: known.map_or(Better::Context, |m| m.better),
                gated: gated.contains(name),
            }
        })
        .collect()
}

fn parameters(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in plan.variants.iter().flat_map(|v| &v.params) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// The first findings, each title once; those about the selected variant before others, those at the objective's shape
/// before others, which name theirs.
fn gravest(inputs: &Inputs<'_>) -> Vec<Finding> {
    let objective = &inputs.phase.objective.shape;
    let selected = inputs.judgement.selected.as_ref().map(|s| &s.variant);
    let mut findings: Vec<&explain::Finding> = inputs.findings.iter().collect();
    findings.sort_by_key(|f| (selected != Some(&f.variant), &f.shape != objective));
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        let title = text::line(&finding.title);
        if kept.len() < FINDINGS && kept.iter().all(|known| known.title != title) {
            kept.push(Finding {
                title,
                sentence: match &finding.shape == objective {
                    true => text::sentence(&text::line(&finding.sentence)),
                    false => text::sentence(&text::line(&format!("At shape {}: {}", finding.shape, finding.sentence))),
                },
                severity: finding.severity,
                advice: text::sentence(&text::line(&finding.advice)),
                variant: text::line(&finding.variant.0),
            });
        }
    }
    kept
}

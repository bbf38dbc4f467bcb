//! Assembles a report from its inputs. Decides nothing: it orders the parts, which build their own rows.

use super::ablation_row::AblationRow;
use super::document::{Column, DocumentTable, TableCell};
use super::first_screen::FirstScreen;
use super::in_use::InUse;
use super::inputs::ReportInputs;
use super::run_report::RunReport;
use super::{
    deep_profile, deltas, effects, headline, in_use, provenance, run_charts, search, steps, toolchains, trust,
    variants, waiver_row,
};
use crate::chart;
use crate::history::shape_comparison;
use ncu_explain::{DiagnosisRow, Finding, FindingRow, MetricColumn};
use ncugate_judge::{TargetGpu, out_of_reach};
use ncugate_model::CleanText;
use ncugate_model::metric::{Catalogue, ShownIn};
use ncugate_model::quantities::MetricCells;
use ncugate_phase::plan::Plan;
use std::collections::HashSet;

/// Most findings shown without unfolding.
const LEADING: usize = 3;

impl RunReport {
    /// Builds the report. Pure: the same inputs give the same report.
    pub fn new(inputs: &ReportInputs<'_>) -> Self {
        let metrics = metric_columns(inputs);
        let params = parameters(inputs.plan);
        let rows = variants::rows(inputs, &metrics, &params);
        let shapes: Vec<CleanText> = inputs.phase.workload.shapes.iter().map(|s| s.name.0.clone()).collect();
        let objective_shape =
            inputs.phase.workload.shapes.iter().position(|s| s.name == inputs.phase.objective.shape).unwrap_or(0);
        let out_of_reach = unreachable_gates(inputs);
        let used = in_use::in_use(inputs, &metrics);
        let sweep = run_charts::sweep(inputs);
        let said = deep_profile::findings(inputs);
        let beside =
            |row: &DiagnosisRow| if said.is_empty() { row.clone() } else { row.clone().with_estimates_of_ncu() };
        let diagnosis = inputs.diagnosis.iter().map(beside).collect();
        let found = findings(inputs, &used).into_iter().chain(said).collect();
        let mut report = Self {
            title: (&inputs.phase.title).into(),
            phase: (&inputs.phase.name).into(),
            run: (&inputs.run.manifest.run).into(),
            file: inputs.phase.file.display().to_string().into(),
            headline: headline::headline(inputs, &metrics),
            first_screen: FirstScreen::default(),
            trust: trust::trust(inputs),
            objective: headline::objective(inputs, &metrics),
            source: provenance::origin(inputs),
            gates: inputs.judgement.gates.clone(),
            tiers: inputs.judgement.tiers.clone(),
            stages: inputs.judgement.stages.clone(),
            fallback: inputs.judgement.fallback.clone(),
            preconditions: inputs.judgement.preconditions.clone(),
            waivers: waiver_row::waivers(inputs.judgement),
            steps: steps::section(&rows, objective_shape, &metrics, &inputs.phase.objective.shape),
            deltas: deltas::deltas(inputs, &metrics),
            shape_deltas: deltas::by_shape(inputs, &metrics, &used),
            times: shape_comparison::by_shape(inputs, &used),
            effects: effects::table(sweep.as_ref().map_or(&[], |sweep| &sweep.effects)),
            toolchains: toolchains::comparison(inputs),
            in_use: used,
            metrics,
            params,
            shapes,
            objective_shape,
            search: search::search(&inputs.run.search),
            ablations: ablations(inputs),
            utilisation: utilisation(inputs),
            diagnosis,
            findings: found,
            deep_profile: deep_profile::row(inputs, &rows),
            variants: rows,
            charts: Vec::new(),
            provenance: provenance::provenance(inputs),
            missing: provenance::missing(inputs).into_iter().map(CleanText::from).collect(),
            warnings: inputs
                .phase
                .workload
                .untested()
                .iter()
                .chain(&inputs.judgement.warnings)
                .chain(&inputs.run.manifest.warnings)
                .chain(&out_of_reach)
                .map(CleanText::from)
                .collect(),
            reproduce: provenance::reproduce(inputs).iter().map(|command| CleanText::whole(command)).collect(),
        };
        report.first_screen = FirstScreen::new(inputs, &report);
        report.charts = chart::charts(&run_charts::run(&report, inputs));
        report
    }
}

/// Columns with at least one value or a gate: the most important first, then the rest in the order of measurement.
fn metric_columns(inputs: &ReportInputs<'_>) -> Vec<MetricColumn> {
    let gated: HashSet<&str> = inputs.judgement.gates.iter().filter_map(|g| g.metric.as_deref()).collect();
    let held = |name: &str| inputs.quantities.column(name).is_some_and(MetricCells::has_value);
    let names: Vec<&str> = inputs.quantities.metrics().filter(|name| held(name) || gated.contains(name)).collect();
    let leading: Vec<&str> = Catalogue::embedded().shown(ShownIn::Lead).collect();
    let rest = names.iter().copied().filter(|name| !leading.contains(name));
    let first = leading.iter().copied().filter(|name| names.contains(name));
    first.chain(rest).map(|name| MetricColumn { gated: gated.contains(name), ..MetricColumn::known(name) }).collect()
}

fn parameters(plan: &Plan) -> Vec<CleanText> {
    let mut names: Vec<CleanText> = Vec::new();
    for (name, _) in plan.variants.iter().flat_map(|v| &v.params) {
        if !names.iter().any(|known| known == name) {
            names.push(name.into());
        }
    }
    names
}

/// All findings: first those of variants in use at their shapes, the objective's shape first, then the rest. The most
/// severe of the former are shown without unfolding, each rule once. Advice is for variants in use: it has no use at a
/// shape at which another one is used.
fn findings(inputs: &ReportInputs<'_>, used: &InUse) -> Vec<FindingRow> {
    let objective = &inputs.phase.objective.shape;
    let selected = inputs.judgement.selected.as_ref().map(|s| &s.variant);
    let subject = |f: &Finding| inputs.subjects.iter().position(|(id, shape)| (id, shape) == (&f.variant, &f.shape));
    let mut findings: Vec<&Finding> = inputs.findings.iter().collect();
    let rest = inputs.subjects.len();
    findings.sort_by_key(|f| (subject(f).unwrap_or(rest), selected != Some(&f.variant), &f.shape != objective));
    let mut rows: Vec<FindingRow> = Vec::new();
    for finding in findings {
        let mut row = FindingRow::of(finding, objective);
        if subject(finding).is_none() && used.has_another(&finding.variant, &finding.shape) {
            row.advice = CleanText::default();
            row.further.clear();
        }
        let shown = rows.iter().filter(|known| known.leading);
        row.leading = subject(finding).is_some()
            && finding.is_leading()
            && shown.clone().count() < LEADING
            && shown.clone().all(|known| known.rule != row.rule);
        rows.push(row);
    }
    rows
}

/// Utilisation of the units of the chip; empty if no unit was counted.
fn utilisation(inputs: &ReportInputs<'_>) -> DocumentTable {
    let mut table = DocumentTable::new(
        "Utilisation",
        vec![Column::text("Utilisation"), Column::number("of what each unit can do")],
    );
    let counted = inputs.speed_of_light.iter().any(|unit| unit.percent.is_some());
    for unit in inputs.speed_of_light.iter().filter(|_| counted) {
        let percent = unit.percent.map(|percent| TableCell::with_unit(Some(percent), "%").bar(percent));
        table.row(vec![TableCell::new(unit.unit), percent.unwrap_or_else(|| TableCell::new("not counted"))]);
    }
    table
}

/// Gates that no variant of the phase can pass on the GPU of the run.
fn unreachable_gates(inputs: &ReportInputs<'_>) -> Vec<String> {
    let gpu = inputs.run.manifest.fingerprint.gpu.as_ref();
    let target = gpu.map(|gpu| TargetGpu { capability: gpu.compute_capability, sms: Some(gpu.sms) });
    target.map_or_else(Vec::new, |target| out_of_reach(inputs.phase, inputs.plan, Some(inputs.quantities), target))
}

/// What costs of the variant in the banner were worth at the objective's shape.
fn ablations(inputs: &ReportInputs<'_>) -> Vec<AblationRow> {
    let variant = in_use::banner_variant(inputs.judgement);
    variant.map_or_else(Vec::new, |variant| AblationRow::all(inputs.ablations, variant, &inputs.phase.objective.shape))
}

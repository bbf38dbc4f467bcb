//! Variants as rows.

use super::inputs::{ReportInputs, RunSource};
use super::model::Measure;
use super::number::{self, Number};
use super::timed_clocks::{self, ClockRow};
use super::trust::{AuditRow, audits, is_self_reported, launches};
use super::variant_row::{BuildRow, CheckRow, CorrectnessRow, GateCell, ShapeValues, VariantRow};
use super::{steps, text};
use ncu_explain::{MetricColumn, NcuObservations, advice};
use ncugate_judge::{CapturedVariant, Case, Correctness, GateResult, VariantResult};
use ncugate_model::{
    Audit, BuildOutcome, BuildRecord, CheckOutcome, CheckRecord, CleanText, Level, Resources, ShapeName, Tolerance,
    VariantId, Verdict,
};
use ncugate_phase::plan::{KernelCode, Method, Variant, VariantRole};
use std::collections::HashMap;

/// Data of variants, by id.
struct VariantIndex<'a> {
    builds: HashMap<&'a VariantId, &'a BuildRecord>,
    checks: HashMap<&'a VariantId, Vec<&'a CheckRecord>>,
    results: HashMap<&'a VariantId, &'a VariantResult>,
    gates: Vec<HashMap<&'a VariantId, &'a Case>>,
    said: HashMap<&'a VariantId, Vec<&'a NcuObservations>>,
    audits: HashMap<(&'a VariantId, &'a ShapeName), &'a Audit>,
    clocks: HashMap<(&'a VariantId, &'a ShapeName), ClockRow>,
}

impl<'a> VariantIndex<'a> {
    fn new(inputs: &ReportInputs<'a>) -> Self {
        let mut checks: HashMap<&VariantId, Vec<&CheckRecord>> = HashMap::new();
        for check in &inputs.run.checks {
            checks.entry(&check.variant).or_default().push(check);
        }
        let mut said: HashMap<&VariantId, Vec<&NcuObservations>> = HashMap::new();
        for one in inputs.said {
            let known = said.entry(&one.variant).or_default();
            // of several kernels at a shape, the one with the most samples
            if known.iter().all(|known| known.shape != one.shape) {
                known.push(one);
            }
        }
        Self {
            said,
            audits: audits(inputs),
            clocks: timed_clocks::rows(inputs),
            builds: inputs.run.builds.iter().map(|b| (&b.variant, b)).collect(),
            checks,
            results: inputs.judgement.variants.iter().map(|r| (&r.variant, r)).collect(),
            gates: inputs.judgement.gates.iter().map(worst_cases).collect(),
        }
    }
}

impl VariantIndex<'_> {
    /// The variant whose measurements are used for this one.
    fn measured_as<'b>(&'b self, variant: &'b VariantId) -> &'b VariantId {
        self.builds.get(variant).and_then(|build| build.shares.as_ref()).unwrap_or(variant)
    }
}

/// The most severe case of every variant that a gate judged, the first one on a tie.
fn worst_cases(gate: &GateResult) -> HashMap<&VariantId, &Case> {
    let mut worst: HashMap<&VariantId, &Case> = HashMap::new();
    for case in gate.cases.iter() {
        let kept = worst.entry(&case.variant).or_insert(case);
        if case.outcome.verdict > kept.outcome.verdict {
            *kept = case;
        }
    }
    worst
}

/// Candidates by rank, then candidates without a rank in the order of the plan, then baselines.
pub fn rows(inputs: &ReportInputs<'_>, metrics: &[MetricColumn], params: &[CleanText]) -> Vec<VariantRow> {
    let index = VariantIndex::new(inputs);
    let mut rows: Vec<VariantRow> =
        inputs.plan.variants.iter().map(|variant| row(inputs, &index, variant, metrics, params)).collect();
    rows.sort_by_key(|row| (row.standing == VariantRole::Baseline, row.rank.unwrap_or(usize::MAX)));
    rows
}

fn row(
    inputs: &ReportInputs<'_>,
    index: &VariantIndex<'_>,
    variant: &Variant,
    metrics: &[MetricColumn],
    params: &[CleanText],
) -> VariantRow {
    let result = index.results.get(&variant.id);
    let build = index.builds.get(&variant.id);
    let parameter =
        |name: &CleanText| variant.params.iter().find(|(n, _)| name == n).map(|(_, v)| v.to_string().into());
    let selected = inputs.judgement.selected.as_ref().is_some_and(|s| s.variant == variant.id);
    VariantRow {
        id: variant.id.0.clone(),
        label: variant.id.0.clone(),
        name: name(variant),
        short: short(variant, params).into(),
        standing: variant.standing,
        self_reported: is_self_reported(variant),
        cheats: result.is_some_and(|r| matches!(r.correctness, Correctness::Cheats { .. })),
        doubt: result.and_then(|r| r.doubt.as_deref()).map(CleanText::from),
        selected,
        rank: result.and_then(|r| r.rank),
        verdict: result.map_or(Verdict::Inconclusive, |r| r.verdict),
        uncompared: !selected && result.is_some_and(|r| r.is_uncompared()),
        params: params.iter().map(parameter).collect(),
        correctness: correctness(
            result.map(|r| &r.correctness),
            index.checks.get(&variant.id),
            &inputs.phase.workload.tolerance,
        ),
        stopped_by: result.map_or_else(Vec::new, |r| r.stopped_by.iter().map(|s| s.text.clone()).collect()),
        shares: build.and_then(|b| b.shares.as_ref()).map(|id| id.0.clone()),
        captured: captured(inputs, variant).map(|one| launches(one).into()),
        build: build_row(inputs, variant, build.map(|b| &b.outcome)),
        shapes: inputs.phase.workload.shapes.iter().map(|s| values(inputs, index, variant, &s.name, metrics)).collect(),
        advice: index.said.get(&variant.id).map_or_else(Vec::new, |said| said.iter().map(|s| advice(s)).collect()),
        gates: inputs
            .judgement
            .gates
            .iter()
            .zip(&index.gates)
            .map(|(g, cases)| cell(g, cases, variant, result))
            .collect(),
    }
}

/// The name that the phase gives a variant; none if the id consists of the parameters.
fn name(variant: &Variant) -> Option<CleanText> {
    let made: Vec<String> = variant.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (made.is_empty() || made.join(",") != variant.id.0).then(|| variant.id.0.clone())
}

fn short(variant: &Variant, params: &[CleanText]) -> String {
    // A bare number does not name its parameter.
    if params.len() < 2 || variant.params.len() < params.len() || name(variant).is_some() {
        return variant.id.0.to_string();
    }
    let value = |name: &CleanText| variant.params.iter().find(|(n, _)| name == n).map(|(_, v)| v.to_string());
    params.iter().filter_map(value).collect::<Vec<_>>().join(" · ")
}

/// The result of a gate for a variant: its own case if it was judged, else whether the gate stops the variant. (Every
/// required gate is judged for each candidate separately, and failures are in `stopped_by`.)
fn cell(
    gate: &GateResult,
    cases: &HashMap<&VariantId, &Case>,
    variant: &Variant,
    result: Option<&&VariantResult>,
) -> Option<GateCell> {
    if let Some(case) = cases.get(&variant.id) {
        return Some(GateCell { verdict: case.outcome.verdict, text: case_text(gate, case).into(), uncompared: false });
    }
    let result = result.filter(|_| variant.standing == VariantRole::Candidate && gate.level == Level::Required)?;
    if let Some(stop) = result.stopped_by.iter().find(|stop| stop.line == Some(gate.line)) {
        return Some(GateCell { verdict: stop.verdict, text: stop.text.clone(), uncompared: stop.uncompared });
    }
    let judged_alone = gate.on.glob().is_none();
    let proven = result.correctness.may_hold();
    (judged_alone && proven).then(|| GateCell { verdict: Verdict::Pass, text: gate.require.shown(), uncompared: false })
}

fn case_text(gate: &GateResult, case: &Case) -> String {
    match (case.outcome.measured, gate.reason_of(case)) {
        (_, Some(reason)) => reason,
        (Some(measured), None) => format!("{} ({})", number::with_unit(measured, &gate.unit), gate.require),
        (None, None) => gate.require.to_string(),
    }
}

fn correctness(
    result: Option<&Correctness>,
    checks: Option<&Vec<&CheckRecord>>,
    tolerance: &Tolerance,
) -> CorrectnessRow {
    let (verdict, words) = match result {
        Some(Correctness::Proven { cases, max_abs }) => {
            (Verdict::Pass, format!("{}, max |diff| {max_abs:.2e}", number::counted(*cases, "case")))
        }
        Some(Correctness::Wrong { reason }) => (Verdict::Fail, reason.clone()),
        Some(Correctness::Cheats { reason }) => (Verdict::Fail, format!("cheats: {reason}")),
        Some(Correctness::Unproven { reason } | Correctness::Unchecked { reason }) => {
            (Verdict::Inconclusive, reason.clone())
        }
        None => (Verdict::Inconclusive, "not judged".to_owned()),
    };
    let cases = checks.map_or_else(Vec::new, |checks| checks.iter().map(|c| check(c, tolerance)).collect());
    CorrectnessRow { verdict, text: words.into(), cases }
}

fn check(record: &CheckRecord, tolerance: &Tolerance) -> CheckRow {
    let outcome = record.outcome.judged_by(tolerance);
    let (verdict, differences, reason) = match &outcome {
        CheckOutcome::Correct { differences } => (Verdict::Pass, Some(differences), None),
        CheckOutcome::Wrong { differences, reason, .. } => (Verdict::Fail, Some(differences), Some(reason)),
        CheckOutcome::Crashed { reason } => (Verdict::Fail, None, Some(reason)),
        CheckOutcome::Skipped { reason } => (Verdict::Inconclusive, None, Some(reason)),
    };
    CheckRow {
        shape: record.shape.0.clone(),
        seed: record.seed,
        verdict,
        max_abs: differences.map(|d| Number::new(d.max_abs)),
        rel_l2: differences.map(|d| Number::new(d.rel_l2)),
        reason: reason.map(CleanText::from),
    }
}

fn build_row(inputs: &ReportInputs<'_>, variant: &Variant, outcome: Option<&BuildOutcome>) -> BuildRow {
    let command = match &variant.method {
        Method::Kernel(plan) => {
            let defines = plan.defines.iter().map(|(name, value)| format!("-D{name}={value}"));
            let constants = match &plan.code {
                KernelCode::Python(python) => python.constants.clone(),
                KernelCode::Cuda | KernelCode::Ptx | KernelCode::Cubin => Vec::new(),
            };
            let constants = constants.iter().map(|(name, value)| format!("{name}={value}"));
            plan.flags.iter().cloned().chain(defines).chain(constants).collect::<Vec<_>>().join(" ")
        }
        Method::Function(plan) => {
            let defines = plan.host.iter().flat_map(|host| &host.defines);
            let defines = defines.map(|(name, value)| format!("-D{name}={value}"));
            let flags = variant.method.flags().iter().cloned().chain(defines);
            let call = format!("{}:{}", plan.file.display(), plan.function);
            std::iter::once(call).chain(flags).collect::<Vec<_>>().join(" ")
        }
        Method::Command(plan) => plan.argv.join(" "),
        Method::Captured(_) => String::new(),
    };
    let (verdict, words, log, code, resources) = match outcome {
        Some(BuildOutcome::Built { arch, log, code_sha256, resources, left_out, .. }) => {
            let out = left_out.iter().map(|out| format!("; not launched at {}: {}", out.shape, out.reasons.join("; ")));
            let words = format!("built for {arch}{}", out.collect::<String>());
            (Verdict::Pass, words, log.as_str(), Some(code_sha256), resource_rows(resources))
        }
        Some(BuildOutcome::Failed { message }) => {
            (Verdict::Fail, "does not compile".to_owned(), message.as_str(), None, Vec::new())
        }
        Some(BuildOutcome::Refused { reasons, resources }) => {
            let rows = resources.as_ref().map(resource_rows).unwrap_or_default();
            (Verdict::Fail, format!("never launched: {}", reasons.join("; ")), "", None, rows)
        }
        Some(BuildOutcome::NotNeeded) => {
            let words = captured(inputs, variant).map_or_else(|| without_build(variant).to_owned(), launches);
            (Verdict::Pass, words, "", None, Vec::new())
        }
        None => (Verdict::Inconclusive, "was not built".to_owned(), "", None, Vec::new()),
    };
    BuildRow {
        verdict,
        text: words.into(),
        log: text::clean(log),
        command: command.into(),
        code_sha256: code.map(CleanText::from),
        resources,
    }
}

/// The launches behind a variant in reports of another program.
fn captured<'i>(inputs: &'i ReportInputs<'_>, variant: &Variant) -> Option<&'i CapturedVariant> {
    let RunSource::Foreign { captured, .. } = &inputs.source else { return None };
    captured.iter().find(|one| one.variant == variant.id)
}

/// The type of a variant without a build.
fn without_build(variant: &Variant) -> &'static str {
    match &variant.method {
        Method::Function(function) => function.kind(),
        Method::Kernel(_) | Method::Command(_) | Method::Captured(_) => "external command",
    }
}

fn resource_rows(resources: &Resources) -> Vec<(CleanText, Number)> {
    [
        ("registers", resources.registers),
        ("static shared memory (bytes)", resources.static_shared),
        ("stack (bytes)", resources.stack),
        ("local memory (bytes)", resources.local),
        ("spill instructions", resources.spills),
        ("constant bank 0 (bytes)", resources.constant),
        ("barriers", resources.barriers),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), Number::new(f64::from(value))))
    .collect()
}

fn values(
    inputs: &ReportInputs<'_>,
    index: &VariantIndex<'_>,
    variant: &Variant,
    shape: &ShapeName,
    metrics: &[MetricColumn],
) -> ShapeValues {
    let launch = match &variant.method {
        Method::Kernel(plan) => CleanText::whole(&plan.program(shape).map_or_else(String::new, steps::program_text)),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => CleanText::default(),
    };
    let measure = |metric: &MetricColumn| Measure::from(&inputs.quantities.read(&variant.id, shape, &metric.name));
    ShapeValues {
        launch,
        steps: steps::rows(inputs, variant, shape, metrics),
        values: metrics.iter().map(measure).collect(),
        samples: inputs.quantities.samples(&variant.id, shape).map_or_else(Vec::new, |s| s.to_vec()),
        audit: index.audits.get(&(index.measured_as(&variant.id), shape)).map(|audit| AuditRow::new(audit)),
        clocks: index.clocks.get(&(index.measured_as(&variant.id), shape)).cloned(),
        witness: index.results.get(&variant.id).and_then(|result| result.durations.get(shape)).copied(),
    }
}

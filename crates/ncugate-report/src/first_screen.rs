//! The first screen of a report: a row for each shape, the next step, and the notes on trust.

use super::deltas::{self, compared_words};
use super::in_use::{UseBasis, banner_variant};
use super::inputs::ReportInputs;
use super::run_report::RunReport;
use super::{number, selected_times};
use ncu_explain::{ChangeDirection, DiagnosisOutcome, FindingRow};
use ncugate_judge::SampleOrigin;
use ncugate_model::metric::Catalogue;
use ncugate_model::rule::Confidence;
use ncugate_model::{CleanText, ShapeName, VariantId};
use serde::Serialize;

/// What a reader needs in five seconds, next to the verdict and its reason.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct FirstScreen {
    /// One for each measured shape, in the order of the phase.
    pub shapes: Vec<ShapeChoice>,
    /// None if nothing was judged.
    pub next: Option<NextExperiment>,
    /// How far to trust the verdict and the numbers: weakened gates, self-reported latencies, audits, warnings.
    pub notes: Vec<CleanText>,
}

/// The variant to use at a shape; if none is recommended the selected one, or the best one that is launched there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeChoice {
    pub shape: CleanText,
    /// Its full id.
    pub variant: CleanText,
    pub standing: Recommendation,
    /// Its value of the objective's metric with the unit, from the confirmation if it was re-timed; or `not measured`.
    pub value: CleanText,
    /// Samples behind the value; none if it is no latency.
    pub origin: Option<SampleOrigin>,
    /// `2.92× slower than sdpa_flash`; none without a value to compare with.
    pub against: Option<CleanText>,
    /// The selected variant or the fallback, if it is not launched at the shape; then the row is about the best one that
    /// is.
    pub not_launched: Option<CleanText>,
    /// Whether the phase falls back: then the selected variant is rejected.
    pub falls_back: bool,
    /// Compiler flags of a kernel, `file:function`, or a command line; the id if it has none of them. None if the variant
    /// was not measured here.
    pub flags: Option<CleanText>,
}

/// Whether the variant of a row is recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recommendation {
    Recommended,
    /// It passes, and the baseline is better.
    Losing,
    /// No variant passes, or the phase seeks the worst one.
    NotRecommended,
}

/// One experiment to try, or what keeps the rules from naming one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NextExperiment {
    pub advice: CleanText,
    /// The rejected variant that it is about, if the phase falls back to another one.
    pub rejected: Option<CleanText>,
    /// Title of the finding behind it, its bound and its confidence.
    pub cause: Option<StepCause>,
}

/// The finding behind a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepCause {
    pub title: CleanText,
    pub saving: Option<CleanText>,
    pub confidence: Confidence,
}

impl NextExperiment {
    /// `Make smaller tiles. (The grid gives each multiprocessor few warps: could save at most 35 % of the time; low confidence)`
    pub fn text(&self) -> String {
        let about = self.rejected.as_ref().map(|rejected| format!("for the rejected {rejected}"));
        let notes: Vec<String> = about.into_iter().chain(self.cause.as_ref().map(StepCause::text)).collect();
        if notes.is_empty() { self.advice.to_string() } else { format!("{} ({})", self.advice, notes.join(": ")) }
    }
}

impl StepCause {
    /// `The grid gives each multiprocessor few warps; could save at most 35 % of the time; low confidence`
    pub fn text(&self) -> String {
        let saving = self.saving.as_ref().map_or_else(String::new, |saving| format!("; could save {saving}"));
        format!("{}{saving}; {} confidence", self.title, self.confidence.word())
    }
}

impl ShapeChoice {
    /// The word before the variant.
    pub const fn word(&self) -> &'static str {
        match (self.standing, &self.not_launched) {
            (_, Some(_)) => "best",
            (Recommendation::Recommended, None) => "use",
            (Recommendation::Losing, None) => "passing",
            (Recommendation::NotRecommended, None) if self.falls_back => "fallback",
            (Recommendation::NotRecommended, None) => "selected",
        }
    }

    /// `29.7 µs, 2.92× slower than sdpa_flash`
    pub fn text(&self) -> String {
        let against = self.against.as_ref().map_or_else(String::new, |against| format!(", {against}"));
        let origin = match self.origin {
            Some(SampleOrigin::Sweep) => " (not re-timed)",
            Some(SampleOrigin::Confirmation) | None => "",
        };
        let not_launched = self.not_launched.as_ref();
        let selected = not_launched.map_or_else(String::new, |id| match self.falls_back {
            true => "; the fallback is not launched there".to_owned(),
            false => format!("; the selected {id} is not launched there"),
        });
        format!("{}{origin}{against}{selected}", self.value)
    }
}

impl FirstScreen {
    /// The first screen of a report whose other parts are complete.
    pub fn new(inputs: &ReportInputs<'_>, report: &RunReport) -> Self {
        Self { shapes: shapes(inputs, report), next: next(inputs, report), notes: notes(report) }
    }

    /// Whether the variants of all shapes are recommended.
    pub fn recommends(&self) -> bool {
        let is_recommended = |row: &ShapeChoice| row.standing == Recommendation::Recommended;
        !self.shapes.is_empty() && self.shapes.iter().all(is_recommended)
    }

    /// `4 notes on how far to trust this`; none without notes.
    pub fn notes_title(&self) -> Option<String> {
        let count = self.notes.len();
        (count > 0).then(|| format!("{} on how far to trust this", number::counted(count, "note")))
    }
}

fn shapes(inputs: &ReportInputs<'_>, report: &RunReport) -> Vec<ShapeChoice> {
    let used = &report.in_use;
    let Some((_, metric)) = report.metric(&used.metric) else { return Vec::new() };
    let of = |used_here: &super::in_use::ShapeUse| {
        let named = |id: &VariantId| used_here.shown() == Some(&id.0);
        let in_use = inputs.plan.variants.iter().map(|variant| &variant.id).find(|id| named(id));
        let variant = in_use.or(banner_variant(inputs.judgement))?;
        let shape = ShapeName(used_here.shape.clone());
        let value = selected_times::value(inputs.quantities, variant, &shape, &metric.name);
        let compared = deltas::against_first(inputs, metric, (variant, &shape));
        let loses = compared.as_ref().is_some_and(|(_, change)| {
            let worse = metric.better.improved(change.before.value, change.after.value) == Some(false);
            worse && change.judged != ChangeDirection::WithinNoise
        });
        let standing = match used.basis {
            _ if value.is_none() || used_here.not_launched.is_some() => Recommendation::NotRecommended,
            UseBasis::Nothing => Recommendation::NotRecommended,
            UseBasis::Selected | UseBasis::Fallback if loses => Recommendation::Losing,
            UseBasis::Selected | UseBasis::Fallback => Recommendation::Recommended,
        };
        let row = report.variants.iter().find(|row| row.id == variant.0)?;
        let flags = || if row.build.command.is_empty() { row.id.clone() } else { row.build.command.clone() };
        Some(ShapeChoice {
            shape: used_here.shape.clone(),
            variant: variant.0.clone(),
            standing,
            value: value.map_or_else(|| "not measured".into(), |value| number::with_unit(value, &metric.unit).into()),
            origin: value
                .and_then(|_| Catalogue::embedded().latency(&metric.name))
                .map(|_| selected_times::origin(inputs.quantities, variant, &shape)),
            against: compared.map(|(other, change)| compared_words(metric, &change, &other).into()),
            not_launched: used_here.not_launched.clone(),
            falls_back: used.basis == UseBasis::Fallback,
            flags: value.map(|_| flags()),
        })
    };
    used.shapes.iter().filter_map(of).collect()
}

/// The advice of the costliest cause at the objective's shape, as in `ncugate explain`; else the outcome of the rules.
fn next(inputs: &ReportInputs<'_>, report: &RunReport) -> Option<NextExperiment> {
    let place = report.diagnosis.first()?;
    let shown = banner_variant(inputs.judgement);
    let is_rejected = report.in_use.basis == UseBasis::Fallback && shown.is_some_and(|id| id.0 != place.variant);
    let rejected = is_rejected.then(|| place.variant.clone());
    let is_here = |row: &&FindingRow| (&row.variant, &row.shape) == (&place.variant, &place.shape);
    let cause = report.findings.iter().filter(is_here).find(|row| row.is_cause());
    if let Some(row) = cause.filter(|row| !row.advice.is_empty()) {
        let saving = row.saving.as_ref().map(|saving| saving.words.clone());
        let cause = StepCause { title: row.heading(), saving, confidence: row.confidence };
        return Some(NextExperiment { advice: row.advice.clone(), rejected, cause: Some(cause) });
    }
    let advice = match (&place.not_asked, place.outcome) {
        (Some(lacks), DiagnosisOutcome::NotJudged) => {
            let how = lacks.command.as_ref().map_or_else(
                || "add them to `[profile] metrics` (see Findings)".to_owned(),
                |command| format!("`{command}`"),
            );
            CleanText::whole(&format!("Collect the counters that {} of {} rules lack: {how}.", lacks.rules, lacks.of))
        }
        (_, DiagnosisOutcome::Clean) => CleanText::whole(&format!("Nothing obvious is left. {}", place.sentence)),
        _ => place.sentence.clone(),
    };
    (!advice.is_empty()).then_some(NextExperiment { advice, rejected, cause: None })
}

fn notes(report: &RunReport) -> Vec<CleanText> {
    let missing = report.missing.first().map(|first| {
        let first = first.trim_end_matches('.');
        match report.missing.len() - 1 {
            0 => CleanText::whole(&format!("Missing: {first}.")),
            more => CleanText::whole(&format!("Missing: {first}; {} below.", number::counted(more, "more reason"))),
        }
    });
    let warnings = report.warnings.iter().map(|warning| super::text::sentence(warning).into());
    let headline = &report.headline;
    let cautions = headline.changed_limits.iter().chain(&headline.cautions).chain(&report.trust.lines).cloned();
    report.toolchains.summaries.iter().cloned().chain(cautions).chain(warnings).chain(missing).collect()
}

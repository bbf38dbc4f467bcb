//! The deep profile of the selected variant as rows, and its additions to the findings.

use super::inputs::ReportInputs;
use super::model::Measure;
use super::number;
use super::variant_row::VariantRow;
use ncu_explain::{FindingRow, MetricColumn, NcuAdvice, PairedLines, SampledVariant, advice, estimates, pair};
use ncugate_model::{CleanText, DeepProfile, ProfileOutcome, VariantId};
use ncugate_phase::config::DeepProfileTarget;
use ncugate_phase::plan::{Method, Variant};
use serde::Serialize;

/// A variant profiled once more, with every section, sample and source that shows where time is spent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeepProfileRow {
    /// The profiled variants, the selected one first.
    pub variants: Vec<ProfiledVariant>,
    pub shape: CleanText,
    /// Cost and limits of the profile.
    pub note: CleanText,
    /// Throughputs, caches, waste, and the states of warps.
    pub metrics: Vec<DeepMetric>,
    /// Advice of ncu for the first variant.
    pub advice: Option<NcuAdvice>,
    /// Lines of the first variant paired with those of each other variant that has common lines.
    pub pairs: Vec<PairedLines>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfiledVariant {
    pub id: CleanText,
    /// Its id, short enough for a table.
    pub label: CleanText,
    /// Only its parameter values, if it has them all.
    pub short: CleanText,
    pub passes: Option<u32>,
    /// Wall seconds of the ncu process.
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeepMetric {
    pub name: CleanText,
    pub title: CleanText,
    pub unit: CleanText,
    /// Values, aligned with [`DeepProfileRow::variants`].
    pub values: Vec<Measure>,
}

impl DeepProfileRow {
    /// Warp states of the first variant, longest first: cycles per issued instruction.
    pub fn states(&self) -> Vec<&DeepMetric> {
        let cycles = |metric: &DeepMetric| metric.values.first().and_then(Measure::number).map_or(0.0, |n| n.value);
        let mut states: Vec<&DeepMetric> =
            self.metrics.iter().filter(|m| m.name.starts_with(STATE) && cycles(m) > 0.0).collect();
        states.sort_by(|a, b| cycles(b).total_cmp(&cycles(a)));
        states
    }

    /// Metrics other than warp states that have a value.
    pub fn figures(&self) -> Vec<&DeepMetric> {
        let known = |metric: &&DeepMetric| metric.values.iter().any(|value| value.number().is_some());
        self.metrics.iter().filter(|m| !m.name.starts_with(STATE)).filter(known).collect()
    }
}

/// Prefix of the names of warp states.
const STATE: &str = "stall_";

/// Longest id in a column head, in characters.
const HEAD: usize = 24;

/// Profiles with results, the selected variant's first, each with its displayed id.
fn profiles<'a>(inputs: &'a ReportInputs<'_>) -> Vec<(&'a VariantId, &'a DeepProfile)> {
    let selected = inputs.judgement.selected.as_ref().map(|selected| &selected.variant);
    let stands_for = selected.map(|id| inputs.run.measured_as(id));
    let profiled = |profile: &&DeepProfile| match profile.outcome {
        ProfileOutcome::Profiled { .. } => true,
        ProfileOutcome::Traced { .. } | ProfileOutcome::Failed { .. } => false,
    };
    let shown = |profile: &'a DeepProfile| match selected.filter(|_| stands_for == Some(&profile.variant)) {
        Some(selected) => (selected, profile),
        None => (&profile.variant, profile),
    };
    let mut profiles: Vec<_> = inputs.run.deep_profiles.iter().filter(profiled).map(shown).collect();
    profiles.sort_by_key(|(id, _)| Some(*id) != selected);
    profiles
}

/// The rows, if a profile gave readable results.
pub fn row(inputs: &ReportInputs<'_>, rows: &[VariantRow]) -> Option<DeepProfileRow> {
    let profiles = profiles(inputs);
    let (_, first) = profiles.first().filter(|_| inputs.deep.problem.is_none())?;
    let of = |id: &VariantId| rows.iter().find(|row| row.id == id.0);
    let profiled = |(id, profile): &(&VariantId, &DeepProfile)| ProfiledVariant {
        id: id.0.clone(),
        label: of(id).map_or_else(|| id.0.clone(), |row| row.label.clone()),
        short: of(id).map_or_else(|| id.0.clone(), |row| row.short.clone()),
        passes: profile.passes,
        seconds: profile.seconds,
    };
    let measure = |id: &VariantId, metric: &str| Measure::from(&inputs.deep.quantities.read(id, &first.shape, metric));
    let metric = |name: &str| {
        let known = MetricColumn::known(name);
        DeepMetric {
            name: name.into(),
            title: known.title.into(),
            unit: known.unit.into(),
            values: profiles.iter().map(|(id, _)| measure(id, name)).collect(),
        }
    };
    let said = inputs.said.iter().find(|said| said.variant == first.variant && said.shape == first.shape);
    let mut variants: Vec<ProfiledVariant> = profiles.iter().map(profiled).collect();
    name_apart(&mut variants);
    let pairs = line_pairs(inputs, &profiles, &variants);
    Some(DeepProfileRow {
        variants,
        shape: first.shape.0.clone(),
        note: note(first).into(),
        metrics: inputs.deep.quantities.metrics().map(metric).collect(),
        advice: said.map(advice),
        pairs,
    })
}

/// Pairs of the first profile with every other one.
fn line_pairs(
    inputs: &ReportInputs<'_>,
    profiles: &[(&VariantId, &DeepProfile)],
    variants: &[ProfiledVariant],
) -> Vec<PairedLines> {
    let mut all: Vec<Option<SampledVariant<'_>>> = Vec::new();
    for ((id, profile), row) in profiles.iter().zip(variants) {
        let said = inputs.said.iter().find(|said| said.variant == profile.variant && said.shape == profile.shape);
        let duration = inputs.deep.quantities.read(id, &profile.shape, "duration").value();
        all.push(said.map(|said| SampledVariant { label: &row.label, said, duration }));
    }
    let Some((Some(first), others)) = all.split_first() else { return Vec::new() };
    others.iter().flatten().filter_map(|other| pair(*first, *other)).collect()
}

/// Uses ids as column heads if they are short or if variants have the same parameters.
fn name_apart(variants: &mut [ProfiledVariant]) {
    let alike = variants.iter().skip(1).any(|row| row.short == variants[0].short);
    for row in variants.iter_mut().filter(|row| alike || row.label.chars().count() <= HEAD) {
        row.short = row.label.clone();
    }
}

fn note(profile: &DeepProfile) -> String {
    let passes = profile.passes.map_or_else(String::new, |n| format!(", {n} replay passes"));
    format!(
        "One more ncu process after the sweep: {}{passes}. Its counters are shown here and in the charts; no gate is judged by \
         them.",
        number::seconds(profile.seconds)
    )
}

/// Why the selected variant has no deep profile, if the phase wants one and something was measured.
pub fn missing(inputs: &ReportInputs<'_>) -> Option<String> {
    let selected = inputs.judgement.selected.as_ref()?;
    if inputs.phase.profile.deep_profile == DeepProfileTarget::None || inputs.run.manifest.stage_seconds.is_empty() {
        return None;
    }
    let say = |why: &str| Some(format!("no deep profile of the selected variant: {why}"));
    let is_kernel = |variant: &Variant| matches!(variant.method, Method::Kernel(_));
    if !inputs.plan.variant(&selected.variant).is_some_and(is_kernel) {
        return say("it is a function or a command, and only kernels have one");
    }
    if let Some(problem) = inputs.deep.problem {
        return say(problem);
    }
    match profiles(inputs).first() {
        Some((id, _)) if **id == selected.variant => None,
        Some((id, _)) => say(&format!("the run profiled {id}, which was selected then")),
        None => {
            let failed = inputs.run.deep_profiles.iter().find_map(|profile| match &profile.outcome {
                ProfileOutcome::Failed { reason } => Some(reason.as_str()),
                ProfileOutcome::Profiled { .. } | ProfileOutcome::Traced { .. } => None,
            });
            say(failed.unwrap_or("missing in this run; measure again"))
        }
    }
}

/// The largest estimates of ncu's rules for the selected variant; those relative to the whole time precede those of a
/// unit.
pub fn findings(inputs: &ReportInputs<'_>) -> Vec<FindingRow> {
    let Some((id, profile)) = profiles(inputs).into_iter().next() else { return Vec::new() };
    let Some(said) = inputs.said.iter().find(|said| said.variant == profile.variant && said.shape == profile.shape)
    else {
        return Vec::new();
    };
    estimates(&said.rules, (&id.0, &profile.shape.0), &format!("deep profile, {id}@{}", profile.shape))
}

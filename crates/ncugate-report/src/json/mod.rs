//! `results.json`: every value, for programs.
//!
//! Rows of the report are written unchanged; columns become values keyed by name. Numbers are in the unit that their
//! metric names and in full precision. An unmeasured value is `null` in `values`, with the reason in `missing`.

mod values;

use self::values::{DeepProfileValues, VariantValues};
use super::ablation_row::AblationRow;
use super::deltas::Delta;
use super::error::RenderError;
use super::in_use::InUse;
use super::run_report::RunReport;
use super::toolchains::ToolchainRow;
use super::trust::CheatRow;
use super::waiver_row::WaiverRow;
use indexmap::IndexMap;
use ncu_explain::{DiagnosisRow, FindingRow, MetricColumn};
use ncugate_judge::{FallbackResult, GateResult, PreconditionResult, StageResult, TierResult};
use ncugate_model::number::finite;
use ncugate_model::number::text::escaped_json;
use ncugate_model::{CleanText, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the contract; raised when a field is removed or changes its meaning.
pub const SCHEMA: u32 = 1;

/// The JSON file, on one line.
pub fn json(report: &RunReport) -> Result<String, RenderError> {
    let results = Results::new(report);
    finite::check(&results)?;
    Ok(escaped_json(&serde_json::to_string(&results)?) + "\n")
}

/// JSON Schema of `results.json`.
pub fn schema() -> Result<String, RenderError> {
    Ok(serde_json::to_string_pretty(&schemars::schema_for!(Results<'static>))? + "\n")
}

/// Everything a run gave.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Results<'a> {
    /// Version of this contract.
    pub schema: u32,
    /// Short name of the phase.
    pub phase: &'a str,
    /// Title of the phase.
    pub title: &'a str,
    /// Id of the run.
    pub run: &'a str,
    /// The verdict of the phase.
    pub verdict: Verdict,
    /// One sentence why.
    pub reason: &'a str,
    /// Requirements that differ from those of the measured phase, or are weaker than at the base.
    pub changed_limits: &'a [CleanText],
    /// Limits of the verdict: gates that do not judge the selected variant, weakened gates, the cost of a fallback.
    pub cautions: &'a [CleanText],
    /// Highest tier reached, with what keeps the next away.
    pub tier: Option<&'a str>,
    /// Id of the selected variant.
    pub selected: Option<&'a str>,
    /// What to use: `selected` is what the objective chose, whether it passes or not.
    #[serde(rename = "use")]
    pub in_use: &'a InUse,
    /// Whether this is a replay of a recording.
    pub replay: bool,
    /// Why nothing was measured now, where the recording is shown without `--source recorded`. Then nothing passes, whatever
    /// the verdict of the recording is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<&'a str>,
    /// Variants whose timed launches are not what was checked.
    pub cheats: &'a [CheatRow],
    /// Where it was measured, in a sentence.
    pub source: &'a str,
    /// Gates, in the order of the file.
    pub gates: &'a [GateResult],
    /// Tiers, easiest first.
    pub tiers: &'a [TierResult],
    /// Stages, in order.
    pub stages: &'a [StageResult],
    /// The fallback, when one was taken.
    pub fallback: Option<FallbackKeys<'a>>,
    /// Go/no-go conditions.
    pub preconditions: &'a [PreconditionResult],
    /// Waivers, in force and expired.
    pub waivers: &'a [WaiverRow],
    /// Metrics by name.
    #[schemars(with = "std::collections::BTreeMap<String, MetricColumn>")]
    pub metrics: IndexMap<&'a str, &'a MetricColumn>,
    /// Variants, best first, then baselines.
    pub variants: Vec<VariantValues<'a>>,
    /// The selected variant beside each baseline and each stored run.
    pub deltas: &'a [Delta],
    /// What the rules could say of each variant in use at its shapes: whether they were asked.
    pub diagnosis: &'a [DiagnosisRow],
    /// What the counters say, gravest first.
    pub findings: &'a [FindingRow],
    /// What costs of the selected variant are worth, measured on copies of its machine code that are no variants.
    pub ablations: &'a [AblationRow],
    /// Deep profiles, the selected variant's first.
    pub deep_profiles: Vec<DeepProfileValues<'a>>,
    /// Candidates by several toolchains, the gravest change first.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub toolchains: &'a [ToolchainRow],
    /// What is not in the numbers, and why.
    pub missing: &'a [CleanText],
    /// What the reader must be warned of.
    pub warnings: &'a [CleanText],
    /// What was measured where, with what.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub provenance: IndexMap<&'a str, &'a str>,
    /// Wall seconds by stage of the program.
    #[schemars(with = "std::collections::BTreeMap<String, f64>")]
    pub stage_seconds: IndexMap<&'a str, f64>,
    /// SHA-256 of every kernel source.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub sources: IndexMap<&'a str, &'a str>,
    /// The command line.
    pub argv: &'a str,
    /// The phase's file as run.
    pub config: &'a str,
    /// Commands that make this report again.
    pub reproduce: &'a [CleanText],
}

/// The fallback, with the keys that a tier has.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FallbackKeys<'a> {
    /// The variant taken; empty where none was.
    pub name: &'a str,
    /// Always true: the phase passes only with it.
    pub required: bool,
    /// The fallback.
    #[serde(flatten)]
    pub fallback: &'a FallbackResult,
}

impl<'a> Results<'a> {
    /// The contract's view of a report.
    pub fn new(report: &'a RunReport) -> Self {
        let text = |(key, value): &'a (CleanText, CleanText)| (key.as_str(), value.as_str());
        Self {
            schema: SCHEMA,
            phase: &report.phase,
            title: &report.title,
            run: &report.run,
            verdict: report.headline.verdict,
            reason: &report.headline.reason,
            changed_limits: &report.headline.changed_limits,
            cautions: &report.headline.cautions,
            tier: report.headline.tier.as_deref(),
            selected: report.headline.selected.as_deref(),
            in_use: &report.in_use,
            replay: report.source.replay,
            not_measured: report.source.unasked.as_deref(),
            cheats: &report.trust.cheats,
            source: &report.source.sentence,
            gates: &report.gates,
            tiers: &report.tiers,
            stages: &report.stages,
            fallback: report.fallback.as_ref().map(fallback),
            preconditions: &report.preconditions,
            waivers: &report.waivers,
            metrics: report.metrics.iter().map(|m| (m.name.as_str(), m)).collect(),
            variants: report.variants.iter().map(|v| values::variant(report, v)).collect(),
            deltas: &report.deltas,
            diagnosis: &report.diagnosis,
            findings: &report.findings,
            ablations: &report.ablations,
            deep_profiles: report.deep_profile.as_ref().map_or_else(Vec::new, values::deep_profiles),
            toolchains: &report.toolchains.rows,
            missing: &report.missing,
            warnings: &report.warnings,
            provenance: report.provenance.facts.iter().map(text).collect(),
            stage_seconds: report.provenance.stages.iter().map(|(k, v)| (k.as_str(), v.value)).collect(),
            sources: report.provenance.hashes.iter().map(text).collect(),
            argv: &report.provenance.argv,
            config: &report.provenance.config,
            reproduce: &report.reproduce,
        }
    }
}

fn fallback(fallback: &FallbackResult) -> FallbackKeys<'_> {
    FallbackKeys { name: fallback.variant.as_ref().map_or("", |id| &id.0), required: true, fallback }
}

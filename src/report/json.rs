//! `results.json`: every value, for programs. A contract of its own, so that the page may change without it.
//!
//! Numbers are in the unit their metric names and in full precision; what was not measured is `null` in `values` and
//! says why in `missing`.

mod delta;
mod judged;

use super::error::RenderError;
use super::markdown::word;
use super::model::{Report, VariantRow};
use crate::model::Better;
use crate::plan::Standing;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the contract; a field that changes its meaning or goes raises it.
pub const SCHEMA: u32 = 1;

/// The JSON file, on one line.
pub fn json(report: &Report) -> Result<String, RenderError> {
    Ok(serde_json::to_string(&Results::new(report))? + "\n")
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
    /// `pass`, `fail` or `inconclusive`.
    pub verdict: &'a str,
    /// One sentence why.
    pub reason: &'a str,
    /// Highest tier reached, with what keeps the next away.
    pub tier: Option<&'a str>,
    /// Id of the selected variant.
    pub selected: Option<&'a str>,
    /// Whether this is a replay of a recording.
    pub replay: bool,
    /// Where it was measured, in a sentence.
    pub source: &'a str,
    /// Why nothing was measured now, where the recording is shown that nobody asked for. Then nothing passes, whatever
    /// the verdict of the recording is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<&'a str>,
    /// Gates, in the order of the file.
    pub gates: Vec<judged::Gate<'a>>,
    /// Tiers, easiest first.
    pub tiers: Vec<judged::Group<'a>>,
    /// Stages, in order.
    pub stages: Vec<judged::Stage<'a>>,
    /// The fallback, when one was taken.
    pub fallback: Option<judged::Group<'a>>,
    /// Go/no-go conditions.
    pub preconditions: Vec<judged::Condition<'a>>,
    /// Waivers, in force and expired.
    pub waivers: Vec<judged::Waived<'a>>,
    /// Metrics by name.
    #[schemars(with = "std::collections::BTreeMap<String, Metric<'static>>")]
    pub metrics: IndexMap<&'a str, Metric<'a>>,
    /// Variants, best first, then baselines.
    pub variants: Vec<Variant<'a>>,
    /// The selected variant beside each baseline and each stored run.
    pub deltas: Vec<delta::Delta<'a>>,
    /// What the counters say, gravest first.
    pub findings: Vec<Found<'a>>,
    /// Close looks, the selected variant's first.
    pub close_looks: Vec<Look<'a>>,
    /// What is not in the numbers, and why.
    pub missing: &'a [String],
    /// What the reader must be warned of.
    pub warnings: &'a [String],
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
    pub reproduce: &'a [String],
}

/// What a metric is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Metric<'a> {
    /// What it is called.
    pub title: &'a str,
    /// Its unit.
    pub unit: &'a str,
    /// `higher`, `lower` or `context`.
    pub better: &'a str,
}

/// A variant.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Variant<'a> {
    /// Its id.
    pub id: &'a str,
    /// `candidate` or `baseline`.
    pub standing: &'a str,
    /// Its parameters.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub params: IndexMap<&'a str, &'a str>,
    /// Rank by the objective among correct candidates, from 1.
    pub rank: Option<usize>,
    /// `pass`, `fail` or `inconclusive`.
    pub verdict: &'a str,
    /// Gates that do not hold for it, worst first.
    pub stopped_by: &'a [String],
    /// The variant whose measurements it shares.
    pub shares: Option<&'a str>,
    /// Whether it computes the right thing: `pass`, `fail` or `inconclusive`.
    pub correct: &'a str,
    /// In words.
    pub correctness: &'a str,
    /// How it was built, in words.
    pub build: &'a str,
    /// SHA-256 of its machine code; null where there is none.
    pub code_sha256: Option<&'a str>,
    /// Values by shape.
    #[schemars(with = "std::collections::BTreeMap<String, Values<'static>>")]
    pub shapes: IndexMap<&'a str, Values<'a>>,
}

/// What was measured at a shape.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Values<'a> {
    /// Value by metric; null where there is none.
    #[schemars(with = "std::collections::BTreeMap<String, Option<f64>>")]
    pub values: IndexMap<&'a str, Option<f64>>,
    /// Why there is no value, by metric.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub missing: IndexMap<&'a str, &'a str>,
    /// Latency samples in microseconds, in the order they were taken.
    pub samples: &'a [f64],
    /// What ncu's own rules say, the largest estimated speedup first; absent where the report holds none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule<'a>>,
    /// Instructions with the most samples; absent where the report holds none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hot: Vec<Hot<'a>>,
}

/// A message of one of ncu's rules.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Rule<'a> {
    /// Title.
    pub title: &'a str,
    /// Message.
    pub text: &'a str,
    /// Estimated speedup in percent: a cap, no promise.
    pub speedup: Option<f64>,
}

/// An instruction that ncu's sampler found warps at.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hot<'a> {
    /// Bytes from the kernel's first instruction, in hexadecimal.
    pub offset: &'a str,
    /// Samples.
    pub samples: f64,
    /// Percent of the launch's samples.
    pub share: f64,
    /// Why most of its warps waited.
    pub stall: &'a str,
    /// The instruction, where it is known.
    pub instruction: Option<&'a str>,
    /// Its source line as `file:line`, where it is known.
    pub line: Option<&'a str>,
    /// The text of that line, where it is known.
    pub source: Option<&'a str>,
}

/// What a variant's close look counted: for reading, never judged.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Look<'a> {
    /// The variant.
    pub variant: &'a str,
    /// The shape.
    pub shape: &'a str,
    /// Replay passes, where they are known.
    pub passes: Option<u32>,
    /// Wall seconds of the ncu process.
    pub seconds: f64,
    /// Values by metric; null where there is none.
    #[schemars(with = "std::collections::BTreeMap<String, Option<f64>>")]
    pub values: IndexMap<&'a str, Option<f64>>,
    /// Why a metric has no value.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub missing: IndexMap<&'a str, &'a str>,
}

/// A finding.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found<'a> {
    /// In a few words.
    pub title: &'a str,
    /// With the numbers.
    pub sentence: &'a str,
    /// What to try.
    pub advice: &'a str,
    /// The variant it is about.
    pub variant: &'a str,
}

impl<'a> Results<'a> {
    /// The contract's view of a report.
    pub fn new(report: &'a Report) -> Self {
        Self {
            schema: SCHEMA,
            phase: &report.phase,
            title: &report.title,
            run: &report.run,
            verdict: word(report.headline.verdict),
            reason: &report.headline.reason,
            tier: report.headline.tier.as_deref(),
            selected: report.headline.selected.as_deref(),
            replay: report.source.replay,
            source: &report.source.sentence,
            not_measured: report.source.unasked.as_deref(),
            gates: judged::gates(&report.gates),
            tiers: judged::tiers(report),
            stages: judged::stages(report),
            fallback: judged::fallback(report),
            preconditions: judged::conditions(report),
            waivers: judged::waivers(report),
            metrics: report.metrics.iter().map(|m| (m.name.as_str(), metric(m))).collect(),
            variants: report.variants.iter().map(|v| variant(report, v)).collect(),
            deltas: delta::deltas(report),
            findings: findings(report),
            close_looks: report.closely.as_ref().map_or_else(Vec::new, close_looks),
            missing: &report.missing,
            warnings: &report.warnings,
            provenance: report.provenance.facts.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
            stage_seconds: report.provenance.stages.iter().map(|(k, v)| (k.as_str(), v.value)).collect(),
            sources: report.provenance.hashes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
            argv: &report.provenance.argv,
            config: &report.provenance.config,
            reproduce: &report.reproduce,
        }
    }
}

fn close_looks(row: &super::CloseLookRow) -> Vec<Look<'_>> {
    let mut looks = Vec::new();
    for (at, looked) in row.looked.iter().enumerate() {
        let (mut values, mut missing) = (IndexMap::new(), IndexMap::new());
        for metric in &row.metrics {
            let measure = metric.values.get(at);
            values.insert(metric.name.as_str(), measure.and_then(super::Measure::number).map(|n| n.value));
            if let Some(super::Measure::Missing(reason)) = measure {
                missing.insert(metric.name.as_str(), reason.as_str());
            }
        }
        looks.push(Look {
            variant: &looked.id,
            shape: &row.shape,
            passes: looked.passes,
            seconds: looked.seconds,
            values,
            missing,
        });
    }
    looks
}

fn findings(report: &Report) -> Vec<Found<'_>> {
    report
        .findings
        .iter()
        .map(|f| Found { title: &f.title, sentence: &f.sentence, advice: &f.advice, variant: &f.variant })
        .collect()
}

fn metric(metric: &super::MetricColumn) -> Metric<'_> {
    let better = match metric.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Context => "context",
    };
    Metric { title: &metric.title, unit: &metric.unit, better }
}

fn variant<'a>(report: &'a Report, row: &'a VariantRow) -> Variant<'a> {
    let params = report.params.iter().zip(&row.params).filter_map(|(name, v)| Some((name.as_str(), v.as_deref()?)));
    let shapes = row
        .shapes
        .iter()
        .zip(&report.shapes)
        .map(|(values_at, shape)| values(report, values_at, row.said.iter().find(|said| &said.shape == shape)));
    Variant {
        id: &row.id,
        standing: match row.standing {
            Standing::Candidate => "candidate",
            Standing::Baseline => "baseline",
        },
        params: params.collect(),
        rank: row.rank,
        verdict: word(row.verdict),
        stopped_by: &row.stopped_by,
        shares: row.shares.as_deref(),
        correct: word(row.correctness.verdict),
        correctness: &row.correctness.text,
        build: &row.build.text,
        code_sha256: row.build.code_sha256.as_deref(),
        shapes: report.shapes.iter().map(String::as_str).zip(shapes).collect(),
    }
}

fn values<'a>(report: &'a Report, shape: &'a super::ShapeValues, said: Option<&'a super::SaidRow>) -> Values<'a> {
    let mut values = IndexMap::with_capacity(report.metrics.len());
    let mut missing = IndexMap::new();
    for (metric, measure) in report.metrics.iter().zip(&shape.values) {
        values.insert(metric.name.as_str(), measure.number().map(|n| n.value));
        if let super::Measure::Missing(reason) = measure {
            missing.insert(metric.name.as_str(), reason.as_str());
        }
    }
    let rule = |r: &'a super::RuleRow| Rule { title: &r.title, text: &r.text, speedup: r.percent };
    let hot = |h: &'a super::HotRow| Hot {
        offset: &h.offset,
        samples: h.samples.value,
        share: h.share.value,
        stall: &h.stall,
        instruction: Some(h.text.as_str()).filter(|text| !text.is_empty()),
        line: h.line.as_ref().map(|line| line.place.as_str()),
        source: h.line.as_ref().map(|line| line.text.as_str()).filter(|text| !text.is_empty()),
    };
    Values {
        values,
        missing,
        samples: &shape.samples,
        rules: said.map_or_else(Vec::new, |s| s.rules.iter().map(rule).collect()),
        hot: said.map_or_else(Vec::new, |s| s.hot.iter().map(hot).collect()),
    }
}

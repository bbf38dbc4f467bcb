//! The report as data: built once by [`Report::new`](super::Report::new), read by every renderer.
//!
//! Holds values and the text that people read; knows no clock, disk or environment.

use super::deltas::Delta;
use super::gates::{FallbackRow, GateRow, PreconditionRow, StageRow, TierRow, WaiverRow};
use super::number::Number;
use super::provenance::{Origin, Provenance};
use crate::chart::Chart;
use crate::explain::Severity;
use crate::model::Better;
use crate::model::Verdict;
use crate::plan::Standing;
use serde::Serialize;

/// A judged run, ready to be shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Title of the phase.
    pub title: String,
    /// Short name of the phase.
    pub phase: String,
    /// Id of the run.
    pub run: String,
    /// File of the phase, for annotations.
    pub file: String,
    /// What a reader has to know in ten seconds.
    pub headline: Headline,
    /// Where the numbers come from.
    pub source: Origin,
    /// Gates, in the order of the file.
    pub gates: Vec<GateRow>,
    /// Tiers, easiest first.
    pub tiers: Vec<TierRow>,
    /// Stages, in order.
    pub stages: Vec<StageRow>,
    /// The fallback, when one was taken.
    pub fallback: Option<FallbackRow>,
    /// Go/no-go conditions.
    pub preconditions: Vec<PreconditionRow>,
    /// Waivers, in force and expired.
    pub waivers: Vec<WaiverRow>,
    /// Metrics that were measured, in the order of columns.
    pub metrics: Vec<MetricColumn>,
    /// Parameters of the variants, in the order of the sweep.
    pub params: Vec<String>,
    /// Shapes, in the order of the phase.
    pub shapes: Vec<String>,
    /// Index in `shapes` of the objective's shape.
    pub objective_shape: usize,
    /// Candidates and baselines, best first.
    pub variants: Vec<VariantRow>,
    /// The selected variant beside each baseline and each stored run.
    pub deltas: Vec<Delta>,
    /// What the counters say, gravest first; then the largest estimates of ncu's rules.
    pub findings: Vec<Finding>,
    /// The close look at the selected variant, where one was taken.
    pub closely: Option<CloseLookRow>,
    /// Charts, in the order of the page.
    pub charts: Vec<Chart>,
    /// What was measured where, with what.
    pub provenance: Provenance,
    /// What is not in the numbers, and why.
    pub missing: Vec<String>,
    /// What the reader must be warned of.
    pub warnings: Vec<String>,
    /// Commands that make this report again.
    pub reproduce: Vec<String>,
}

/// The banner.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Headline {
    /// Verdict of the phase.
    pub verdict: Verdict,
    /// `Pass`, `Fail`, `Inconclusive` or `Fallback`.
    pub label: String,
    /// One sentence why.
    pub reason: String,
    /// How far a staged plan got.
    pub stages: Option<String>,
    /// What stops the fastest variant, and the fastest that nothing stops; where that adds something.
    pub obstacle: Option<String>,
    /// What was judged: gates, variants, baselines, correctness cases.
    pub scope: String,
    /// Highest tier reached, with what keeps the next away.
    pub tier: Option<String>,
    /// Id of the selected variant.
    pub selected: Option<String>,
    /// Numbers of the selected variant.
    pub facts: Vec<Fact>,
}

/// One headline number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    /// What it is.
    pub label: String,
    /// The number with its unit.
    pub text: String,
    /// What it is compared with, or the spread.
    pub note: String,
}

/// A measured metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricColumn {
    /// Its name in gates and results.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// Its unit (`us`, `bytes`, `%`, or empty).
    pub unit: String,
    /// Which way it improves.
    pub better: Better,
    /// Whether a gate judges it.
    pub gated: bool,
}

/// A value, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Measured.
    Number(Number),
    /// Not measured, and why.
    Missing(String),
}

impl Measure {
    /// The number, if there is one.
    pub fn number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            Self::Missing(_) => None,
        }
    }
}

/// A variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantRow {
    /// Its id.
    pub id: String,
    /// Its id, short enough for a table.
    pub label: String,
    /// Its name, where the phase names it; none where the id is made of the parameters.
    pub name: Option<String>,
    /// Its parameter values alone (`64 · 128 · 32 · 16`) where it has them all, else its label: for charts.
    pub short: String,
    /// Candidate or baseline.
    pub standing: Standing,
    /// Whether the objective chose it.
    pub selected: bool,
    /// Rank by the objective among correct candidates, from 1.
    pub rank: Option<usize>,
    /// Whether every required gate holds for it.
    pub verdict: Verdict,
    /// Parameter values, aligned with [`Report::params`].
    pub params: Vec<Option<String>>,
    /// Whether it computes the right thing.
    pub correctness: CorrectnessRow,
    /// Gates that do not hold for it, worst first, with what it lacks.
    pub stopped_by: Vec<String>,
    /// The variant whose measurements it shares.
    pub shares: Option<String>,
    /// How it was built.
    pub build: BuildRow,
    /// Values by shape, aligned with [`Report::shapes`].
    pub shapes: Vec<ShapeValues>,
    /// What ncu's own rules and sampler say, a shape each; empty where the report holds gate metrics alone.
    pub said: Vec<SaidRow>,
    /// Verdict by gate, aligned with [`Report::gates`]; none where the gate was not judged for it.
    pub gates: Vec<Option<GateCell>>,
}

/// What Nsight Compute says about a variant at a shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SaidRow {
    /// Shape.
    pub shape: String,
    /// Its rules, the largest estimated speedup first.
    pub rules: Vec<RuleRow>,
    /// Instructions with the most samples.
    pub hot: Vec<HotRow>,
    /// Source lines with the most samples.
    pub lines: Vec<HotLineRow>,
    /// What is not known of its instructions, and why.
    pub lacks: Vec<String>,
}

/// A rule's message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleRow {
    /// Title.
    pub title: String,
    /// Message.
    pub text: String,
    /// Estimated speedup: `at most 41.5 %`, with `of the unit` where it is not of the whole time.
    pub speedup: Option<String>,
    /// The same in percent.
    pub percent: Option<f64>,
}

/// An instruction with samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HotRow {
    /// Bytes from the kernel's first instruction: `+0x1a0`.
    pub offset: String,
    /// Samples.
    pub samples: Number,
    /// Percent of the launch's samples.
    pub share: Number,
    /// Why most of its warps waited.
    pub stall: String,
    /// The instruction; empty where it is not known.
    pub text: String,
    /// Its source line, where it is known.
    pub line: Option<LineRow>,
    /// The line it was compiled from, where that is of a function inlined at `line`: `cuda_fp16.hpp:708`.
    pub inlined: Option<String>,
}

/// A source line with samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HotLineRow {
    /// The line.
    pub line: LineRow,
    /// Samples.
    pub samples: Number,
    /// Percent of the launch's samples.
    pub share: Number,
    /// Why most of its warps waited.
    pub stall: String,
}

/// A source line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineRow {
    /// `kernels/sdpa/sdpa.cu:57`.
    pub place: String,
    /// Its text; empty where it is not known.
    pub text: String,
}

/// A variant profiled once more, with every section, sample and source that tells where its time goes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CloseLookRow {
    /// Who was looked at: the selected variant first.
    pub looked: Vec<LookedRow>,
    /// At which shape.
    pub shape: String,
    /// What it took, and what it is not.
    pub note: String,
    /// Throughputs, caches, waste, and the states of warps.
    pub metrics: Vec<CloseMetric>,
    /// What ncu says about the first of them.
    pub said: Option<SaidRow>,
}

/// A variant that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LookedRow {
    /// Its id.
    pub id: String,
    /// Its id, short enough for a table.
    pub label: String,
    /// Its parameter values alone, where it has them all.
    pub short: String,
    /// Replay passes.
    pub passes: Option<u32>,
    /// Wall seconds of the ncu process.
    pub seconds: f64,
}

/// A metric of a close look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CloseMetric {
    /// Its name.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// Its unit.
    pub unit: String,
    /// Values, aligned with [`CloseLookRow::looked`].
    pub values: Vec<Measure>,
}

impl CloseLookRow {
    /// States of warps that were counted for the first variant, the longest first: cycles for every issued instruction.
    pub fn states(&self) -> Vec<&CloseMetric> {
        let cycles = |metric: &CloseMetric| metric.values.first().and_then(Measure::number).map_or(0.0, |n| n.value);
        let mut states: Vec<&CloseMetric> =
            self.metrics.iter().filter(|m| m.name.starts_with(STATE) && cycles(m) > 0.0).collect();
        states.sort_by(|a, b| cycles(b).total_cmp(&cycles(a)));
        states
    }

    /// Metrics that are no states of warps and have a value.
    pub fn figures(&self) -> Vec<&CloseMetric> {
        let known = |metric: &&CloseMetric| metric.values.iter().any(|value| value.number().is_some());
        self.metrics.iter().filter(|m| !m.name.starts_with(STATE)).filter(known).collect()
    }
}

/// Beginning of the names of warp states.
const STATE: &str = "stall_";

/// A gate at a variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateCell {
    /// The verdict.
    pub verdict: Verdict,
    /// Measured against limit, or what it lacks.
    pub text: String,
}

/// Whether a variant computes the right thing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CorrectnessRow {
    /// Proven right, wrong, or neither.
    pub verdict: Verdict,
    /// In words.
    pub text: String,
    /// Every case.
    pub cases: Vec<CheckRow>,
}

/// A correctness case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckRow {
    /// Shape.
    pub shape: String,
    /// Seed.
    pub seed: u64,
    /// Right, wrong, or not run.
    pub verdict: Verdict,
    /// Largest absolute difference.
    pub max_abs: Option<Number>,
    /// Relative L2 norm of the difference.
    pub rel_l2: Option<Number>,
    /// Why it is not right.
    pub reason: Option<String>,
}

/// How a variant was built.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BuildRow {
    /// Whether there is something to launch.
    pub verdict: Verdict,
    /// `built for sm_90`, `external command`, or why there is nothing to launch.
    pub text: String,
    /// What the compiler printed.
    pub log: String,
    /// nvcc flags and defines, or the command line.
    pub command: String,
    /// SHA-256 of the entry's machine code.
    pub code_sha256: Option<String>,
    /// Registers, spills and the like.
    pub resources: Vec<(String, Number)>,
}

/// What was measured at one shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeValues {
    /// Grid, block and dynamic shared memory of the launch.
    pub launch: String,
    /// Values, aligned with [`Report::metrics`].
    pub values: Vec<Measure>,
    /// Latency samples in microseconds, in the order they were taken.
    pub samples: Vec<f64>,
}

/// What the counters say about a variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// In a few words.
    pub title: String,
    /// With the numbers.
    pub sentence: String,
    /// How much it matters.
    pub severity: Severity,
    /// What to try.
    pub advice: String,
    /// The variant it is about.
    pub variant: String,
}

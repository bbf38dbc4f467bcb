//! Suggests the next step from a run: points that the model proposes, and findings from counters.

use super::answer::{AgentDiagnosis, AgentFinding};
use super::candidates::candidates;
use super::encoding::{AxisScale, Encoding};
use super::proposer::Proposer;
use super::trial::SearchTrial;
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_model::expr::Value;
use ncugate_model::stats::Resampler;
use ncugate_model::{Better, Cell, SearchRecord, TriedOutcome, Verdict};
use ncugate_phase::config::SearchStrategy;
use ncugate_phase::plan::{Point, Space, VariantRole};
use ncugate_report::mutation_space::{MutationSpace, mutation_space};
use ncugate_report::{RunReport, text};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Number of proposed points.
const PROPOSED: usize = 4;

/// The suggested next step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NextAnswer {
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    pub selected: Option<String>,
    pub objective: String,
    /// The objective's value for the selected variant.
    pub value: Option<String>,
    /// Findings from the counters of the variants in use, most severe first.
    pub findings: Vec<AgentFinding>,
    /// Whether the rules had their counters.
    pub diagnosis: Option<AgentDiagnosis>,
    /// Untried points of the space: parameters, and the objective that the model expects. If all points are tried, points
    /// beyond the edges that the best variant lies on.
    pub proposals: Vec<NextPoint>,
    /// Parameters with their values, and the next values beyond such edges.
    pub space: MutationSpace,
    /// Importance of each parameter, as a share of 1, if there are enough measurements.
    pub importance: BTreeMap<String, f64>,
}

/// A point to try.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NextPoint {
    pub params: BTreeMap<String, Value>,
    /// The objective that the model expects.
    pub expected: Option<f64>,
    /// The parameter whose value is outside of the sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
}

/// The selected variant with one parameter beyond its range, for each range worth extending; none that the sweep's
/// condition excludes.
fn extensions(session: &JudgedRun<'_>, space: &MutationSpace) -> Vec<NextPoint> {
    let measured = session.measurements();
    let Some(best) = session.selected().and_then(|id| measured.plan().variant(id)) else { return Vec::new() };
    let condition = measured.phase().sweep.condition.as_ref();
    let extended = space.iter().filter_map(|(name, range)| {
        let mut params: BTreeMap<String, Value> = best.params.iter().cloned().collect();
        params.insert(name.clone(), range.extend_to.clone()?);
        let is_excluded = condition.is_some_and(|condition| condition.eval_bool(&params) != Ok(true));
        (!is_excluded).then(|| NextPoint { params, expected: None, extends: Some(name.clone()) })
    });
    extended.take(PROPOSED).collect()
}

/// The next step that a run suggests.
pub fn next(run: &PhaseRun, session: &JudgedRun<'_>, report: &RunReport) -> NextAnswer {
    let phase = &run.phase;
    let conditional = phase.search.as_ref().map_or(&[][..], |search| &search.conditional[..]);
    let space = Space::new(&phase.sweep, conditional);
    let categorical = |name: &String| phase.search.as_ref().is_some_and(|search| search.categorical.contains(name));
    let scales = space.axes().iter().map(|(name, values)| AxisScale::of_values(values, categorical(name)));
    let encoding = Encoding::new(scales.collect());
    let trials = match phase.objective.better {
        Better::Lower => trials(run, session, &space),
        Better::Higher | Better::Context => Vec::new(),
    };
    let candidates = candidates(&space);
    let seed = phase.search.as_ref().map_or(0, |search| search.seed);
    let proposer =
        Proposer { candidates: &*candidates, encoding: &encoding, first: &[], strategy: SearchStrategy::Model, seed };
    let proposals = match space.axes().is_empty() {
        true => Vec::new(),
        false => proposer.propose(&trials, PROPOSED),
    };
    let rounded = |share: f64| (share * 1000.0).round() / 1000.0;
    let mutable = mutation_space(session, &phase.objective.shape, &Resampler::default());
    let points = proposals.into_iter().map(|proposal| NextPoint {
        params: space.params(&proposal.point).into_iter().collect(),
        expected: proposal.expected.map(rounded),
        extends: None,
    });
    let mut proposals: Vec<NextPoint> = points.collect();
    if proposals.is_empty() {
        proposals = extensions(session, &mutable);
    }
    let names = space.axes().iter().map(|(name, _)| name.clone());
    let shares = proposer.importance(&trials).unwrap_or_default().into_iter().map(rounded);
    NextAnswer {
        verdict: report.headline.verdict,
        reason: text::clip(&report.headline.reason, 260),
        selected: report.headline.selected.as_ref().map(|id| id.to_string()),
        objective: format!("{} at shape {}", phase.objective.metric, phase.objective.shape),
        value: report.objective.as_ref().and_then(ncugate_report::ObjectiveRow::text),
        findings: report.findings.iter().filter(|row| row.leading).take(2).map(AgentFinding::of).collect(),
        diagnosis: AgentDiagnosis::of(report),
        proposals,
        space: mutable,
        importance: names.zip(shares).collect(),
    }
}

/// The trials of a run in its space: from its search, else from its candidates.
fn trials(run: &PhaseRun, session: &JudgedRun<'_>, space: &Space) -> Vec<SearchTrial> {
    let mut points = HashMap::new();
    let mut trials = Vec::new();
    for record in &run.run.search {
        match record {
            SearchRecord::Proposed { points: proposed, .. } => {
                points.extend(proposed.iter().map(|point| (&point.variant, &point.point)));
            }
            SearchRecord::Tried(tried) => {
                let Some(point) = points.get(&tried.variant) else { continue };
                let cost = match tried.outcome {
                    TriedOutcome::Timed { us } => Some(us),
                    TriedOutcome::Failed { .. } => None,
                };
                let point = Point((*point).clone());
                trials.push(SearchTrial { point, cost, facts: Vec::new(), code: tried.code.clone() });
            }
            SearchRecord::Began(_) | SearchRecord::Ended(_) => {}
        }
    }
    if !trials.is_empty() {
        return trials;
    }
    let (table, objective) = (session.measurements().quantities(), &run.phase.objective);
    let candidates = run.plan.variants.iter().filter(|variant| variant.standing == VariantRole::Candidate);
    let trial = |variant: &ncugate_phase::plan::Variant| {
        let cost = match table.read(&variant.id, &objective.shape, &objective.metric) {
            Cell::Value(value) if value > 0.0 => Some(value),
            Cell::Value(_) | Cell::Missing(_) => None,
        };
        Some(SearchTrial { point: space.point(&variant.params)?, cost, facts: Vec::new(), code: None })
    };
    candidates.filter_map(trial).collect()
}

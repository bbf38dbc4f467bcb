//! Suggests the next step from a run: points to try, and findings from counters.

use super::answer::{AgentDiagnosis, AgentFinding, AgentTime};
use super::attempt::usual_params;
use super::candidates::candidates;
use super::history::AttemptRecord;
use super::proposer::Proposer;
use super::trial::SearchTrial;
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_model::expr::Value;
use ncugate_model::stats::Resampler;
use ncugate_model::{Better, SearchRecord, TriedOutcome, Verdict};
use ncugate_phase::config::{Phase, SearchStrategy};
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
    /// Parameters of the selected variant.
    pub params: BTreeMap<String, Value>,
    /// The objective by shape, compared with the base, a stored run or the first baseline.
    pub times: BTreeMap<String, AgentTime>,
    pub objective: String,
    /// The objective's value for the selected variant.
    pub value: Option<String>,
    /// Findings from the counters of the variants in use, most severe first.
    pub findings: Vec<AgentFinding>,
    /// Whether the rules had their counters.
    pub diagnosis: Option<AgentDiagnosis>,
    /// Untried points of the space: parameters; if all points are tried, points beyond the edges
    /// that the best variant lies on.
    pub proposals: Vec<NextPoint>,
    /// Parameters with their values, and the next values beyond such edges.
    pub space: MutationSpace,
}

/// A point to try.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NextPoint {
    pub params: BTreeMap<String, Value>,
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
        (!is_excluded).then(|| NextPoint { params, extends: Some(name.clone()) })
    });
    extended.take(PROPOSED).collect()
}

/// Points of the sweep that differ from the best in one parameter and were not tried with its source; `attempts` has all attempts.
pub fn untried(phase: &Phase, attempts: &[AttemptRecord]) -> Vec<NextPoint> {
    let conditional = phase.search.as_ref().map_or(&[][..], |search| &search.conditional[..]);
    let space = Space::new(&phase.sweep, conditional);
    let best = attempts.iter().rev().find(|attempt| attempt.accepted);
    // Without an accepted attempt the best is the phase's own source, and the last source is the one that is worked on.
    let source = best.or(attempts.last()).map(|attempt| &attempt.source_sha256);
    let of_source = attempts.iter().filter(|attempt| Some(&attempt.source_sha256) == source);
    let tried: Vec<Point> = of_source.filter_map(|attempt| space.point(&attempt.params)).collect();
    let usual = usual_params(phase);
    let Some(point) = space.point(best.map_or(&usual, |best| &best.params)) else { return Vec::new() };
    let untried = space.neighbours(&point).into_iter().filter(|neighbour| !tried.contains(neighbour));
    let proposed =
        untried.map(|neighbour| NextPoint { params: space.params(&neighbour).into_iter().collect(), extends: None });
    proposed.take(PROPOSED).collect()
}

/// The next step that a run suggests.
pub fn next(run: &PhaseRun, session: &JudgedRun<'_>, report: &RunReport) -> NextAnswer {
    let phase = &run.phase;
    let conditional = phase.search.as_ref().map_or(&[][..], |search| &search.conditional[..]);
    let space = Space::new(&phase.sweep, conditional);
    let trials = match phase.objective.better {
        Better::Lower => trials(run, session, &space),
        Better::Higher | Better::Context => Vec::new(),
    };
    let candidates = candidates(&space);
    let seed = phase.search.as_ref().map_or(0, |search| search.seed);
    let proposer = Proposer { candidates: &*candidates, first: &[], strategy: SearchStrategy::Elites, seed };
    let points = match space.axes().is_empty() {
        true => Vec::new(),
        false => proposer.propose(&trials, PROPOSED),
    };
    let mutable = mutation_space(session, &phase.objective.shape, &Resampler::default());
    let point = |point: &Point| NextPoint { params: space.params(point).into_iter().collect(), extends: None };
    let mut proposals: Vec<NextPoint> = points.iter().map(point).collect();
    if proposals.is_empty() {
        proposals = extensions(session, &mutable);
    }
    NextAnswer {
        verdict: report.headline.verdict,
        reason: text::clip(&report.headline.reason, 260),
        selected: report.headline.selected.as_ref().map(|id| id.to_string()),
        params: session
            .selected()
            .and_then(|id| run.plan.variant(id))
            .map_or_else(BTreeMap::new, |variant| variant.params.iter().cloned().collect()),
        times: AgentTime::by_shape(report),
        objective: format!("{} at shape {}", phase.objective.metric, phase.objective.shape),
        value: report.objective.as_ref().and_then(ncugate_report::ObjectiveRow::text),
        findings: report.findings.iter().filter(|row| row.leading).take(2).map(AgentFinding::of).collect(),
        diagnosis: AgentDiagnosis::of(report),
        proposals,
        space: mutable,
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
                trials.push(SearchTrial { point, cost, code: tried.code.clone() });
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
        let cost = table.read(&variant.id, &objective.shape, &objective.metric).value().filter(|value| *value > 0.0);
        Some(SearchTrial { point: space.point(&variant.params)?, cost, code: None })
    };
    candidates.filter_map(trial).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::root;
    use std::path::PathBuf;

    #[test]
    fn untried_points_are_one_step_from_the_best_source() {
        let today = jiff::civil::date(2026, 6, 15);
        let phase = ncugate_phase::config::load(std::path::Path::new("configs/softmax.toml"), &root(), today).unwrap();
        let record = |source: &str, threads: i64, vec: i64, accepted: bool| AttemptRecord {
            attempt: 0,
            parent: None,
            idea: String::new(),
            source_sha256: source.to_owned(),
            include: PathBuf::new(),
            // Another order than that of the sweep.
            params: [("VEC", vec), ("ROWS_PER_BLOCK", 1), ("THREADS", threads)]
                .map(|(name, value)| (name.to_owned(), Value::Int(value)))
                .into(),
            run: String::new(),
            commit: None,
            verdict: Verdict::Pass,
            accepted,
            speedup: BTreeMap::new(),
        };
        let proposed = |attempts: &[AttemptRecord]| -> Vec<String> {
            let point = |point: NextPoint| {
                point.params.values().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(" ")
            };
            untried(&phase, attempts).into_iter().map(point).collect()
        };
        // ROWS_PER_BLOCK, THREADS, VEC
        assert_eq!(
            proposed(&[]),
            ["Int(1) Int(256) Int(1)", "Int(1) Int(512) Int(1)", "Int(4) Int(128) Int(1)", "Int(1) Int(128) Int(4)"]
        );
        let attempts = [record("a", 128, 4, true), record("a", 256, 4, false), record("b", 512, 4, false)];
        assert_eq!(proposed(&attempts), ["Int(1) Int(512) Int(4)", "Int(4) Int(128) Int(4)", "Int(1) Int(128) Int(1)"]);
    }
}

//! The index page: one self-contained file without a script.

use super::charts::charts;
use super::entry::{History, HistoryEntry, PhaseHistory};
use crate::chart::svg::{self, Setting};
use crate::error::RenderError;
use crate::{number, page};
use ncugate_judge::GateResult;
use serde_json::{Value, json};

pub fn html(history: &History) -> Result<String, RenderError> {
    let newest = |phase: &PhaseHistory| phase.runs.iter().map(|run| run.started).max();
    let mut phases: Vec<&PhaseHistory> = history.phases.iter().collect();
    phases.sort_by(|a, b| newest(b).cmp(&newest(a)).then_with(|| a.name.cmp(&b.name)));
    let phases: Vec<Value> = phases.into_iter().map(phase).collect::<Result<_, _>>()?;
    let runs: usize = history.phases.iter().map(|p| p.runs.len()).sum();
    let context = json!({
        "scope": format!("{} of {}", number::counted(runs, "run"), number::counted(phases.len(), "phase")),
        "phases": phases,
        "problems": history.problems,
    });
    page::render("index.html", context, None)
}

fn phase(phase: &PhaseHistory) -> Result<Value, RenderError> {
    let draw = |chart: &crate::chart::Chart| -> Result<Value, RenderError> {
        let svg = svg::draw(chart, Setting::Page)?;
        Ok(json!({ "title": chart.title, "note": chart.note, "svg": svg, "table": chart.table }))
    };
    let latest = phase.latest();
    Ok(json!({
        "name": phase.name,
        "title": latest.map_or(phase.name.as_str(), |run| run.title.as_str()),
        "label": latest.map(|run| run.conclusion),
        "verdict": latest.map(|run| run.conclusion.tone()),
        "use": latest.map(|run| &run.to_use),
        "cost": latest.map(|run| &run.cost),
        "best": latest.map(HistoryEntry::best),
        "beside": latest.and_then(|run| run.objective.as_ref()).map(|objective| &objective.note),
        "date": latest.map(HistoryEntry::date),
        "reason": latest.map(|run| &run.reason),
        "facts": latest.map(|run| &run.facts),
        "diffs": phase.diffs.iter().map(|diff| json!({ "title": diff.title, "size": diff.size(), "hunks": diff.hunks })).collect::<Vec<_>>(),
        "gates": phase.gates().iter().map(GateResult::title).collect::<Vec<_>>(),
        "runs": phase.runs.iter().rev().map(|run| row(phase, run)).collect::<Vec<_>>(),
        "charts": charts(phase).iter().map(draw).collect::<Result<Vec<_>, _>>()?,
    }))
}

/// A run with the gates of the latest one as columns.
fn row(phase: &PhaseHistory, run: &HistoryEntry) -> Value {
    let gates = phase.gates().iter().map(|gate| {
        let found = run.gates.iter().find(|g| g.name == gate.name)?;
        let measured = found.summary.measured.as_ref().map(|n| number::with_unit(n.value, &found.unit));
        Some(json!([found.effective(), measured]))
    });
    json!({
        "run": run.run,
        "date": run.date(),
        "commit": run.commit,
        "gpu": run.gpu,
        "complete": run.complete,
        "verdict": run.conclusion.tone(),
        "label": run.conclusion,
        "use": run.to_use,
        "best": run.best(),
        "gates": gates.collect::<Vec<_>>(),
        "folder": run.folder,
        "page": run.page,
    })
}

//! The index page: one self-contained file without a script.

use super::charts::charts;
use super::entry::{Entry, History, PhaseHistory};
use crate::chart::svg::{self, Setting};
use crate::model::Verdict;
use crate::report::RenderError;
use crate::report::html::{hash, style};
use crate::report::markdown::word;
use crate::report::number;
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../templates/index.html");

/// The page.
pub fn html(history: &History) -> Result<String, RenderError> {
    let mut env = Environment::new();
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.add_template("index.html", PAGE)?;
    let style = style();
    let phases: Vec<Value> = history.phases.iter().map(phase).collect::<Result<_, _>>()?;
    let runs: usize = history.phases.iter().map(|p| p.runs.len()).sum();
    let page = json!({
        "scope": format!("{} of {}", number::counted(runs, "run"), number::counted(phases.len(), "phase")),
        "phases": phases,
        "problems": history.problems,
        "style_hash": hash(&style),
        "style": style,
    });
    Ok(env.get_template("index.html")?.render(Serde(page))?)
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
        "label": latest.map(|run| &run.label),
        "verdict": latest.map(tone),
        "selected": latest.map(|run| &run.selected),
        "best": latest.map(Entry::best),
        "beside": latest.and_then(|run| run.facts.first()).map(|fact| &fact.note),
        "date": latest.map(Entry::date),
        "reason": latest.map(|run| &run.reason),
        "facts": latest.map(|run| &run.facts),
        "gates": phase.gates().iter().map(|gate| gate.title()).collect::<Vec<_>>(),
        "runs": phase.runs.iter().rev().map(|run| row(phase, run)).collect::<Vec<_>>(),
        "charts": charts(phase).iter().map(draw).collect::<Result<Vec<_>, _>>()?,
    }))
}

/// The verdict that colours a run: a fallback that is taken passes, with a warning.
fn tone(run: &Entry) -> &'static str {
    if run.label == "Fallback" { word(Verdict::Inconclusive) } else { word(run.verdict) }
}

/// A run under the gates of the latest one.
fn row(phase: &PhaseHistory, run: &Entry) -> Value {
    let gates = phase.gates().iter().map(|gate| {
        let found = run.gates.iter().find(|g| g.name == gate.name)?;
        let measured = found.measured.map(|value| number::with_unit(value, &found.unit));
        Some(json!([word(found.verdict), measured]))
    });
    json!({
        "run": run.run,
        "date": run.date(),
        "commit": run.commit,
        "gpu": run.gpu,
        "complete": run.complete,
        "verdict": tone(run),
        "label": run.label,
        "selected": run.selected,
        "best": run.best(),
        "gates": gates.collect::<Vec<_>>(),
        "folder": run.folder,
        "page": run.page,
    })
}

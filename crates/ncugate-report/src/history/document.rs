//! All runs as a page, and the latest run of each phase as `final_summary.md`.

use super::charts::charts;
use super::entry::{HistoryEntry, to_use};
use super::phases::{History, PhaseHistory, ReferenceEntry};
use super::shape_comparison;
use crate::document::{
    CellTone, CodeLine, Column, Document, DocumentBlock, DocumentTable, Medium, Section, TableCell, TableListing,
    TableRow,
};
use crate::finding_row;
use crate::in_use::InUse;
use crate::model::{Conclusion, Headline, ObjectiveRow};
use crate::number;
use crate::provenance::quoted;
use crate::run_report::RunReport;
use ncu_explain::{CodeDiff, FindingRow};
use ncugate_judge::store::is_commit;
use ncugate_model::{CleanText, Verdict};

/// Runs that the page shows at first.
const SHOWN: usize = 50;
/// Findings listed of a run.
const FINDINGS: usize = 3;

/// A phase's latest run, judged again with everything it measured.
#[derive(Debug)]
pub struct LatestRun<'a> {
    pub phase: &'a PhaseHistory,
    pub entry: &'a HistoryEntry,
    pub report: RunReport,
}

/// The latest run of a phase: on the page as it may be cached, in the summary as it was judged again.
struct PhaseState<'a> {
    run: &'a HistoryEntry,
    title: &'a CleanText,
    headline: &'a Headline,
    in_use: &'a InUse,
    used: TableCell,
    objective: Option<&'a ObjectiveRow>,
    page: Option<String>,
}

impl History {
    /// The page of all runs.
    pub fn document(&self) -> Document {
        let phases = self.phases_newest_first();
        let latest: Vec<&HistoryEntry> = phases.iter().filter_map(|phase| phase.latest()).collect();
        let runs = self.newest_first();
        let passing = latest.iter().filter(|run| run.summary.headline.verdict == Verdict::Pass).count();
        let verb = if latest.len() == 1 { "phase passes" } else { "phases pass" };
        let (of_runs, of_phases) = (number::counted(runs.len(), "run"), number::counted(latest.len(), "phase"));
        let mut document = Document {
            title: format!("{of_runs} of {of_phases}"),
            sentence: format!("{passing} of {} {verb} by the latest complete run.", latest.len()),
            blocks: self.problems.iter().map(|problem| DocumentBlock::Note(format!("not judged: {problem}"))).collect(),
        };
        let mut cached: Vec<PhaseState<'_>> = Vec::new();
        for run in &latest {
            cached.push(PhaseState {
                run,
                title: &run.summary.title,
                headline: &run.summary.headline,
                in_use: &run.summary.in_use,
                used: used(&run.summary.in_use),
                objective: run.summary.objective.as_ref(),
                page: run.page.clone(),
            });
        }
        match states(&cached) {
            Some(table) => document.push(DocumentBlock::from(Section::new("overview", "Phases", vec![table]))),
            None => document.push(DocumentBlock::Text("No runs yet: `ncugate run CONFIG` makes one.".to_owned())),
        }
        let hint = "A linked run has a page. `ncugate page RUN` writes the page of another one. This list can come from a cache \
                    of earlier judgements. `ncugate gate CONFIG RUN` judges the files of a run.";
        if let Some(table) = listing(&runs, &phases).block() {
            let blocks = vec![table, DocumentBlock::Aside(hint.to_owned())];
            document.push(DocumentBlock::from(Section::new("runs", "Runs, newest first", blocks)));
        }
        for phase in phases {
            let charts = charts(phase);
            let drawn = (!charts.is_empty()).then_some(DocumentBlock::Figures(charts));
            let blocks: Vec<DocumentBlock> = phase.diffs.iter().map(difference).chain(drawn).collect();
            if let (Some(latest), false) = (phase.latest(), blocks.is_empty()) {
                let id = format!("phase-{}", phase.name);
                document.push(DocumentBlock::from(Section::new(&id, latest.summary.title.as_str(), blocks)));
            }
        }
        document
    }
}

/// The state of phases; `reports` is the folder of the pages as the file names it.
pub fn summary(latest: &[LatestRun<'_>], problems: &[CleanText], reports: Option<&str>) -> Document {
    let held = latest.iter().filter(|run| run.report.headline.verdict == Verdict::Pass).count();
    let verb = if latest.len() == 1 { "passes" } else { "pass" };
    let fallbacks = latest.iter().filter(|run| run.report.headline.conclusion == Conclusion::Fallback).count();
    let by_fallback = match fallbacks {
        0 => String::new(),
        1 => ", 1 of them only by its fallback".to_owned(),
        many => format!(", {many} of them only by their fallbacks"),
    };
    let mut rejudged: Vec<PhaseState<'_>> = Vec::new();
    for LatestRun { entry, report, .. } in latest {
        rejudged.push(PhaseState {
            run: entry,
            title: &report.title,
            headline: &report.headline,
            in_use: &report.in_use,
            used: TableCell::new(to_use(&report.in_use).as_str()),
            objective: report.objective.as_ref(),
            page: reports.zip(entry.page.as_ref()).map(|(reports, page)| format!("{reports}/{page}")),
        });
    }
    let mut blocks: Vec<DocumentBlock> = states(&rejudged).into_iter().collect();
    blocks.extend(latest.iter().map(|run| details(run).into()));
    if !problems.is_empty() {
        let problems = problems.iter().map(CleanText::to_string).collect();
        blocks.push(Section::new("", "Not in this summary", vec![DocumentBlock::List(problems)]).into());
    }
    let title = format!("{held} of {} {verb}{by_fallback}", number::counted(latest.len(), "phase"));
    Document { title, sentence: String::new(), blocks }
}

fn verdict(run: &HistoryEntry, headline: &Headline) -> TableCell {
    let cell = TableCell::verdict(headline.conclusion.tone(), headline.conclusion.label());
    if run.is_complete() { cell } else { cell.note("unfinished") }
}

/// The variants to use; the whole sentence names the shapes of each.
fn used(in_use: &InUse) -> TableCell {
    let whole = to_use(in_use);
    let names: Vec<&str> = in_use.by_variant().into_iter().map(|(variant, _)| variant).collect();
    match names.len() {
        0 | 1 => TableCell::new(whole.as_str()),
        _ => TableCell { why: whole.to_string(), ..TableCell::new(names.join(", ")) },
    }
}

fn objective(row: Option<&ObjectiveRow>) -> TableCell {
    let of = |row: &ObjectiveRow| Some(TableCell::new(format!("{} {}", row.title, row.text()?)));
    row.and_then(of).unwrap_or_else(|| TableCell::new("not measured"))
}

/// A row for the latest run of each phase.
fn states(latest: &[PhaseState<'_>]) -> Option<DocumentBlock> {
    let heads = ["phase", "verdict", "in use", "objective", "measured", "reason"];
    let mut table = DocumentTable::new("State of each phase", heads.map(Column::text).to_vec());
    for PhaseState { run, title, headline, in_use, used, objective: row, page } in latest {
        let note = row.map_or("", |objective| objective.note.as_str());
        // without a variant in use, the numbers are of the selected one
        let note = match &headline.selected {
            Some(selected) if in_use.variant.is_none() && !note.is_empty() => format!("{selected}: {note}"),
            _ => note.to_owned(),
        };
        // the list has a line for a phase that passes
        let open = if headline.conclusion == Conclusion::Pass { "" } else { headline.reason.as_str() };
        let measured = [Some(run.machine()), run.commit()].into_iter().flatten().map(|part| part.to_string());
        let cells = vec![
            TableCell { link: page.clone(), ..TableCell::new(title.as_str()) },
            TableCell { why: headline.reason.to_string(), ..verdict(run, headline) },
            used.clone(),
            objective(*row).note(note),
            TableCell::new(run.date()).note(measured.collect::<Vec<_>>().join(", ")),
            TableCell::new(open).note(headline.tier.as_deref().unwrap_or_default()),
        ];
        table.rows.push(TableRow { cells, range: run.manifest.phase.clone(), ..TableRow::default() });
    }
    table.block()
}

fn listing(runs: &[&HistoryEntry], phases: &[&PhaseHistory]) -> DocumentTable {
    let heads = ["run", "started (UTC)", "phase", "verdict", "gates that do not pass", "objective", "use", "commit"];
    let mut table = DocumentTable::new("Runs", heads.map(Column::text).to_vec());
    for run in runs {
        let open = run.summary.gates.iter().filter(|gate| gate.verdict != Verdict::Pass);
        let folder = run.folder.display().to_string();
        let cells = vec![
            TableCell { link: run.page.clone(), why: folder, ..TableCell::new(run.manifest.run.as_str()) },
            TableCell::new(run.date()).note(run.machine().as_str()),
            TableCell::new(run.manifest.phase.as_str()),
            verdict(run, &run.summary.headline),
            TableCell::new(open.map(|gate| gate.title.as_str()).collect::<Vec<_>>().join(", ")),
            objective(run.summary.objective.as_ref()),
            used(&run.summary.in_use),
            TableCell::of(run.commit().as_deref().unwrap_or_default(), CellTone::Code),
        ];
        table.rows.push(TableRow { cells, range: run.manifest.phase.clone(), ..TableRow::default() });
    }
    let ranges = phases.iter().map(|phase| phase.name.to_string()).collect();
    DocumentTable { listing: Some(TableListing { shown: SHOWN, by: "Phase", ranges }), ..table }
}

fn details(run: &LatestRun<'_>) -> Section {
    let report = &run.report;
    let mut blocks = vec![DocumentBlock::Text(report.headline.reason.to_string())];
    blocks.extend(report.in_use.cost.iter().map(|cost| DocumentBlock::Text(format!("The fallback costs: {cost}."))));
    if !run.entry.is_complete() {
        blocks.push(DocumentBlock::Text("The run did not finish.".to_owned()));
    }
    blocks.extend(shape_comparison::blocks(&report.times));
    let mut gates = DocumentTable::new("Gates", ["gate", "verdict", "measured", "limit"].map(Column::text).to_vec());
    for gate in &report.gates {
        let number = |number: &Option<number::Number>| {
            number
                .as_ref()
                .map_or_else(TableCell::default, |n| TableCell::value(n.value, number::with_unit(n.value, &gate.unit)))
        };
        let effective = gate.effective();
        let (measured, limit) = (number(&gate.summary.measured), number(&gate.summary.limit));
        gates.row(vec![TableCell::new(gate.title()), TableCell::verdict(effective, effective.word()), measured, limit]);
    }
    blocks.extend(gates.block());
    let leading: Vec<FindingRow> = report.findings.iter().filter(|f| f.leading).take(FINDINGS).cloned().collect();
    blocks.extend(
        finding_row::blocks(&leading)
            .into_iter()
            .flat_map(|found| [DocumentBlock::Text("Main findings:".to_owned()), found]),
    );
    blocks.extend(run.phase.reference().into_iter().flat_map(|reference| code(run.entry, reference)));
    blocks.extend(run.phase.diffs.iter().map(difference));
    blocks.push(DocumentBlock::Aside(format!("Run {} in {}.", report.run, run.entry.folder.display())));
    Section::new("", format!("{}: {}", report.title, report.headline.conclusion), blocks)
}

/// Kernel sources that changed since an earlier run, with the command that shows how.
fn code(run: &HistoryEntry, reference: ReferenceEntry<'_>) -> Vec<DocumentBlock> {
    let earlier = reference.run;
    let changed: Vec<CleanText> = run.changed_since(earlier).into_iter().map(CleanText::from).collect();
    if changed.is_empty() {
        return vec![DocumentBlock::Text(format!("Kernel sources are the same as in {}.", reference.words()))];
    }
    let names = changed.iter().map(CleanText::as_str).collect::<Vec<_>>().join(", ");
    let said = DocumentBlock::Text(format!("Sources that changed since {}: {names}.", reference.words()));
    // The files of a dirty checkout differ from those of its commit.
    let clean = |run: &HistoryEntry| {
        let git = run.manifest.git.as_ref().filter(|git| !git.dirty && is_commit(&git.commit))?;
        Some(git.commit.clone())
    };
    let command = clean(earlier).zip(clean(run)).map(|(before, after)| {
        let files: Vec<String> = changed.iter().map(|file| quoted(file)).collect();
        DocumentBlock::Code(vec![CodeLine::plain(format!("git diff {before} {after} -- {}", files.join(" ")))])
    });
    [said].into_iter().chain(command).collect()
}

fn difference(diff: &CodeDiff) -> DocumentBlock {
    let lines = diff.hunks.iter().flat_map(|hunk| {
        let lines = hunk
            .lines
            .iter()
            .map(|line| CodeLine { change: line.change.word(), text: format!("{}{}", line.change.sign(), line.text) });
        [CodeLine::plain(format!("@@ -{} +{} @@", hunk.before, hunk.after))].into_iter().chain(lines)
    });
    let code = DocumentBlock::Code(lines.collect());
    Section::folded(format!("{}: {}", diff.title, diff.size()), Medium::File, vec![code]).into()
}

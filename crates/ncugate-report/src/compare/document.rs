//! A comparison as a document.

use super::comparison::{ComparedPair, GateChange, RunComparison};
use super::side::SideSummary;
use super::times::ComparedTime;
use crate::document::{
    CellTone, Column, Document, DocumentBlock, DocumentFact, DocumentTable, Fold, Medium, Section, TableCell,
    TableListing, TableRow,
};
use crate::number;
use ncu_explain::MetricChange;
use ncugate_model::metric::Catalogue;
use ncugate_model::{CleanText, Verdict};
use std::path::Path;

/// Pairs with metrics on a screen, in a file and on a page.
const DETAILED: [usize; 3] = [3, 5, 200];
/// Rows of the table of times that a page shows at first.
const SHOWN: usize = 15;
/// Most names of one-sided subjects in the text.
const ALONE: usize = 5;
const WHOLE: &str = "`ncugate compare A B --format json` has all";

impl RunComparison {
    pub fn document(&self) -> Document {
        let sides = [("A", &self.a), ("B", &self.b)].map(|(letter, side)| fact(letter, side));
        let mut document = Document {
            title: title(&self.a, &self.b),
            sentence: self.sentence.to_string(),
            blocks: vec![DocumentBlock::Facts(sides.to_vec())],
        };
        document.blocks.extend(self.notes.iter().map(|note| DocumentBlock::Note(note.to_string())));
        for (letter, names) in [("A", &self.only_a), ("B", &self.only_b)] {
            document.push(alone(letter, names));
        }
        document.push(gates(&self.gates));
        document.push(self.times());
        document.push(self.metrics());
        document
    }

    /// The chosen metrics alone, a row for each pair and metric.
    pub fn metric_document(&self) -> Document {
        let columns = vec![Column::text(""), Column::text("metric"), Column::number("A"), Column::number("B")];
        let mut table = DocumentTable::new("Metrics", [columns, vec![Column::number("change")]].concat());
        for (pair, row) in self.pairs.iter().flat_map(|pair| pair.rows.iter().map(move |row| (pair, row))) {
            let metric = match number::unit(&row.unit) {
                "" => row.metric.to_string(),
                unit => format!("{} [{unit}]", row.metric),
            };
            let change = change(row).note(row.judged.word());
            let [before, after] = values(row);
            table.row(vec![TableCell::new(pair.name.as_str()), TableCell::new(metric), before, after, change]);
        }
        let only =
            [("A", &self.only_a), ("B", &self.only_b)].into_iter().filter_map(|(side, names)| alone(side, names));
        let sides = [("A", &self.a), ("B", &self.b)]
            .map(|(letter, side)| DocumentFact { about: Vec::new(), ..fact(letter, side) });
        let blocks = [DocumentBlock::Facts(sides.to_vec())].into_iter().chain(only).chain(table.block()).collect();
        Document { title: title(&self.a, &self.b), sentence: String::new(), blocks }
    }

    fn times(&self) -> Option<DocumentBlock> {
        let has_launches = self.times.iter().any(|time| time.launches.iter().any(Option::is_some));
        let is_timed = |time: &ComparedTime| time.medians.iter().any(Option::is_some);
        if !has_launches && !self.times.iter().any(is_timed) {
            return None;
        }
        let median = ["Median A", "Median B"].map(Column::number);
        let change = Column::number("Change").meaning("Change of the median from A to B.");
        let mut columns = vec![Column::text(if has_launches { "Kernel" } else { "Variant" })];
        columns.extend(median.into_iter().chain([change]));
        columns.extend(match has_launches {
            true => {
                ["Total A", "Total B", "Launches A", "Launches B"].map(|head| Column::number(head).minor()).to_vec()
            }
            false => vec![Column::number("95 % interval").minor(), Column::text("Gates")],
        });
        if has_launches {
            let meaning = "Percent of the time of all launches of B.";
            let share = Column { is_sorted: true, ..Column::number("Share of B").minor().meaning(meaning) };
            columns.insert(1, share);
        }
        let total: f64 = self.times.iter().filter_map(|time| time.totals[1]).sum();
        let mut table = DocumentTable::new("Times", columns);
        for time in self.times.iter().filter(|time| has_launches || is_timed(time)) {
            let at = self.pairs.iter().take(DETAILED[2]).position(|pair| pair.name == time.label);
            let section = at.filter(|_| time.presence.is_both()).map(anchor);
            table.rows.push(TableRow {
                cells: time_cells(time, has_launches.then_some(total), section.as_deref()),
                section,
                ..TableRow::default()
            });
        }
        if !has_launches && table.rows.iter().all(|row| row.cells.last().is_some_and(|gates| gates.text.is_empty())) {
            table.columns.pop();
            table.rows.iter_mut().for_each(|row| row.cells.truncate(table.columns.len()));
        }
        table.listing = Some(TableListing { shown: SHOWN, by: "", ranges: Vec::new() });
        table.rest = format!("with smaller changes or less time: {WHOLE}");
        Some(Section::new("times", "Times", vec![DocumentBlock::Table(table)]).into())
    }

    fn metrics(&self) -> Option<DocumentBlock> {
        let is_timed = self.pairs.iter().any(|pair| pair.latency.is_some());
        let screen = if is_timed && self.pairs.len() > DETAILED[0] { 0 } else { DETAILED[0] };
        let medium = |at: usize| match at {
            at if at < screen => Medium::Screen,
            at if at < DETAILED[1] => Medium::File,
            _ => Medium::Page,
        };
        let fold = if self.pairs.len() == 1 { Fold::Open } else { Fold::Closed };
        let shown = self.pairs.iter().take(DETAILED[2]).enumerate();
        let mut blocks: Vec<DocumentBlock> = shown
            .map(|(at, pair)| {
                let blocks = metrics(pair);
                Section { fold, medium: medium(at), ..Section::new(&anchor(at), pair.name.as_str(), blocks) }.into()
            })
            .collect();
        if self.pairs.len() > screen {
            let more = self.pairs.len() - screen;
            let title = format!("{more} more pairs: `--format markdown` or `ncugate page A B`; {WHOLE}");
            let left_out = if self.pairs.len() > DETAILED[2] { DocumentBlock::Aside } else { DocumentBlock::LeftOut };
            blocks.push(left_out(title));
        }
        if self.pairs.is_empty() {
            blocks.push(DocumentBlock::Text("Nothing is on both sides.".to_owned()));
        }
        Some(Section::new("metrics", "Metrics", blocks).into())
    }
}

/// The files of two reports without their folders, which the sides' facts name; the names of other sides.
fn title(a: &SideSummary, b: &SideSummary) -> String {
    let file = |side: &SideSummary| match Path::new(side.name.as_str()) {
        path if path.extension().is_some() => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        _ => None,
    };
    match (file(a), file(b)) {
        (Some(a), Some(b)) if a != b => format!("{b} against {a}"),
        _ => format!("{} against {}", b.name, a.name),
    }
}

fn anchor(at: usize) -> String {
    format!("pair-{}", at + 1)
}

fn fact(letter: &str, side: &SideSummary) -> DocumentFact {
    let about = [Some(&side.about), side.reason.as_ref()].into_iter().flatten().map(CleanText::to_string);
    DocumentFact {
        label: letter.to_owned(),
        text: side.name.to_string(),
        verdict: side.conclusion.map_or_else(String::new, |conclusion| conclusion.label().to_uppercase()),
        about: about.collect(),
    }
}

fn alone(side: &str, names: &[CleanText]) -> Option<DocumentBlock> {
    let listed = number::text::listed(names, ALONE, "; ");
    (!names.is_empty()).then(|| DocumentBlock::Text(format!("only in {side}: {listed}")))
}

fn gates(gates: &[GateChange]) -> Option<DocumentBlock> {
    let table = |label: &str, turned: bool| {
        let columns = ["Gate", "A", "B"].map(Column::text);
        let mut table = DocumentTable::new(label, columns.to_vec());
        for gate in gates.iter().filter(|gate| gate.turned == turned) {
            let on = |side: &Option<(Verdict, Option<CleanText>)>| match side {
                Some((verdict, measured)) => {
                    let measured = measured.as_deref().unwrap_or_default();
                    TableCell::verdict(*verdict, verdict.to_string()).note(measured)
                }
                None => TableCell::of("absent", CellTone::Missing),
            };
            let name = TableCell::of(gate.name.as_str(), CellTone::Strong);
            table.row(vec![name, on(&gate.a), on(&gate.b)]);
        }
        table
    };
    let changed = table("Gates whose verdict changed", true);
    let about = match changed.rows.len() {
        0 => String::new(),
        many => format!("{} changed", number::counted(many, "verdict")),
    };
    let changed = changed.block().unwrap_or_else(|| DocumentBlock::Text("No verdict changed.".to_owned()));
    let equal = table("Gates with equal verdicts", false);
    let title = format!("Gates with equal verdicts: {}", equal.rows.len());
    let equal = equal.block().map(|block| Section::folded(title, Medium::File, vec![block]).into());
    let blocks = [changed].into_iter().chain(equal).collect();
    (!gates.is_empty()).then(|| Section { about, ..Section::new("gates", "Gates", blocks) }.into())
}

/// The cells of a subject; `total` is the time of all launches of B, if launches of reports are compared.
fn time_cells(time: &ComparedTime, total: Option<f64>, section: Option<&str>) -> Vec<TableCell> {
    let nanos = |value: Option<f64>| TableCell::with_unit(value, "ns");
    let [before, after] = time.medians;
    let changed = match &time.change {
        Some(row) => {
            let ratio = before.zip(after).map(|(before, after)| after / before).filter(|ratio| ratio.is_finite());
            TableCell { number: ratio, ..change(row).note(row.judged.word()) }
        }
        None if !time.presence.is_both() => TableCell::new(time.presence.words()),
        None => TableCell::missing("the sides have no time of one kind"),
    };
    let name = TableCell {
        why: time.name.to_string(),
        note: time.note.as_deref().unwrap_or_default().to_owned(),
        link: section.map(|section| format!("#{section}")),
        ..TableCell::new(time.label.as_str())
    };
    let mut cells = vec![name];
    cells.extend(total.map(|total| match time.totals[1].filter(|_| total > 0.0) {
        Some(nanos) => TableCell::share(100.0 * nanos / total),
        None => TableCell::missing(""),
    }));
    cells.extend([nanos(before), nanos(after), changed]);
    match total {
        Some(_) => {
            cells.extend(time.totals.map(nanos));
            cells.extend(time.launches.map(|many| TableCell::with_unit(many.map(|many| many as f64), "")));
        }
        None => {
            let interval = time.change.as_ref().and_then(|change| change.interval);
            let turned = time.turned.map_or_else(String::new, |(a, b)| format!("{a}, then {b}"));
            cells.extend([interval.map_or_else(String::new, |interval| interval.text()), turned].map(TableCell::new));
        }
    }
    cells
}

/// The metrics that differ, then those that are equal, then ncu's own.
fn metrics(pair: &ComparedPair) -> Vec<DocumentBlock> {
    let table = |label: &str, rows: &[&MetricChange]| {
        let heads = [Column::text("Metric"), Column::number("A"), Column::number("B"), Column::number("Change")];
        let mut table =
            DocumentTable::new(format!("{label} of {}", pair.name), [&heads[..], &[Column::text("")]].concat());
        for row in rows {
            let [before, after] = values(row);
            table.row(vec![
                TableCell::new(row.heading()),
                before,
                after,
                change(row),
                TableCell::new(row.judged.word()),
            ]);
        }
        table.rest = format!("metrics: {WHOLE}");
        table.block()
    };
    let (raw, named): (Vec<&MetricChange>, Vec<&MetricChange>) = pair.rows.iter().partition(|row| is_raw(row));
    let (equal, differ): (Vec<_>, Vec<_>) = named.into_iter().partition(|row| row.before == row.after);
    let mut blocks: Vec<DocumentBlock> = pair.note.iter().map(|note| DocumentBlock::Note(note.to_string())).collect();
    blocks.extend(table("Metrics", &differ));
    let raw_differ = raw.iter().filter(|row| row.before != row.after).count();
    let same = equal.len() + raw.len() - raw_differ;
    let own = match raw_differ {
        0 => String::new(),
        many => format!(", {many} of ncu's own differ (`--metric GLOB` shows them)"),
    };
    blocks.push(DocumentBlock::Aside(format!("{} equal{own}", number::counted(same, "metric"))));
    for (title, rows) in [("Equal metrics", equal), ("ncu's own metrics", raw)] {
        let title = format!("{title}: {}", rows.len());
        blocks.extend(table(&title, &rows).map(|block| Section::folded(title, Medium::Page, vec![block]).into()));
    }
    blocks
}

fn values(row: &MetricChange) -> [TableCell; 2] {
    [&row.before, &row.after].map(|number| TableCell::value(number.value, number.text.as_str()))
}

fn change(row: &MetricChange) -> TableCell {
    TableCell::of(row.change.as_str(), row.judged.into())
}

/// Whether it is one of ncu's own metrics, which explain a change less than those of the catalogue.
fn is_raw(row: &MetricChange) -> bool {
    Catalogue::embedded().get(&row.metric).is_none()
}

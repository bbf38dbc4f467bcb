//! An explanation for people.

use super::{Explanation, time};
use crate::document::{Column, Document, DocumentBlock, DocumentTable, Section, TableCell, markdown_blocks};
use crate::number;
use ncu_explain::{DiagnosisOutcome, FindingRow};

/// Most findings listed below the first.
const MORE: usize = 6;

impl Explanation {
    /// The costliest finding in full, and the others in a line each.
    pub fn document(&self) -> Document {
        let mut blocks: Vec<DocumentBlock> = self.head().into_iter().map(DocumentBlock::Text).collect();
        blocks.extend(self.busiest.iter().map(|busiest| DocumentBlock::Text(busiest.to_string())));
        let says = (!self.says.is_empty()).then(|| self.says.to_string());
        match &self.bottleneck {
            Some(row) => blocks.extend(Section::of_lines(row.title.as_str(), self.whole(row).into_iter().chain(says))),
            None => blocks.extend(says.map(DocumentBlock::Text)),
        }
        blocks.extend(self.ncu.iter().map(|row| DocumentBlock::Text(format!("{}: {}", row.title, row.sentence))));
        let measured = "Measured on copies of the machine code without one cost each (no variants, not checked)";
        blocks.extend(Section::of_lines(
            measured,
            self.ablations.iter().map(|row| format!("{}: {}", row.edit, row.says)),
        ));
        let (symptoms, rest): (Vec<&FindingRow>, Vec<&FindingRow>) =
            self.insights.iter().partition(|row| row.symptom_of.is_some());
        let line = |row: &&FindingRow| {
            let saving = row.saving.as_ref().map_or_else(String::new, |saving| format!(" ({})", saving.words));
            format!("{}: {}{saving}", row.title, row.sentence)
        };
        let more = (rest.len() > MORE).then(|| format!("{} more: `--format json`", rest.len() - MORE));
        let names: Vec<&str> = symptoms.iter().map(|row| row.rule.as_str()).collect();
        let symptoms = (!names.is_empty()).then(|| format!("Symptoms of these: {}", names.join(", ")));
        blocks.extend(Section::of_lines("Also", rest.iter().take(MORE).map(line).chain(more).chain(symptoms)));
        let elsewhere = self.elsewhere.iter().map(|other| {
            let cause = match (&other.cause, other.outcome) {
                (Some(cause), _) => cause.as_str(),
                (None, DiagnosisOutcome::NotJudged) => "not judged: rules lack counters",
                (None, _) => "no significant cause",
            };
            let saving = other.saving.as_ref().map_or_else(String::new, |saving| format!(" ({saving})"));
            format!("{}: {}: {cause}{saving}", other.shape, other.variant)
        });
        blocks.extend(Section::of_lines("In use at other shapes", elsewhere));
        let bests = self.bests.iter().map(|best| format!("{} {}", best.variant, time(Some(best.microseconds))));
        let bests = bests.collect::<Vec<_>>().join(", ");
        let sentence = if bests.is_empty() { bests } else { format!("Fastest: {bests}") };
        Document { title: self.task.phase.to_string(), sentence, blocks }
    }

    /// `PHASE: VARIANT at SHAPE, 612.2 µs`; of a kernel of a report the short name, its launches and its full name.
    fn head(&self) -> Vec<String> {
        let Self { variant, shape, task, .. } = self;
        let own = time(self.microseconds);
        let Some(kernel) = &self.kernel else { return vec![format!("{}: {variant} at {shape}, {own}", task.phase)] };
        let launches = match kernel.launches {
            1 => format!("{shape}, {own}"),
            many => format!(
                "{}, {} in total; findings are about {shape}, {own}",
                number::counted(many, "launch"),
                time(kernel.total_microseconds),
            ),
        };
        let name = (!kernel.label.starts_with(variant.as_str())).then(|| variant.to_string());
        [format!("{}: {}, {launches}", task.phase, kernel.label)].into_iter().chain(name).collect()
    }

    fn whole(&self, row: &FindingRow) -> Vec<String> {
        let mut lines = vec![row.sentence.to_string()];
        lines.extend(row.saving.as_ref().map(|saving| match saving.words.strip_prefix("measured: ") {
            Some(gain) => format!("Measured: {gain}."),
            None => format!("A fix saves {} ({} confidence).", saving.words, row.confidence.word()),
        }));
        let evidence: Vec<String> = row.evidence.iter().map(|value| format!("{} {}", value.name, value.text)).collect();
        // The head names the launch of a report.
        let launch = row.launch.as_ref().filter(|_| self.kernel.is_none());
        let launch = launch.map_or_else(String::new, |launch| format!(" [{launch}]"));
        lines.extend((!evidence.is_empty()).then(|| format!("Evidence: {}{launch}", evidence.join(", "))));
        lines.extend(row.lines.iter().map(|line| {
            let source = line.source.as_deref().unwrap_or_default();
            let awaited = line.awaited.as_ref().map_or_else(String::new, |awaited| format!("; {}", awaited.words));
            format!("{} ({:.0} % of samples, {}{awaited}): {source}", line.place, line.share, line.stall)
        }));
        lines.push(format!("Try: {}", row.advice));
        lines.extend(row.further.iter().map(|further| format!("Or: {further}")));
        lines.push(match &self.kernel {
            Some(_) => format!("Rule: {}", row.rule),
            None => format!("Id: {}", row.id),
        });
        lines
    }
}

/// A Markdown table with a row for each explanation.
pub fn table(explanations: &[Explanation]) -> String {
    let heads = match explanations.iter().any(|one| one.kernel.is_some()) {
        true => ["kernel", "total time"],
        false => ["variant", "time"],
    };
    let heads = heads.into_iter().chain(["main cause", "saves at most", "measured", "next"]);
    let mut table = DocumentTable { is_whole: true, ..DocumentTable::new("", heads.map(Column::text).collect()) };
    for explanation in explanations {
        let row = explanation.bottleneck.as_ref();
        let cause = match (row, &explanation.not_asked) {
            (Some(row), _) => row.heading().to_string(),
            (None, Some(lacks)) => format!("not judged: {} of {} rules lack counters", lacks.rules, lacks.of),
            (None, None) if explanation.outcome == DiagnosisOutcome::NotJudged => "not judged".to_owned(),
            (None, None) => "no significant cause".to_owned(),
        };
        let saving = row.and_then(|row| row.saving.as_ref());
        let pair = saving.and_then(|saving| saving.pair.as_ref()).map(|pair| pair.percent);
        let percent = |value: Option<f64>| value.map_or_else(String::new, |percent| format!("{percent:.0} %"));
        let kernel = explanation.kernel.as_ref();
        let cells = [
            kernel.map_or(&explanation.variant, |kernel| &kernel.label).to_string(),
            time(kernel.map_or(explanation.microseconds, |kernel| kernel.total_microseconds)),
            cause,
            percent(saving.map(|saving| saving.percent)),
            percent(pair),
            explanation.next_experiment.as_deref().unwrap_or_default().to_owned(),
        ];
        table.row(cells.map(TableCell::new).to_vec());
    }
    markdown_blocks(&[DocumentBlock::Table(table)], 1).trim_start().to_owned()
}

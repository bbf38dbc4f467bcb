//! Two deep profiles side by side as a section.

use super::document::{CellTone, Column, DocumentBlock, DocumentTable, Medium, Section, TableCell};
use ncu_explain::{LineTime, PairedLine, PairedLines, SampledInstruction};
use ncugate_model::CleanText;

/// The lines, and the machine code of those that changed most, which the smallest medium shows.
pub fn section(pair: &PairedLines, code: Medium) -> Section {
    let times = [&pair.first, &pair.other].map(|name| Column::number(name.as_str()));
    let columns = [Column::text("line"), Column::text("source").minor()].into_iter().chain(times);
    let columns = columns.chain([Column::number("change"), Column::text("what changed")]);
    let mut table = DocumentTable::new("Lines of two variants", columns.collect());
    for line in &pair.lines {
        let time = |time: &Option<LineTime>| match time {
            Some(time) => TableCell::new(time.time.as_str()).note(time.stall.as_str()),
            None => TableCell::new("-"),
        };
        let states = line.states.iter().map(CleanText::as_str).collect::<Vec<_>>().join(", ");
        let source = TableCell::of(line.source.as_deref().unwrap_or_default(), CellTone::Code);
        let [place, change] = [&line.line, &line.change].map(|text| TableCell::new(text.as_str()));
        table.row(vec![place, source, time(&line.first), time(&line.other), change, TableCell::new(states)]);
    }
    let about = "Time at a line is its share of the samples of the duration under the profiler. A dash: no warp was sampled there.";
    let mut blocks = vec![DocumentBlock::Aside(about.to_owned())];
    blocks.extend(table.block());
    let coded = pair.lines.iter().filter(|line| !line.code.is_empty());
    blocks.extend(coded.map(|line| Section { medium: code, ..machine_code(pair, line) }.into()));
    Section::new("", format!("Line by line, with {}", pair.other), blocks)
}

fn machine_code(pair: &PairedLines, line: &PairedLine) -> Section {
    let side = |name: &CleanText| [Column::text(name.as_str()), Column::number("time"), Column::text("mostly")];
    let columns = [side(&pair.first), side(&pair.other)].concat();
    let title = format!("Machine code of {} {}", line.line, line.source.as_deref().unwrap_or_default());
    let mut table = DocumentTable { is_whole: true, ..DocumentTable::new(title.trim_end(), columns) };
    for row in &line.code {
        let side = |one: &Option<SampledInstruction>| match one {
            Some(SampledInstruction { text, time, stall }) => {
                let [time, stall] = [time, stall].map(|text| TableCell::new(text.as_str()));
                [TableCell::of(text.as_str(), CellTone::Code), time, stall]
            }
            None => [const { 0 }; 3].map(|_| TableCell::default()),
        };
        table.row([side(&row.first), side(&row.other)].concat());
    }
    let left_out =
        (line.left_out > 0).then(|| DocumentBlock::Aside(format!("{} more lines are left out.", line.left_out)));
    Section::folded(title, Medium::Page, [DocumentBlock::Table(table)].into_iter().chain(left_out).collect())
}

//! A source file with the heat of its lines, if the report holds the file.

use crate::document::{CellTone, Column, DocumentBlock, DocumentTable, Medium, Section, TableCell};
use crate::{number, text};
use ncu_explain::{HotLine, LineInstruction};
use ncu_rep::SourceFile;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Context lines shown around sampled ones.
const AROUND: u32 = 3;
/// Most lines shown of a file.
const LONGEST: u32 = 400;
/// Longest text of a line, in characters.
const WIDEST: usize = 160;
/// Most instructions listed of a line; those with the most samples are listed.
const INSTRUCTIONS: usize = 12;

/// The file with the most samples, if its text is in the report.
pub fn section(lines: &[HotLine], files: &[SourceFile<'_>]) -> Option<Section> {
    let mut by_file: BTreeMap<&str, f64> = BTreeMap::new();
    for hot in lines {
        *by_file.entry(hot.line.file.as_str()).or_default() += hot.share;
    }
    let (name, share) = by_file.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let last = |path: &str| path.rsplit(['/', '\\']).next().map(str::to_owned);
    let file = files.iter().find(|file| last(&file.path) == last(name))?;
    let content = String::from_utf8_lossy(file.content);
    let texts: Vec<&str> = content.lines().collect();
    let hot: BTreeMap<u32, &HotLine> =
        lines.iter().filter(|hot| hot.line.file == name).map(|hot| (hot.line.line, hot)).collect();
    // A file that changed after compilation may have fewer lines than the code refers to.
    let end = u32::try_from(texts.len()).ok()?;
    if hot.keys().any(|line| *line == 0 || *line > end) {
        return None;
    }
    let hottest = hot.values().map(|hot| hot.share).fold(0.0, f64::max);
    let heads = [Column::text("Source"), Column::text("Mostly")];
    let columns = ["Line", "Samples"].map(Column::number).into_iter().chain(heads).collect();
    let mut table = DocumentTable::new(format!("Source of {name}"), columns);
    let (mut next, mut shown, mut left_out) = (0, 0, 0);
    for &line in hot.keys() {
        if shown >= LONGEST {
            left_out += 1;
            continue;
        }
        let from = line.saturating_sub(AROUND).max(1).max(next);
        if next > 0 && from > next {
            table.row(vec![TableCell::new("⋯")]);
        }
        // If the next sampled line is near, its own context continues from here.
        let to = (line + AROUND).min(end);
        (from..=to).for_each(|at| rows(&mut table, at, &texts, hot.get(&at).map(|hot| (*hot, hottest))));
        shown += (to + 1).saturating_sub(from);
        next = next.max(to + 1);
    }
    let left_out = if left_out > 0 { format!(" {left_out} more sampled lines are not shown.") } else { String::new() };
    let about =
        format!("Sampled instructions follow their line. `ncugate show REPORT --view disasm` has them all.{left_out}");
    let title = format!("Source and instructions: {name}, {} of the samples", number::share(share));
    Some(Section::folded(title, Medium::Page, vec![DocumentBlock::Aside(about), DocumentBlock::Table(table)]))
}

/// A line, then its instructions with the most samples by address. The bar is the share of the hottest line.
fn rows(table: &mut DocumentTable, at: u32, texts: &[&str], hot: Option<(&HotLine, f64)>) {
    let text = usize::try_from(at).ok().and_then(|at| texts.get(at - 1)).copied().unwrap_or_default();
    let clean: String = text::clean(&text.replace('\t', "    ")).chars().take(WIDEST).collect();
    let samples = hot.map_or_else(TableCell::default, |(hot, hottest)| TableCell {
        bar: Some(hot.share).filter(|_| hottest > 0.0).map(|share| 100.0 * share / hottest),
        ..TableCell::value(hot.share, number::share(hot.share))
    });
    let stall = |stall: &str| TableCell::new(stall.replace('_', " "));
    let of_line = hot.map_or_else(TableCell::default, |(hot, _)| stall(&hot.stall));
    table.row(vec![TableCell::new(at.to_string()), samples, TableCell::of(clean, CellTone::Code), of_line]);
    let mut instructions: Vec<&LineInstruction> = hot.iter().flat_map(|(hot, _)| &hot.instructions).collect();
    let more = instructions.len().saturating_sub(INSTRUCTIONS);
    instructions.sort_by_key(|one| Reverse(one.samples));
    instructions.truncate(INSTRUCTIONS);
    instructions.sort_by_key(|one| one.offset);
    for one in instructions {
        let code = format!("    +0x{:x} {}", one.offset, one.text.as_deref().unwrap_or_default());
        let samples = TableCell::new(number::plain(one.samples as f64));
        table.row(vec![
            TableCell::default(),
            samples,
            TableCell::of(code.trim_end(), CellTone::Code),
            stall(&one.stall),
        ]);
    }
    if more > 0 {
        table.row(vec![
            TableCell::default(),
            TableCell::default(),
            TableCell::new(format!("    {more} more with fewer samples")),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::Line;

    fn hot(line: u32, share: f64) -> HotLine {
        let line = Line { file: "a.cu".to_owned(), line, text: None };
        HotLine {
            line,
            samples: 1,
            share,
            stall: "long_scoreboard".to_owned(),
            states: Vec::new(),
            dependency: None,
            instructions: (0..14)
                .map(|at| LineInstruction { offset: 16 * at, text: None, samples: at, stall: "wait".to_owned() })
                .collect(),
        }
    }

    #[test]
    fn sampled_lines_come_with_their_surroundings_once_and_gaps_are_marked() {
        let content: String = (1..=40).map(|n| format!("\tline {n}\n")).collect();
        let files = [SourceFile { path: "/tmp/x/a.cu".into(), content: content.as_bytes() }];
        let section = section(&[hot(5, 60.0), hot(7, 30.0), hot(30, 10.0)], &files).unwrap();
        let Some(DocumentBlock::Table(table)) = section.blocks.last() else { panic!("a table") };
        let numbers: Vec<&str> =
            table.rows.iter().map(|row| row.cells[0].text.as_str()).filter(|text| !text.is_empty()).collect();
        let expected: Vec<String> = (2..=10).map(|n| n.to_string()).collect();
        assert_eq!(numbers[..9], expected);
        assert_eq!(numbers[9..], ["⋯", "27", "28", "29", "30", "31", "32", "33"]);
        let [_, samples, text, stall] = table.rows[3].cells.as_slice() else { panic!("four cells") };
        assert_eq!(
            (text.text.as_str(), samples.bar, stall.text.as_str()),
            ("    line 5", Some(100.0), "long scoreboard")
        );
        let code: Vec<&str> = table.rows[4..17].iter().map(|row| row.cells[2].text.trim()).collect();
        assert_eq!((code[0], code[11], code[12]), ("+0x20", "+0xd0", "2 more with fewer samples"));
    }

    #[test]
    fn a_file_that_is_not_in_the_report_or_is_another_version_is_not_shown() {
        let short = [SourceFile { path: "a.cu".into(), content: b"one\n" }];
        assert_eq!(section(&[hot(5, 60.0)], &short), None);
        assert_eq!(section(&[hot(1, 60.0)], &[]), None);
    }
}

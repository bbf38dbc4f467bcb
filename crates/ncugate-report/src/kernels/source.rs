//! A source file with the heat of its lines, if the report holds the file.

use crate::explain::{HotLine, LineInstruction};
use crate::number::{self, Number};
use crate::text;
use ncu_rep::SourceFile;
use ncugate_model::CleanText;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Context lines shown around sampled ones.
const AROUND: u32 = 3;
/// Most lines shown of a file.
const LONGEST: usize = 400;
/// Longest text of a line, in characters.
const WIDEST: usize = 160;
/// Most instructions listed of a line; those with the most samples are listed.
const INSTRUCTIONS: usize = 12;

/// The sampled part of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceView {
    pub file: CleanText,
    /// Percent of the launch's samples in this file.
    pub share: Number,
    /// Lines in order; a gap is a line without a number.
    pub lines: Vec<SourceLine>,
    /// Number of sampled lines left out.
    pub left_out: usize,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceLine {
    /// Its number; none for a gap.
    pub number: Option<u32>,
    /// Its cleaned text, with its indentation.
    pub text: String,
    /// Percent of the launch's samples; none for a line without samples.
    pub share: Option<Number>,
    /// Share of the hottest line's samples, 0 to 1.
    pub heat: f64,
    /// The most frequent stall reason of its warps.
    pub stall: CleanText,
    /// Its sampled instructions, by address.
    pub instructions: Vec<SourceInstruction>,
    /// Number of sampled instructions left out.
    pub more: usize,
}

/// A machine instruction of a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceInstruction {
    /// Bytes from the kernel's first instruction: `+0x1a0`.
    pub offset: CleanText,
    /// The instruction, if known.
    pub text: Option<CleanText>,
    /// Number of samples.
    pub samples: CleanText,
    /// The most frequent stall reason of its warps.
    pub stall: CleanText,
}

/// The file with the most samples, if its text is in the report.
pub fn view(lines: &[HotLine], files: &[SourceFile<'_>]) -> Option<SourceView> {
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
    let mut shown: Vec<SourceLine> = Vec::new();
    let (mut next, mut left_out) = (0, 0);
    for &line in hot.keys() {
        if shown.len() >= LONGEST {
            left_out += 1;
            continue;
        }
        let from = line.saturating_sub(AROUND).max(1).max(next);
        if next > 0 && from > next {
            shown.push(SourceLine::gap());
        }
        // If the next sampled line is near, its own context continues from here.
        let to = (line + AROUND).min(end);
        shown.extend((from..=to).map(|at| row(at, &texts, hot.get(&at).copied(), hottest)));
        next = next.max(to + 1);
    }
    Some(SourceView { file: name.into(), share: Number::new(share), lines: shown, left_out })
}

impl SourceLine {
    fn gap() -> Self {
        let (text, stall) = (String::new(), CleanText::default());
        Self { number: None, text, share: None, heat: 0.0, stall, instructions: Vec::new(), more: 0 }
    }
}

fn row(at: u32, texts: &[&str], hot: Option<&HotLine>, hottest: f64) -> SourceLine {
    let text = usize::try_from(at).ok().and_then(|at| texts.get(at - 1)).copied().unwrap_or_default();
    let clean: String = text::clean(&text.replace('\t', "    ")).chars().take(WIDEST).collect();
    let mut instructions: Vec<&LineInstruction> = hot.map_or_else(Vec::new, |hot| hot.instructions.iter().collect());
    let more = instructions.len().saturating_sub(INSTRUCTIONS);
    instructions.sort_by_key(|one| Reverse(one.samples));
    instructions.truncate(INSTRUCTIONS);
    instructions.sort_by_key(|one| one.offset);
    SourceLine {
        number: Some(at),
        text: clean,
        share: hot.map(|hot| Number::new(hot.share)),
        heat: hot.filter(|_| hottest > 0.0).map_or(0.0, |hot| hot.share / hottest),
        stall: hot.map_or_else(CleanText::default, |hot| words(&hot.stall)),
        instructions: instructions.into_iter().map(instruction).collect(),
        more,
    }
}

fn instruction(one: &LineInstruction) -> SourceInstruction {
    SourceInstruction {
        offset: format!("+0x{:x}", one.offset).into(),
        text: one.text.as_ref().map(CleanText::from),
        samples: number::plain(one.samples as f64).into(),
        stall: words(&one.stall),
    }
}

fn words(stall: &str) -> CleanText {
    stall.replace('_', " ").into()
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
        let view = view(&[hot(5, 60.0), hot(7, 30.0), hot(30, 10.0)], &files).unwrap();
        let numbers: Vec<Option<u32>> = view.lines.iter().map(|line| line.number).collect();
        let expected: Vec<Option<u32>> = (2..=10).map(Some).chain([None]).chain((27..=33).map(Some)).collect();
        assert_eq!(numbers, expected);
        let fifth = &view.lines[3];
        assert_eq!((fifth.text.as_str(), fifth.heat, fifth.stall.as_str()), ("    line 5", 1.0, "long scoreboard"));
        assert_eq!(view.lines[5].heat, 0.5);
        let offsets: Vec<&str> = fifth.instructions.iter().map(|one| one.offset.as_str()).collect();
        assert_eq!((offsets.len(), offsets[0], offsets[11], fifth.more), (12, "+0x20", "+0xd0", 2));
    }

    #[test]
    fn a_file_that_is_not_in_the_report_or_is_another_version_is_not_shown() {
        let short = [SourceFile { path: "a.cu".into(), content: b"one\n" }];
        assert_eq!(view(&[hot(5, 60.0)], &short), None);
        assert_eq!(view(&[hot(1, 60.0)], &[]), None);
    }
}

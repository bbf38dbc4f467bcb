//! Two deep profiles side by side: the time by source line, the changes in warp stalls, and the machine code of each
//! line.

use crate::code_diff::aligned;
use crate::profiler::{HotLine, LineInstruction, NcuObservations};
use ncugate_model::{CleanText, number};
use serde::Serialize;

const SHOWN: usize = 14;
/// Paired lines with machine code.
const CODED: usize = 6;
/// Most instructions of a line that are shown side by side.
const INSTRUCTIONS: usize = 64;
/// Most warp states named for a line.
const STATES: usize = 3;

/// Two variants, line by line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedLines {
    pub first: CleanText,
    pub other: CleanText,
    /// Lines with time in either variant, the largest change first.
    pub lines: Vec<PairedLine>,
}

/// A line that occurs in both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedLine {
    /// `file:line`.
    pub line: CleanText,
    /// Its text, if known.
    pub source: Option<CleanText>,
    /// At the first variant; none if no warp was sampled there.
    pub first: Option<LineTime>,
    pub other: Option<LineTime>,
    /// From the other to the first; a line without time on one side counts from zero.
    pub change: CleanText,
    /// The largest changes in the reasons for stalls at the line: `long scoreboard -12.3 µs`.
    pub states: Vec<CleanText>,
    /// Its machine code in both, matching instructions side by side; empty if neither is known.
    pub code: Vec<PairedInstruction>,
    /// Number of instructions left out.
    pub left_out: usize,
}

/// The time of a variant at a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineTime {
    /// Share of the samples times the duration; only the share if the duration is unknown.
    pub time: CleanText,
    /// The most frequent stall reason of its warps.
    pub stall: CleanText,
}

/// Matching instructions of both variants, or one that only one variant has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedInstruction {
    /// Of the first variant.
    pub first: Option<SampledInstruction>,
    pub other: Option<SampledInstruction>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampledInstruction {
    pub text: CleanText,
    /// Its share of the time.
    pub time: CleanText,
    /// The most frequent stall reason of its warps.
    pub stall: CleanText,
}

#[derive(Debug, Clone, Copy)]
pub struct SampledVariant<'a> {
    pub label: &'a str,
    pub said: &'a NcuObservations,
    /// Its duration under the profiler in nanoseconds.
    pub duration: Option<f64>,
}

/// Samples as time: microseconds if both durations are known, else percent of the samples.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// The value of one percent of the first variant's samples.
    first: f64,
    /// Of the other's.
    other: f64,
    unit: &'static str,
}

/// Pairs the lines of the first variant with those of another; none if they have no common line.
pub fn pair(first: SampledVariant<'_>, other: SampledVariant<'_>) -> Option<PairedLines> {
    let clock = match first.duration.zip(other.duration) {
        Some((first, other)) => Clock { first: first / 1e5, other: other / 1e5, unit: "us" },
        None => Clock { first: 1.0, other: 1.0, unit: "%" },
    };
    let at =
        |sampled: SampledVariant<'_>, place: &str| sampled.said.lines.iter().position(|hot| self::place(hot) == place);
    let mut places: Vec<String> = first.said.lines.iter().map(place).collect();
    places.extend(other.said.lines.iter().map(place).filter(|place| at(first, place).is_none()));
    let lines = places.iter().map(|place| {
        let of = |sampled: SampledVariant<'_>| at(sampled, place).and_then(|at| sampled.said.lines.get(at).cloned());
        (place, of(first), of(other))
    });
    let mut lines: Vec<(&String, Option<HotLine>, Option<HotLine>)> = lines.collect();
    if !lines.iter().any(|(_, first, other)| first.is_some() && other.is_some()) {
        return None;
    }
    let changed = |(_, first, other): &(&String, Option<HotLine>, Option<HotLine>)| {
        clock.change(share(first.as_ref()), share(other.as_ref()))
    };
    lines.sort_by(|a, b| changed(b).abs().total_cmp(&changed(a).abs()));
    let line = |(at, (place, first, other)): (usize, (&String, Option<HotLine>, Option<HotLine>))| {
        let shown = if at < CODED { INSTRUCTIONS } else { 0 };
        clock.line(place, first.as_ref(), other.as_ref(), shown)
    };
    let lines = lines.into_iter().take(SHOWN).enumerate().map(line).collect();
    Some(PairedLines { first: first.label.into(), other: other.label.into(), lines })
}

fn place(hot: &HotLine) -> String {
    format!("{}:{}", hot.line.file, hot.line.line)
}

fn share(hot: Option<&HotLine>) -> f64 {
    hot.map_or(0.0, |hot| hot.share)
}

impl Clock {
    /// From the other to the first, for shares in percent.
    fn change(self, first: f64, other: f64) -> f64 {
        first * self.first - other * self.other
    }

    fn written(self, value: f64) -> String {
        number::with_unit(value, self.unit)
    }

    fn signed(self, change: f64) -> String {
        format!("{}{}", if change > 0.0 { "+" } else { "" }, self.written(change))
    }

    fn line(self, place: &str, first: Option<&HotLine>, other: Option<&HotLine>, shown: usize) -> PairedLine {
        let source = first.or(other).and_then(|hot| hot.line.text.as_deref());
        let time = |hot: Option<&HotLine>, worth: f64| {
            hot.map(|hot| LineTime { time: self.written(hot.share * worth).into(), stall: state_words(&hot.stall) })
        };
        let code = self.code(first, other);
        let most = if shown == 0 { 0 } else { code.len() };
        let left_out = most.saturating_sub(shown);
        PairedLine {
            line: place.into(),
            source: source.map(CleanText::from),
            first: time(first, self.first),
            other: time(other, self.other),
            change: self.signed(self.change(share(first), share(other))).into(),
            states: self.states(first, other),
            code: code.into_iter().take(shown).collect(),
            left_out,
        }
    }

    /// The warp states whose time changed most.
    fn states(self, first: Option<&HotLine>, other: Option<&HotLine>) -> Vec<CleanText> {
        let of = |hot: Option<&HotLine>, state: &str| {
            let share = |hot: &HotLine| {
                let samples = hot.states.iter().find(|(name, _)| name == state).map_or(0, |(_, samples)| *samples);
                hot.share * samples as f64 / hot.samples.max(1) as f64
            };
            hot.map_or(0.0, share)
        };
        let mut names: Vec<&str> =
            first.into_iter().chain(other).flat_map(|hot| &hot.states).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut changes: Vec<(f64, &str)> =
            names.into_iter().map(|name| (self.change(of(first, name), of(other, name)), name)).collect();
        changes.retain(|(change, _)| change.abs() > 0.0);
        changes.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        changes
            .into_iter()
            .take(STATES)
            .map(|(change, name)| format!("{} {}", state_words(name), self.signed(change)).into())
            .collect()
    }

    /// Instructions with a known text, aligned by opcode.
    fn code(self, first: Option<&HotLine>, other: Option<&HotLine>) -> Vec<PairedInstruction> {
        let of = |hot: Option<&'_ HotLine>| -> Vec<LineInstruction> {
            hot.into_iter().flat_map(|hot| &hot.instructions).filter(|one| one.text.is_some()).cloned().collect()
        };
        let (ours, theirs) = (of(first), of(other));
        let sampled = |one: &LineInstruction, hot: Option<&HotLine>, worth: f64| {
            let (samples, share) = hot.map_or((1, 0.0), |hot| (hot.samples.max(1), hot.share));
            SampledInstruction {
                text: one.text.as_deref().unwrap_or_default().into(),
                time: self.written(worth * share * one.samples as f64 / samples as f64).into(),
                stall: state_words(&one.stall),
            }
        };
        let pairs =
            aligned(&ours, &theirs, |a, b| opcode(a) == opcode(b)).into_iter().map(|(a, b)| PairedInstruction {
                first: a.and_then(|at| ours.get(at)).map(|one| sampled(one, first, self.first)),
                other: b.and_then(|at| theirs.get(at)).map(|one| sampled(one, other, self.other)),
            });
        pairs.collect()
    }
}

/// The opcode of an instruction, without predicate, width and operands: `LDG`.
fn opcode(instruction: &LineInstruction) -> &str {
    let text = instruction.text.as_deref().unwrap_or_default();
    let word = text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
    word.split('.').next().unwrap_or(word)
}

fn state_words(state: &str) -> CleanText {
    state.replace('_', " ").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::{Line, ShapeName, VariantId};

    fn instruction(offset: u64, text: &str, samples: u64) -> LineInstruction {
        LineInstruction { offset, text: Some(text.to_owned()), samples, stall: "long_scoreboard".to_owned() }
    }

    fn said(lines: &[(u32, f64, &str)]) -> NcuObservations {
        let hot = |(line, share, stall): &(u32, f64, &str)| HotLine {
            line: Line { file: "k.cu".to_owned(), line: *line, text: Some(format!("line {line}")) },
            samples: 10,
            share: *share,
            stall: (*stall).to_owned(),
            states: vec![((*stall).to_owned(), 10)],
            instructions: Vec::new(),
            dependency: None,
        };
        NcuObservations {
            variant: VariantId("v".into()),
            shape: ShapeName("s".into()),
            kernel: "k".to_owned(),
            rules: Vec::new(),
            hot: Vec::new(),
            lines: lines.iter().map(hot).collect(),
            lacks: Vec::new(),
            timeline: None,
            facts: Vec::new(),
        }
    }

    fn sampled<'a>(label: &'a str, said: &'a NcuObservations, duration: f64) -> SampledVariant<'a> {
        SampledVariant { label, said, duration: Some(duration) }
    }

    #[test]
    fn the_line_that_changed_most_is_first() {
        let (slow, fast) =
            (said(&[(10, 50.0, "wait"), (20, 50.0, "barrier")]), said(&[(10, 80.0, "wait"), (30, 20.0, "drain")]));
        let pair = pair(sampled("fast", &fast, 10_000.0), sampled("slow", &slow, 20_000.0)).unwrap();
        let lines: Vec<(&str, &str)> = pair.lines.iter().map(|l| (l.line.as_str(), l.change.as_str())).collect();
        assert_eq!(lines, [("k.cu:20", "-10 µs"), ("k.cu:10", "-2 µs"), ("k.cu:30", "+2 µs")]);
        assert_eq!(pair.lines[0].states, ["barrier -10 µs"]);
        assert_eq!(pair.lines[1].other.as_ref().unwrap().stall, "wait");
        assert!(pair.lines[0].first.is_none() && pair.lines[0].code.is_empty());
    }

    #[test]
    fn other_sources_are_no_pair() {
        let (a, b) = (said(&[(10, 50.0, "wait")]), said(&[(11, 50.0, "wait")]));
        let of = |said| SampledVariant { label: "v", said, duration: None };
        assert_eq!(pair(of(&a), of(&b)), None);
    }

    #[test]
    fn machine_code_of_a_line_is_aligned_by_what_it_does() {
        let (mut fast, mut slow) = (said(&[(10, 50.0, "wait")]), said(&[(10, 100.0, "wait")]));
        fast.lines[0].instructions =
            vec![instruction(0, "LDG.E.128 R4, [R2.64]", 8), instruction(16, "FFMA R1, R4, R5, R1", 2)];
        slow.lines[0].instructions = vec![
            instruction(0, "LDG.E R9, [R2.64]", 5),
            instruction(16, "@P0 LDG.E R9, [R2.64+0x4]", 4),
            instruction(32, "FFMA R7, R9, R5, R7", 1),
        ];
        let pair = pair(sampled("fast", &fast, 10_000.0), sampled("slow", &slow, 20_000.0)).unwrap();
        let side = |one: &Option<SampledInstruction>| {
            one.as_ref().map(|one| format!("{} {}", one.text.split_whitespace().next().unwrap(), one.time))
        };
        let rows: Vec<_> = pair.lines[0].code.iter().map(|row| (side(&row.first), side(&row.other))).collect();
        let of = |text: &str| Some(text.to_owned());
        assert_eq!(
            rows,
            [(of("LDG.E.128 4 µs"), of("LDG.E 10 µs")), (None, of("@P0 8 µs")), (of("FFMA 1 µs"), of("FFMA 2 µs")),]
        );
    }
}

//! The lines of two deep profiles side by side: where time went in each, and what changed.

use super::{number, text};
use crate::explain::{HotLine, NcuObservations};
use serde::Serialize;

/// Lines shown of a pair.
const SHOWN: usize = 14;
/// Longest source text, in characters.
const WIDEST: usize = 120;

/// Two variants, line by line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedLines {
    /// The first variant.
    pub first: String,
    /// The other.
    pub other: String,
    /// Lines that both or one of them spend time at, the largest change first.
    pub lines: Vec<PairedLine>,
}

/// A line of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedLine {
    /// `file:line`.
    pub line: String,
    /// Its text, where it is known.
    pub source: Option<String>,
    /// At the first variant; none where it is not among the hottest lines that are kept.
    pub first: Option<LineTime>,
    /// At the other.
    pub other: Option<LineTime>,
    /// From the other to the first, where both are known.
    pub change: Option<String>,
}

/// What a variant spends at a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineTime {
    /// Share of the samples times the duration; the share where the duration is not known.
    pub time: String,
    /// Why most of its warps waited.
    pub stall: String,
}

/// A profiled variant.
#[derive(Debug, Clone, Copy)]
pub struct Sampled<'a> {
    /// How it is called.
    pub label: &'a str,
    /// Its samples.
    pub said: &'a NcuObservations,
    /// Its duration under the profiler in nanoseconds.
    pub duration: Option<f64>,
}

/// Lines of the first variant beside those of another; none where they have no line in common.
pub fn pair(first: Sampled<'_>, other: Sampled<'_>) -> Option<PairedLines> {
    let place = |hot: &HotLine| format!("{}:{}", hot.line.file, hot.line.line);
    let of = |sampled: Sampled<'_>, at: &str| sampled.said.lines.iter().find(|hot| place(hot) == at).cloned();
    let mut places: Vec<String> = Vec::new();
    for hot in first.said.lines.iter().chain(&other.said.lines) {
        if !places.contains(&place(hot)) {
            places.push(place(hot));
        }
    }
    let durations = first.duration.zip(other.duration);
    let spent = |hot: &HotLine, duration: Option<f64>| duration.map_or(hot.share, |ns| hot.share / 100.0 * ns / 1e3);
    let mut lines: Vec<(f64, PairedLine)> = places
        .iter()
        .map(|at| {
            let (a, b) = (of(first, at), of(other, at));
            let amount = |hot: &Option<HotLine>, duration: Option<f64>| hot.as_ref().map(|hot| spent(hot, duration));
            let (own, theirs) = (
                amount(&a, durations.map(|durations| durations.0)),
                amount(&b, durations.map(|durations| durations.1)),
            );
            let changed = own.zip(theirs).map(|(own, theirs)| own - theirs);
            let weight =
                changed.unwrap_or(0.0).abs().max(if changed.is_none() { own.or(theirs).unwrap_or(0.0) } else { 0.0 });
            let written = |value: f64| match durations {
                Some(_) => number::with_unit(value, "us"),
                None => number::with_unit(value, "%"),
            };
            let time = |hot: Option<HotLine>, value: Option<f64>| {
                let stall = hot.as_ref().map(|hot| text::line(&hot.stall.replace('_', " ")))?;
                Some(LineTime { time: written(value?), stall })
            };
            let source = a.as_ref().or(b.as_ref()).and_then(|hot| hot.line.text.clone());
            let line = PairedLine {
                line: text::line(at),
                source: source.map(|source| text::clip(&source, WIDEST)),
                change: changed.map(|change| format!("{}{}", if change > 0.0 { "+" } else { "" }, written(change))),
                first: time(a, own),
                other: time(b, theirs),
            };
            (weight, line)
        })
        .collect();
    let shared = lines.iter().any(|(_, line)| line.change.is_some());
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    let lines = lines.into_iter().take(SHOWN).map(|(_, line)| line).collect();
    shared.then(|| PairedLines { first: text::line(first.label), other: text::line(other.label), lines })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::{Line, ShapeName, VariantId};

    fn said(lines: &[(u32, f64, &str)]) -> NcuObservations {
        let hot = |(line, share, stall): &(u32, f64, &str)| HotLine {
            line: Line { file: "k.cu".to_owned(), line: *line, text: Some(format!("line {line}")) },
            samples: 1,
            share: *share,
            stall: (*stall).to_owned(),
        };
        NcuObservations {
            variant: VariantId("v".into()),
            shape: ShapeName("s".into()),
            rules: Vec::new(),
            hot: Vec::new(),
            lines: lines.iter().map(hot).collect(),
            lacks: Vec::new(),
            timeline: None,
        }
    }

    #[test]
    fn the_line_that_changed_most_is_first() {
        let (slow, fast) =
            (said(&[(10, 50.0, "wait"), (20, 50.0, "barrier")]), said(&[(10, 80.0, "wait"), (30, 20.0, "drain")]));
        let of = |label, said, duration| Sampled { label, said, duration: Some(duration) };
        let pair = pair(of("fast", &fast, 10_000.0), of("slow", &slow, 20_000.0)).unwrap();
        let lines: Vec<(&str, Option<&str>)> =
            pair.lines.iter().map(|l| (l.line.as_str(), l.change.as_deref())).collect();
        assert_eq!(lines[0].0, "k.cu:20");
        assert_eq!(lines.iter().filter(|(_, change)| change.is_some()).count(), 1);
        let ten = pair.lines.iter().find(|line| line.line == "k.cu:10").unwrap();
        assert!(ten.change.as_deref().is_some_and(|change| !change.starts_with('+')), "{ten:?}");
        assert_eq!(ten.other.as_ref().unwrap().stall, "wait");
    }

    #[test]
    fn other_sources_are_no_pair() {
        let (a, b) = (said(&[(10, 50.0, "wait")]), said(&[(11, 50.0, "wait")]));
        let of = |said| Sampled { label: "v", said, duration: None };
        assert_eq!(pair(of(&a), of(&b)), None);
    }
}

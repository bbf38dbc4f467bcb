//! Effects of parameters as text, for terminal, Markdown and HTML.

use super::metric_change::ChangeDirection;
use super::number::{self, text::inside};
use crate::explain::{ChangeUnit, FEWEST, MainEffect, MatchedChange, MetricEffect, Separation, SweepAnalysis};
use ncugate_model::CleanText;
use serde::Serialize;

/// The change of equal values.
const UNCHANGED: &str = "no change";

/// A parameter and its effect on each metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterEffects {
    pub parameter: CleanText,
    /// The better of two values.
    pub from: CleanText,
    pub to: CleanText,
    /// `18 pairs`
    pub pairs: String,
    pub rows: Vec<EffectRow>,
}

/// The effect on one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectRow {
    pub title: String,
    /// Means at both values, with their unit.
    pub means: Option<[String; 2]>,
    /// `+39.3 %`, `no change` or `n/a`
    pub change: String,
    /// The interval, or why there is no estimate.
    pub note: String,
    pub judged: ChangeDirection,
}

/// The parameters of an analysis, strongest first.
pub fn parameter_effects(analysis: &SweepAnalysis) -> Vec<ParameterEffects> {
    let of = |effect: &MainEffect| ParameterEffects {
        parameter: effect.parameter.clone(),
        from: effect.from.clone(),
        to: effect.to.clone(),
        pairs: number::counted(effect.pairs, "pair"),
        rows: effect.metrics.iter().map(|metric| row(metric, effect.pairs)).collect(),
    };
    analysis.effects.iter().map(of).collect()
}

fn row(effect: &MetricEffect, matched: usize) -> EffectRow {
    let column = &effect.column;
    let (Some([before, after]), Some(change)) = (effect.means, &effect.change) else {
        let note = match effect.pairs {
            0 => "not counted".to_owned(),
            few => format!("counted in {}, fewer than {FEWEST}", number::counted(few, "pair")),
        };
        let (change, judged) = ("n/a".to_owned(), ChangeDirection::Neither);
        return EffectRow { title: column.title.clone(), means: None, change, note, judged };
    };
    let is_equal = [change.by, change.low, change.high] == [0.0; 3];
    let judged = match (change.separation, column.better.improved(before, after)) {
        _ if is_equal => ChangeDirection::Neither,
        (Separation::Noise, _) => ChangeDirection::WithinNoise,
        (Separation::Clear, Some(true)) => ChangeDirection::Better,
        (Separation::Clear, Some(false)) => ChangeDirection::Worse,
        (Separation::Clear, None) => ChangeDirection::Neither,
    };
    let interval = (!is_equal).then(|| interval(change, &column.unit));
    let unclear = (judged == ChangeDirection::WithinNoise && change.low.is_finite()).then(|| match change.p {
        Some(p) if change.low * change.high > 0.0 => format!("unclear, p {}", number::short(p)),
        Some(_) | None => judged.word().to_owned(),
    });
    let counted = (effect.pairs < matched).then(|| format!("{} of {matched} pairs", effect.pairs));
    let notes: Vec<String> = [interval, unclear, counted].into_iter().flatten().collect();
    EffectRow {
        title: column.title.clone(),
        means: Some([before, after].map(|mean| number::in_sentence(mean, &column.unit))),
        change: if is_equal { UNCHANGED.to_owned() } else { by(change.by, change.unit, &column.unit) },
        note: notes.join(", "),
        judged,
    }
}

/// `-20.2 %`, `+17.9 pp`
fn by(change: f64, of: ChangeUnit, unit: &str) -> String {
    match of {
        ChangeUnit::Percent => number::change(1.0 + change / 100.0),
        ChangeUnit::Metric => number::signed(change, unit),
    }
}

/// `+29.8 % to +46.1 %`; five pairs have no interval
fn interval(change: &MatchedChange, unit: &str) -> String {
    if !change.low.is_finite() || !change.high.is_finite() {
        return "no interval".to_owned();
    }
    let [low, high] = [change.low, change.high].map(|end| by(end, change.unit, unit));
    format!("{low} to {high}")
}

/// `+39.3 % (+29.8 % to +46.1 %, 18 pairs)`, with the p-value if it is not clear.
pub fn change(change: &MatchedChange, unit: &str) -> String {
    let noise = match change.separation {
        Separation::Clear => String::new(),
        Separation::Noise => match change.p {
            Some(p) => format!("; within noise, p {}", number::short(p)),
            None => "; within noise".to_owned(),
        },
    };
    let pairs = number::counted(change.pairs, "pair");
    format!("{} ({}, {pairs}{noise})", by(change.by, change.unit, unit), interval(change, unit))
}

impl ParameterEffects {
    /// `REGCAP 96 -> 64 (18 pairs): latency p50 66.1 µs -> 92.1 µs, +39.3 % (+29.8 % to +46.1 %); ...`
    pub fn sentence(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(EffectRow::words).collect();
        format!("{} {} -> {} ({}): {}", self.parameter, self.from, self.to, self.pairs, rows.join("; "))
    }
}

impl EffectRow {
    fn words(&self) -> String {
        let title = inside(&self.title);
        let note = if self.note.is_empty() { String::new() } else { format!(" ({})", self.note) };
        match &self.means {
            None => format!("{title} {}", self.note),
            Some([from, _]) if self.change == UNCHANGED => format!("{title} {from}, unchanged{note}"),
            Some([from, to]) if self.judged == ChangeDirection::WithinNoise && from == to => {
                format!("{title} {from}, unchanged within noise")
            }
            Some([from, to]) => format!("{title} {from} -> {to}, {}{note}", self.change),
        }
    }
}

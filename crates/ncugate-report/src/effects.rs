//! Effects of parameters as a table.

use super::document::{CellTone, Column, DocumentTable, TableCell};
use super::number;
use ncu_explain::{ChangeDirection, ChangeUnit, FEWEST, MainEffect, MatchedChange, MetricEffect, Separation};

/// Parameters with their effect on each metric, strongest first.
pub fn table(effects: &[MainEffect]) -> DocumentTable {
    let numbers = ["from", "to", "change"].map(Column::number);
    let columns = ["parameter", "metric"].map(Column::text).into_iter().chain(numbers).collect();
    let mut table = DocumentTable { is_whole: true, ..DocumentTable::new("Effects of parameters", columns) };
    for effect in effects {
        let name = format!("{} {} → {}", effect.parameter, effect.from, effect.to);
        let mut name = TableCell::of(name, CellTone::Code).note(number::counted(effect.pairs, "pair"));
        for metric in &effect.metrics {
            let title = TableCell::new(metric.column.title.as_str());
            table.row([std::mem::take(&mut name), title].into_iter().chain(cells(metric, effect.pairs)).collect());
        }
    }
    table
}

/// The means at both values, and the change.
fn cells(effect: &MetricEffect, matched: usize) -> [TableCell; 3] {
    let column = &effect.column;
    let (Some(means), Some(change)) = (effect.means, &effect.change) else {
        let note = match effect.pairs {
            0 => "not counted".to_owned(),
            few => format!("counted in {}, fewer than {FEWEST}", number::counted(few, "pair")),
        };
        return [TableCell::missing(""), TableCell::missing(""), TableCell::missing("").note(note)];
    };
    let is_equal = [change.by, change.low, change.high] == [0.0; 3];
    let judged = match (change.separation, column.better.improved(means[0], means[1])) {
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
    let by = if is_equal { "no change".to_owned() } else { by(change.by, change.unit, &column.unit) };
    let [before, after] = means.map(|mean| TableCell::new(number::in_sentence(mean, &column.unit)));
    [before, after, TableCell::of(by, judged.into()).note(notes.join(", "))]
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

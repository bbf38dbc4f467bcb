//! Cost or gain of each change of a good variant: variants named by the phase, compared with the baseline that they
//! modify.

use super::charted_run::{ChartedRun, VariantRole, VariantRow};
use super::spec::{
    Bar, Chart, ChartAxis, ChartTable, LimitLine, LineAxis, Marks, Panel, Scale, Series, Tone, mark_label,
};
use ncugate_model::Better;
use ncugate_model::number;
use ncugate_model::number::text::inside;
use ncugate_model::stats::{self, Pairing, Resampler};

/// Most variants that are ranked.
const MOST: usize = 40;

/// A variant and the ratio of its objective to the baseline's.
struct Price<'a> {
    variant: &'a VariantRow,
    value: f64,
    ratio: f64,
}

/// The chart, if the candidates are named changes of a baseline with the same parameters.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let base = run.variants.iter().find(|v| {
        v.standing == VariantRole::Baseline && !v.params.is_empty() && v.params.iter().all(Option::is_some)
    })?;
    let unit_value = run.objective_of(base).filter(|v| *v > 0.0)?;
    let candidates = run.variants.iter().filter(|v| v.rank.is_some());
    let mut prices: Vec<Price<'_>> = candidates
        .filter(|v| v.name.is_some() && v.params.len() == base.params.len())
        .filter_map(|variant| {
            let value = run.objective_of(variant).filter(|v| *v > 0.0)?;
            Some(Price { variant, value, ratio: value / unit_value })
        })
        .collect();
    if prices.len() < 2 || prices.len() > MOST {
        return None;
    }
    prices.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    let (title, unit) = run.described(run.objective);
    let better = run.metric(run.objective).map_or(Better::Context, |m| m.better);
    let worse = |price: &Price<'_>| match better {
        Better::Higher => price.ratio < 1.0,
        Better::Lower | Better::Context => price.ratio >= 1.0,
    };
    let bars = |wanted: bool| {
        let bar = |(row, price): (usize, &Price<'_>)| Bar {
            row,
            from: 1.0,
            to: price.ratio,
            label: format!(
                "{}, {}",
                mark_label(&price.variant.label, &[(title, price.value, unit)]),
                number::change(price.ratio)
            ),
        };
        Marks::Bars(prices.iter().enumerate().filter(|(_, price)| worse(price) == wanted).map(bar).collect())
    };
    let panel = Panel::new(
        ChartAxis::new(&format!("{} over that of {}", inside(title), base.short), "x", Scale::Log),
        ChartAxis::named("variant", prices.iter().map(|price| &price.variant.short)),
        vec![Series::new("worse", Tone::Bad, bars(true)), Series::new("better", Tone::Good, bars(false))],
    );
    let limits = vec![LimitLine { across: LineAxis::X, value: 1.0, label: base.short.to_string() }];
    let (first, last) = (prices.first()?, prices.last()?);
    let said = |price: &Price<'_>| format!("{} ({})", price.variant.short, number::change(price.ratio));
    Some(Chart {
        id: "sensitivity".to_owned(),
        title: format!("What does each change do to {}, compared with {}?", inside(title), base.short),
        note: format!("{} moves it most, {} least.", said(first), said(last)),
        alt: format!("{} changes ranked by what they do to {}.", prices.len(), inside(title)),
        table: ChartTable::new(
            ["rank", "variant", "what it changes", title, "change", "95 % interval"],
            prices.iter().enumerate().map(|(at, price)| {
                vec![
                    (at + 1).to_string(),
                    price.variant.label.to_string(),
                    changes(run, base, price.variant),
                    number::with_unit(price.value, unit),
                    number::change(price.ratio),
                    if run.objective == "latency_p50" { interval(run, base, price.variant) } else { "n/a".to_owned() },
                ]
            }),
        ),
        panels: vec![Panel { limits, ..panel }],
    })
}

/// Parameters in which a variant differs from the baseline: `UNCOALESCED=1`.
fn changes(run: &ChartedRun<'_>, base: &VariantRow, variant: &VariantRow) -> String {
    let pairs = run.params.iter().zip(base.params.iter().zip(&variant.params));
    let changed = pairs.filter(|(_, (ours, theirs))| ours != theirs);
    let words: Vec<String> =
        changed.map(|(name, (_, value))| format!("{name}={}", value.as_deref().unwrap_or("n/a"))).collect();
    if words.is_empty() { "flags alone".to_owned() } else { words.join(", ") }
}

/// Interval of the change of the median latency, if both have samples.
fn interval(run: &ChartedRun<'_>, base: &VariantRow, variant: &VariantRow) -> String {
    let (ours, theirs) = (run.samples(variant), run.samples(base));
    let pairing = if ours.len() == theirs.len() { Pairing::Rounds } else { Pairing::Independent };
    stats::compare(ours, theirs, pairing, &Resampler::default()).map_or_else(
        |_| "n/a".to_owned(),
        |compared| {
            let interval = compared.median_ratio.interval;
            format!("{} to {}", number::change(interval.low), number::change(interval.high))
        },
    )
}

//! Sections of a run that its page and its Markdown have alike, around the table of variants.

use super::deep_profile::DeepProfileRow;
use super::deltas::Delta;
use super::markdown::Charts;
use super::model::Measure;
use super::number::{self, Number};
use super::run_report::RunReport;
use super::toolchains;
use super::waiver_row::WaiverRow;
use super::{finding_row, line_pairs, matrix, ncu_advice};
use crate::chart::Chart;
use crate::document::{
    CellTone, CodeLine, Column, DocumentBlock, DocumentFact, DocumentTable, FindingBlock, Fold, Medium, Section,
    TableCell,
};
use crate::history::shape_comparison;
use ncu_explain::{ChangeDirection, FindingRow, MetricChange};
use ncugate_judge::{GateResult, SampleOrigin, StageResult};
use ncugate_model::{CleanText, Level, VariantId, Verdict};
use ncugate_phase::config::Waiver;

/// Most shapes whose times are shown at once.
const OPEN: usize = 16;
/// References in Markdown.
const REFERENCES: usize = 3;
/// Metrics of a comparison before the fold.
const COMPARED: usize = 12;
/// Findings in the fold.
const FOLDED: usize = 60;
/// The rule of findings by Nsight Compute.
const NCU: &str = "ncu";
/// Charts that belong to the deep profile.
const DEEP: [&str; 3] = ["stalls", "roofline", "timeline"];

/// Sections before the variants.
pub fn leading(report: &RunReport) -> Vec<Section> {
    let toolchains = toolchains::section(&report.toolchains);
    let sections =
        [findings(report), toolchains, waivers(report), stages(report), times(report), matrix::by_shape(report)];
    [gates(report)].into_iter().chain(sections.into_iter().flatten()).collect()
}

/// Sections after the variants.
pub fn following(report: &RunReport, charts: Charts) -> Vec<Section> {
    let sections = [
        report.steps.clone(),
        deltas(report),
        effects(report),
        report.search.clone(),
        measured_causes(report),
        report.deep_profile.as_ref().map(|profile| deep_profile(report, profile, charts)),
        drawings(report).filter(|_| charts == Charts::Beside),
        Some(provenance(report)),
    ];
    sections.into_iter().flatten().collect()
}

fn texts<const N: usize>(heads: [&str; N]) -> Vec<Column> {
    heads.map(Column::text).to_vec()
}

fn code(text: &CleanText) -> TableCell {
    TableCell::of(text.as_str(), CellTone::Code)
}

fn cell(text: &CleanText) -> TableCell {
    TableCell::new(text.as_str())
}

fn gates(report: &RunReport) -> Section {
    let none = || DocumentBlock::Text("The phase has no gates outside of tiers and stages.".to_owned());
    let mut blocks = vec![table_of_gates("Gates of the phase", &report.gates).unwrap_or_else(none)];
    let mut conditions = DocumentTable::new("Preconditions", texts(["", "precondition", "why"]));
    for condition in &report.preconditions {
        let verdict = TableCell::verdict(condition.verdict, condition.verdict.word());
        let name = TableCell::of(condition.name.as_str(), CellTone::Strong).note(condition.condition.to_string());
        conditions.row(vec![verdict, name, TableCell::new(condition.reason.as_str())]);
    }
    let is_held = report.preconditions.iter().all(|condition| condition.verdict == Verdict::Pass);
    let verb = if report.preconditions.len() == 1 { "holds" } else { "hold" };
    let title = format!("{} {verb}", number::counted(report.preconditions.len(), "precondition"));
    blocks.extend(conditions.block().map(|block| match is_held {
        true => Section::folded(title, Medium::File, vec![block]).into(),
        false => block,
    }));
    for tier in &report.tiers {
        let label = format!("Gates of tier {}", tier.name);
        let required = if tier.required { ", required" } else { "" };
        let title = format!("Tier {}: {}{required}", tier.name, tier.verdict);
        let table = table_of_gates(&label, &tier.gates).into_iter().collect();
        blocks.push(Section::folded(title, Medium::File, table).into());
    }
    if let Some(fallback) = &report.fallback {
        let quoted = |id: &VariantId| fallback.reason.replacen(&*id.0, &format!("`{id}`"), 1);
        let reason = fallback.variant.as_ref().map_or_else(|| fallback.reason.to_string(), quoted);
        let reason = DocumentBlock::Text(reason);
        let table = table_of_gates("Gates of the fallback", &fallback.gates);
        let title = format!("Fallback: {}", fallback.verdict);
        blocks.push(Section::new("", title, [reason].into_iter().chain(table).collect()).into());
    }
    Section::new("gates", "Gates", blocks)
}

fn table_of_gates(label: &str, gates: &[GateResult]) -> Option<DocumentBlock> {
    let numbers = ["measured", "limit", "margin"].map(Column::number);
    let columns = texts(["", "gate", "requires"]).into_iter().chain(numbers).chain(texts(["why"])).collect();
    let mut table = DocumentTable::new(label, columns);
    for gate in gates {
        let summary = &gate.summary;
        let state = match gate.waived {
            Some(_) => TableCell::of("waived", CellTone::Waived),
            None => TableCell::verdict(gate.verdict, gate.verdict.word()),
        };
        let name = TableCell::of(gate.name.as_str(), CellTone::Strong);
        let name = if gate.level == Level::Advisory { name.note("advisory") } else { name };
        let require = gate.require.shown().to_string();
        let require =
            if require == gate.name.as_str() { TableCell::default() } else { TableCell::of(require, CellTone::Code) };
        let written = |value: &Option<Number>, other: &Option<Number>| {
            let text = |n: &Number| match other {
                Some(other) => number::measured_and_limit(n.value, other.value, &gate.unit).0,
                None => number::with_unit(n.value, &gate.unit),
            };
            value.as_ref().map_or_else(TableCell::default, |n| TableCell::value(n.value, text(n)))
        };
        let difference = summary.interval.as_ref().zip(summary.limit.as_ref()).map(|((low, high), limit)| {
            let [low, high] = [low, high].map(|end| number::signed(end.value - limit.value, &gate.unit));
            format!("difference from the limit {low} to {high}, {}", number::counted(summary.samples, "sample"))
        });
        let margin = summary.margin.as_ref().map_or_else(TableCell::default, |margin| {
            let share = summary.margin_share.as_ref().map(|share| 100.0 * share.abs());
            let tone = if margin.value < 0.0 { CellTone::Worse } else { CellTone::Plain };
            TableCell { bar: share, tone, ..TableCell::value(margin.value, number::distance(margin.value, &gate.unit)) }
        });
        table.row(vec![
            state,
            name,
            require,
            written(&summary.measured, &summary.limit).note(difference.unwrap_or_default()),
            written(&summary.limit, &summary.measured),
            margin,
            TableCell::new(summary.why.as_str()).note(summary.scope_note.as_deref().unwrap_or_default()),
        ]);
    }
    table.block()
}

fn findings(report: &RunReport) -> Option<Section> {
    let unsaid = report.unsaid();
    if report.findings.is_empty() && unsaid.is_empty() && report.utilisation.rows.is_empty() {
        return None;
    }
    let medium =
        |medium, title: &str, block| DocumentBlock::from(Section { medium, ..Section::new("", title, vec![block]) });
    let mut blocks: Vec<DocumentBlock> = report
        .utilisation
        .clone()
        .block()
        .map(|block| medium(Medium::Page, "Utilisation", block))
        .into_iter()
        .collect();
    blocks.extend(unsaid.into_iter().map(DocumentBlock::Text));
    let (leading, rest): (Vec<&FindingRow>, Vec<&FindingRow>) =
        report.findings.iter().partition(|finding| finding.leading);
    let (of_ncu, folded): (Vec<&FindingRow>, Vec<&FindingRow>) =
        rest.into_iter().partition(|finding| finding.rule == NCU);
    let line = |finding: &&FindingRow| {
        let rest = match (&finding.symptom_of, &finding.saving) {
            (Some(cause), _) => format!(" A symptom of {cause}."),
            (None, Some(saving)) if finding.rule != NCU => format!(" Could save {}.", saving.words),
            (None, _) => String::new(),
        };
        format!("{} ({}): {}{rest}", finding.title, finding.variant, finding.sentence)
    };
    let shown: Vec<&FindingRow> =
        leading.iter().chain(of_ncu.iter().filter(|_| !leading.is_empty())).copied().collect();
    if let Some(first) = shown.first() {
        let common = Some(&first.variant).filter(|id| shown.iter().all(|row| row.variant == **id));
        blocks.extend(common.map(|id| DocumentBlock::Aside(format!("Of `{id}`:"))));
        blocks.push(DocumentBlock::Findings(shown.iter().map(|row| finding(row, common)).collect()));
    }
    if leading.is_empty() && !of_ncu.is_empty() {
        let about = "Each is an upper bound by one of ncu's rules; none of ncugate's rules confirms them here.";
        let lines =
            vec![DocumentBlock::Aside(about.to_owned()), DocumentBlock::List(of_ncu.iter().map(line).collect())];
        let title = format!("Estimates of Nsight Compute's rules: {}", of_ncu.len());
        blocks.push(Section::folded(title, Medium::File, lines).into());
    }
    if !folded.is_empty() {
        let title = format!("{} smaller findings, and findings of other variants", folded.len());
        let all = DocumentBlock::Aside("results.json has all findings with their evidence.".to_owned());
        let lines = folded.iter().take(FOLDED).map(line).collect();
        blocks.push(Section::folded(title, Medium::Page, vec![DocumentBlock::List(lines), all]).into());
        let more = number::counted(folded.len(), "finding");
        blocks.push(DocumentBlock::LeftOut(format!("{more}, smaller or about other variants: results.json has them.")));
    }
    Some(Section::new("findings", "Findings", blocks))
}

/// A finding with its source lines, and its variant if that is not common to all.
fn finding(row: &FindingRow, common: Option<&CleanText>) -> FindingBlock {
    let mut block = finding_row::block(row);
    block.lines.extend(row.lines.iter().map(|line| {
        let awaited = line.awaited.as_ref().map_or_else(String::new, |awaited| format!(": {}", awaited.words));
        format!("`{} {}`{awaited}", line.place, line.source.as_deref().unwrap_or_default().replace('`', "'"))
    }));
    block.lines.extend(common.is_none().then(|| format!("`{}`", row.variant)));
    block
}

fn waivers(report: &RunReport) -> Option<Section> {
    let mut table = DocumentTable::new("Waivers", texts(["gate", "variant", "until", "owner", "reason"]));
    for WaiverRow { waiver: Waiver { gate, variant, reason, owner, expires, .. }, expired } in &report.waivers {
        let until = TableCell::new(expires.to_string()).note(if *expired { "expired" } else { "" });
        table.row(vec![cell(gate), code(variant), until, cell(owner), cell(reason)]);
    }
    Some(Section::new("waivers", "Waivers", vec![table.block()?]))
}

fn stages(report: &RunReport) -> Option<Section> {
    let numbers = ["expected", "measured", "cumulative"].map(Column::number);
    let rest = ["kept", "other best variants", "why"].map(Column::text);
    let columns = texts(["stage", "variant"]).into_iter().chain(numbers).chain(rest).collect();
    let mut table = DocumentTable::new("Stages", columns);
    let factor = |n: f64| format!("{}×", number::plain(n));
    let times = |n: Option<f64>| n.map_or_else(|| TableCell::missing(""), |n| TableCell::value(n, factor(n)));
    let expected = |s: &StageResult| match s.expected {
        Some((low, high)) => TableCell::new(format!("{} to {}", factor(low), factor(high))),
        None => TableCell::missing(""),
    };
    for stage in &report.stages {
        let others = stage.elite.iter().filter(|id| stage.variant.as_ref() != Some(*id));
        let others: Vec<String> = others.map(|id| differing(id, stage.variant.as_ref())).collect();
        let own = stage.variant.as_ref().map_or_else(String::new, |id| format!("{id}: "));
        table.row(vec![
            TableCell::new(stage.name.as_str()),
            stage.variant.as_ref().map_or_else(|| TableCell::new("none"), |id| code(&id.0)),
            expected(stage),
            times(stage.measured),
            times(stage.cumulative),
            TableCell::new(if stage.accepted { "yes" } else { "no" }),
            TableCell::new(others.join("; ")),
            TableCell::new(if own.is_empty() { stage.reason.to_string() } else { stage.reason.replace(&own, "") }),
        ]);
    }
    let about = report.headline.stages.as_ref().map(|sentence| DocumentBlock::Text(sentence.to_string()));
    let blocks = about.into_iter().chain([table.block()?]).collect();
    Some(Section::new("stages", "Stages", blocks))
}

/// The parameters of an id that another one has with other values; the id, if it does not consist of parameters.
fn differing(id: &VariantId, from: Option<&VariantId>) -> String {
    let known: Vec<&str> = from.iter().flat_map(|from| from.0.split(',')).collect();
    let own: Vec<&str> = id.0.split(',').filter(|part| !known.contains(part)).collect();
    if own.is_empty() || !id.0.contains('=') { id.to_string() } else { own.join(", ") }
}

fn times(report: &RunReport) -> Option<Section> {
    let first = report.times.first()?.first.as_ref();
    let beside = first.map_or_else(String::new, |first| format!(", beside {}", first.name));
    let about = format!("median and 90th percentile{beside}");
    let section = Section::part("times", "Times by shape", about, shape_comparison::blocks(&report.times));
    Some(Section { fold: if report.times.len() <= OPEN { Fold::Open } else { Fold::Closed }, ..section })
}

fn deltas(report: &RunReport) -> Option<Section> {
    // Stored runs come last and are never left out.
    let stored = report.deltas.iter().filter(|delta| delta.about.is_some()).count();
    let room = REFERENCES.saturating_sub(stored).max(1);
    let mut baselines = 0;
    let mut blocks: Vec<DocumentBlock> = Vec::new();
    for delta in &report.deltas {
        baselines += usize::from(delta.about.is_none());
        let is_shown = delta.about.is_some() || baselines <= room;
        let medium = if is_shown { Medium::File } else { Medium::Page };
        blocks.push(Section { medium, ..against(delta) }.into());
    }
    if stored == 0 {
        let none = "No earlier run of this phase was measured under the same conditions.";
        blocks.push(DocumentBlock::Aside(none.to_owned()));
    }
    let names: Vec<String> = report.deltas.iter().map(Delta::marked).collect();
    let about = format!("the selected variant against {}", names.join(", "));
    (!report.deltas.is_empty()).then(|| Section::part("deltas", "Comparisons", about, blocks))
}

fn against(delta: &Delta) -> Section {
    let heads = [Column::number("selected"), Column::number(delta.marked()), Column::number("change")];
    let table = |rows: &[MetricChange]| {
        let mut table =
            DocumentTable::new(format!("Against {}", delta.against), [texts(["metric"]), heads.to_vec()].concat());
        for row in rows {
            let noise = if row.judged == ChangeDirection::WithinNoise { "within noise" } else { "" };
            let interval = row.interval.map(|interval| interval.text());
            let note = interval.iter().map(String::as_str).chain([noise]).filter(|part| !part.is_empty());
            let word = if noise.is_empty() { row.judged.word() } else { "" };
            let change = TableCell::of(row.change.as_str(), row.judged.into());
            let change = change.note(note.chain([word]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "));
            let [selected, other] = [&row.after, &row.before].map(|n| TableCell::value(n.value, n.text.as_str()));
            table.row(vec![TableCell::new(row.heading()), selected, other, change]);
        }
        table.block()
    };
    let mut blocks: Vec<DocumentBlock> =
        delta.about.iter().map(|about| DocumentBlock::Aside(about.to_string())).collect();
    if delta.origin == Some(SampleOrigin::Sweep) {
        blocks.push(DocumentBlock::Aside("Latencies of the sweep: not both were re-timed.".to_owned()));
    }
    if let [ours, theirs] = &delta.limited_by
        && !ours.is_empty()
        && !theirs.is_empty()
    {
        blocks.push(DocumentBlock::Aside(format!("Blocks per SM limited by {ours}; of the other by {theirs}.")));
    }
    let (first, rest) = delta.rows.split_at(delta.rows.len().min(COMPARED));
    blocks.extend(table(first));
    let title = format!("{} more metrics", rest.len());
    blocks.extend(table(rest).map(|block| Section::folded(title, Medium::Page, vec![block]).into()));
    let the = if delta.about.is_some() { "the " } else { "" };
    Section::new("", format!("Against {the}{} at shape {}", delta.marked(), delta.shape), blocks)
}

fn effects(report: &RunReport) -> Option<Section> {
    let means = "Means of variants that differ in one parameter, from its better value to its worse one.";
    let about = "on every gated metric, with 95 % intervals";
    let blocks = vec![DocumentBlock::Aside(means.to_owned()), report.effects.clone().block()?];
    Some(Section::part("effects", "Effects of parameters", about, blocks))
}

fn measured_causes(report: &RunReport) -> Option<Section> {
    let numbers = [Column::number("less time"), Column::number("interval"), Column::number("instructions")];
    let mut table = DocumentTable::new("Measured causes", texts(["copy"]).into_iter().chain(numbers).collect());
    for row in report.ablations.iter() {
        let Some(gain) = &row.gain else { continue };
        let percent = |value: f64| format!("{value:.1} %");
        let [low, high] = gain.interval;
        let changed = match gain.changed {
            0 => TableCell::missing("its launches differ"),
            changed => TableCell::value(f64::from(changed), changed.to_string()),
        };
        let left = if gain.left > 0 { format!("{} left", gain.left) } else { String::new() };
        table.row(vec![
            cell(&row.edit),
            TableCell::value(gain.percent, percent(gain.percent)).bar(gain.percent.max(0.0)),
            TableCell::new(format!("{low:.1} to {high:.1} %")),
            changed.note(left),
        ]);
    }
    let unmeasured = report.ablations.iter().filter(|row| row.gain.is_none());
    let unmeasured: Vec<String> = unmeasured.map(|row| format!("{}: {}", row.edit, row.says)).collect();
    let about = "Copies of the selected variant's machine code without one cost each, timed against it. They are no variants: nothing checks them, and no gate reads their times.";
    let mut blocks = vec![DocumentBlock::Aside(about.to_owned()), table.block()?];
    blocks.extend((!unmeasured.is_empty()).then_some(DocumentBlock::List(unmeasured)));
    Some(Section::part("measured-causes", "Measured causes", "what each cost is worth", blocks))
}

fn deep_profile(report: &RunReport, profile: &DeepProfileRow, charts: Charts) -> Section {
    let names: Vec<&str> = profile.variants.iter().map(|variant| variant.label.as_str()).collect();
    let mut blocks =
        vec![DocumentBlock::Text(format!("{} at shape {}. {}", names.join(" and "), profile.shape, profile.note))];
    let drawn: Vec<Chart> =
        report.charts.iter().rev().filter(|chart| DEEP.contains(&chart.id.as_str())).cloned().collect();
    if charts == Charts::Beside && !drawn.is_empty() {
        blocks.push(DocumentBlock::Figures(drawn));
    }
    let heads = || profile.variants.iter().map(|variant| Column::number(variant.short.as_str()));
    let value = |value: &Measure, unit: &str| match value {
        Measure::Number(number) => TableCell::with_unit(Some(number.value), unit),
        Measure::Missing(why) => TableCell::missing(why.as_str()),
    };
    let mut states = DocumentTable::new("Warp states", texts(["warp state"]).into_iter().chain(heads()).collect());
    for state in profile.states() {
        let cells = state.values.iter().map(|cycles| value(cycles, ""));
        states.row([TableCell::new(state.title.trim_start_matches("Stall: "))].into_iter().chain(cells).collect());
    }
    let about = DocumentBlock::Aside("Cycles for each issued instruction, the longest first.".to_owned());
    blocks.extend(states.block().into_iter().flat_map(|block| [about.clone(), block]));
    blocks.extend(profile.pairs.iter().map(|pair| line_pairs::section(pair, Medium::Page).into()));
    blocks.extend(profile.advice.iter().flat_map(ncu_advice::blocks));
    let mut counters = DocumentTable::new("Counters", texts(["metric"]).into_iter().chain(heads()).collect());
    for metric in profile.figures() {
        let cells = metric.values.iter().map(|one| value(one, &metric.unit));
        counters.row([cell(&metric.title)].into_iter().chain(cells).collect());
    }
    blocks.extend(counters.block().map(|block| Section::folded("Counters", Medium::Page, vec![block]).into()));
    let about = "warp states, source lines, Nsight Compute's rules, counters";
    Section::part("deep-profile", "Deep profile", about, blocks)
}

fn drawings(report: &RunReport) -> Option<Section> {
    let is_deep = |chart: &&Chart| report.deep_profile.is_some() && DEEP.contains(&chart.id.as_str());
    let charts: Vec<Chart> = report.charts.iter().filter(|chart| !is_deep(chart)).cloned().collect();
    let about = charts.len().to_string();
    (!charts.is_empty()).then(|| Section::part("charts", "Charts", about, vec![DocumentBlock::Figures(charts)]))
}

fn provenance(report: &RunReport) -> Section {
    let of =
        |label: &CleanText, text: String| DocumentFact { label: label.to_string(), text, ..DocumentFact::default() };
    let provenance = &report.provenance;
    let lines = |text: &str| DocumentBlock::Code(text.lines().map(CodeLine::plain).collect());
    let part = |title: &str, block: DocumentBlock| DocumentBlock::from(Section::new("", title, vec![block]));
    let facts = |pairs: &[(CleanText, CleanText)]| {
        DocumentBlock::Facts(pairs.iter().map(|(label, value)| of(label, value.to_string())).collect())
    };
    let took = provenance.stages.iter().map(|(stage, seconds)| of(stage, number::seconds(seconds.value)));
    let reproduce: Vec<CodeLine> = report.reproduce.iter().map(|line| CodeLine::plain(line.as_str())).collect();
    let missing = match report.missing.as_slice() {
        [] => DocumentBlock::Aside("Nothing: no build, check, timing or profile failed.".to_owned()),
        missing => DocumentBlock::List(missing.iter().map(CleanText::to_string).collect()),
    };
    let blocks = vec![
        facts(&provenance.facts),
        part("Time", DocumentBlock::Facts(took.collect())),
        part("Sources", facts(&provenance.hashes)),
        part("Command line", lines(&provenance.argv)),
        part("How to reproduce", DocumentBlock::Code(reproduce)),
        part("What is missing", missing),
        Section::folded("The phase as run", Medium::Page, vec![lines(&provenance.config)]).into(),
    ];
    Section::part("provenance", "Provenance", "machine, tools, sources, commands, missing values", blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_variant_is_named_by_what_differs() {
        let id = |text: &str| VariantId(text.into());
        let apart = |text: &str| differing(&id(text), Some(&id("A=1,B=2,C=3")));
        assert_eq!(["A=1,B=4,C=5", "A=1,B=2", "plain"].map(apart), ["B=4, C=5", "A=1,B=2", "plain"]);
        assert_eq!(differing(&id("A=1"), None), "A=1");
    }
}

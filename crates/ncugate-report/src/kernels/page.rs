//! The page as words and formatted numbers: one report, or one compared with another.

use super::group::{LaunchGroup, ProfiledReport};
use super::pair::{GroupPair, both_sides, paired};
use super::source::{self, SourceView};
use crate::chart::{Chart, kernel_roofline};
use crate::diagnosis_row::DiagnosisRow;
use crate::explain::{self, Finding, HotLine};
use crate::launch_shape::extent;
use crate::metric_change::{MetricChange, MetricFacts, ranges};
use crate::ncu_advice::{NcuAdvice, advice};
use crate::{number, text};
use indexmap::IndexSet;
use ncu_rep::SourceFile;
use ncugate_model::metric::{Catalogue, id};
use ncugate_model::{Better, Cell, MetricId};
use serde::Serialize;

/// Most kernels with a separate section; those with the longest total time are chosen.
const DETAILED: usize = 40;
const FINDINGS: usize = 4;
/// Source lines and instructions listed if the report does not hold the text of the file.
const HOTTEST: usize = 12;

/// Throughputs relative to the peak of the chip, in percent.
const LIGHT: [MetricId; 8] = [
    id::SM_PCT,
    id::MEMORY_PCT,
    id::DRAM_PCT,
    id::TENSOR_PCT,
    id::ISSUE_SLOT_UTILISATION,
    id::ACHIEVED_OCCUPANCY,
    id::L1_HIT_PCT,
    id::L2_HIT_PCT,
];
/// Columns of the table of kernels, after its times.
const COLUMNS: [MetricId; 5] = [id::SM_PCT, id::MEMORY_PCT, id::DRAM_PCT, id::ACHIEVED_OCCUPANCY, id::REGISTERS];
/// Prefix of the names of warp states.
const STATE: &str = "stall_";

#[derive(Debug, Clone, Serialize)]
pub struct KernelsPage {
    pub title: String,
    /// Where the time went, in a sentence.
    pub sentence: String,
    /// The reports: one, or the reference and the compared one.
    pub sides: Vec<SideFacts>,
    /// Information missing from the reports, and how to collect it.
    pub notes: Vec<String>,
    /// Heads of the metric columns of the table.
    pub columns: Vec<String>,
    /// Kernels, longest total time first.
    pub rows: Vec<KernelRow>,
    /// Kernels with a separate section.
    pub kernels: Vec<KernelSection>,
    /// Number of kernels without a section.
    pub left_out: usize,
    /// The roofline, if operations, bytes and peaks were counted.
    #[serde(skip)]
    pub roofline: Option<Chart>,
}

/// A report in words.
#[derive(Debug, Clone, Serialize)]
pub struct SideFacts {
    /// The name given by the reader.
    pub name: String,
    pub about: String,
}

/// A kernel in the table.
#[derive(Debug, Clone, Serialize)]
pub struct KernelRow {
    /// Its section, if it has one.
    pub anchor: Option<String>,
    /// Its name, short enough for a table.
    pub label: String,
    pub name: String,
    pub nvtx: String,
    /// The difference in launch between the sides; empty if they are alike.
    pub unlike: String,
    /// Number of launches on each side.
    pub launches: Vec<Option<String>>,
    /// Sum of the durations on each side.
    pub total: Vec<Option<String>>,
    /// Percent of the time of all kernels, for the last side.
    pub share: Option<f64>,
    /// Change of the median duration, if both sides have it.
    pub change: Option<MetricChange>,
    /// Median duration on each side.
    pub median: Vec<Option<String>>,
    /// Medians of the columns, for the last side that has them.
    pub values: Vec<Option<String>>,
}

/// A kernel in full.
#[derive(Debug, Clone, Serialize)]
pub struct KernelSection {
    /// Its id on the page.
    pub anchor: String,
    pub name: String,
    pub nvtx: String,
    pub launch: String,
    /// The difference in launch between the sides; empty if they are alike.
    pub unlike: String,
    /// Rules that could not be evaluated, and how to collect the missing counters.
    pub unsaid: String,
    /// Throughputs on each side.
    pub light: Vec<LightBar>,
    /// Its limiters, most severe first.
    pub findings: Vec<KernelFinding>,
    /// States of warps, longest first.
    pub states: Vec<StateBar>,
    /// The source file with heat, if the report holds it.
    pub source: Option<SourceView>,
    /// ncu's rules, hottest lines and instructions.
    pub advice: Option<NcuAdvice>,
    /// Catalogue metrics on each side.
    pub counters: Vec<CounterRow>,
}

#[derive(Debug, Clone, Serialize)]
pub struct LightBar {
    pub title: String,
    /// Percent, one value for each side.
    pub values: Vec<Option<LightValue>>,
}

/// A throughput on one side.
#[derive(Debug, Clone, Serialize)]
pub struct LightValue {
    /// Percent, clamped to 0 to 100.
    pub percent: f64,
    /// The formatted value.
    pub text: String,
}

/// A finding about a kernel.
#[derive(Debug, Clone, Serialize)]
pub struct KernelFinding {
    /// Short title.
    pub title: String,
    pub sentence: String,
    pub advice: String,
    /// How much it matters.
    pub severity: explain::Severity,
}

/// A state of warps.
#[derive(Debug, Clone, Serialize)]
pub struct StateBar {
    pub title: String,
    /// Percent of the cycles between two issues.
    pub percent: f64,
    /// Cycles per issued instruction.
    pub cycles: String,
}

/// A metric of a kernel.
#[derive(Debug, Clone, Serialize)]
pub struct CounterRow {
    pub title: String,
    /// One value for each side.
    pub values: Vec<Option<String>>,
    /// The change, if both sides have the metric.
    pub change: Option<MetricChange>,
}

/// The reports of a page; the last one is the subject.
struct Sides<'a> {
    reports: &'a [ProfiledReport],
    pairs: Vec<GroupPair<'a>>,
}

impl KernelsPage {
    /// The page of one report, or of two, the second compared with the first. `files` gives the source files that the
    /// last report holds for a launch.
    pub fn new<'f>(reports: &[ProfiledReport], files: &dyn Fn(u32) -> Vec<SourceFile<'f>>) -> Self {
        let sides = Sides { reports, pairs: paired(reports) };
        let pairs = &sides.pairs;
        let kernels =
            pairs.iter().take(DETAILED).enumerate().map(|(at, pair)| sides.section(at, pair, files)).collect();
        let columns: Vec<MetricId> = COLUMNS.into_iter().filter(|metric| sides.has(metric)).collect();
        let rows = pairs.iter().enumerate().map(|(at, pair)| sides.row(at, pair, &columns)).collect();
        let file = |report: &'_ ProfiledReport| report.name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let names: Vec<String> = reports.iter().map(file).collect();
        Self {
            title: match names.as_slice() {
                [a, b] if a == b => format!("{}, B against A", a),
                [a, b] => format!("{b} against {a}"),
                names => names.join(", "),
            },
            sentence: sides.sentence(),
            sides: reports.iter().map(facts).collect(),
            notes: sides.notes(),
            columns: columns.iter().map(|metric| described(metric).0.to_owned()).collect(),
            rows,
            kernels,
            left_out: pairs.len().saturating_sub(DETAILED),
            roofline: reports.last().and_then(roofline),
        }
    }
}

fn facts(report: &ProfiledReport) -> SideFacts {
    let devices: Vec<&str> = report.devices.iter().map(String::as_str).collect();
    let device = if devices.is_empty() { "an unknown device".to_owned() } else { devices.join(", ") };
    let tool = report.ncu.as_ref().map_or_else(String::new, |version| format!(", ncu {version}"));
    let launches = match report.launches {
        1 => "1 launch".to_owned(),
        many => format!("{} launches", number::plain(many as f64)),
    };
    SideFacts { name: report.name.clone(), about: format!("{launches} on {device}{tool}") }
}

/// Title, unit and direction of a catalogue metric.
fn described(name: &str) -> (&str, &str, Better) {
    let known = Catalogue::embedded().get(name);
    known.map_or((name, "", Better::Context), |metric| (metric.title.as_str(), metric.unit.as_str(), metric.better))
}

fn written(group: &LaunchGroup, metric: &str) -> Option<String> {
    group.median(metric).map(|value| number::with_unit(value, described(metric).1))
}

/// Findings about the median launch of a group.
fn findings(group: &LaunchGroup) -> Vec<KernelFinding> {
    let found = group.diagnosed.iter().flat_map(|launch| &launch.findings).filter(|f| f.symptom_of.is_none());
    let row = |finding: &Finding| KernelFinding {
        title: text::line(&finding.cause),
        sentence: text::sentence(&text::line(&finding.sentence)),
        advice: finding.advice.first().map_or_else(String::new, |advice| text::sentence(&text::line(advice))),
        severity: finding.severity,
    };
    found.take(FINDINGS).map(row).collect()
}

impl Sides<'_> {
    fn has(&self, metric: &str) -> bool {
        self.reports.iter().flat_map(|report| &report.groups).any(|group| group.values.contains_key(metric))
    }

    /// A group's name, short enough for a table, with its difference from other groups of the same kernel.
    fn label(&self, side: usize, group: &LaunchGroup) -> String {
        let name = text::clip_middle(&group.key.kernel, text::LABEL);
        match self.reports[side].distinction(&group.key).as_str() {
            "" => name,
            apart => format!("{name}, {apart}"),
        }
    }

    /// `3 kernels take 41.2 µs in all; 62 % of it is in 'softmax'.`
    fn sentence(&self) -> String {
        let Some(report) = self.reports.last() else { return String::new() };
        if let [before, after] = self.reports {
            return both_sides(&self.pairs, before, after);
        }
        let kernels: IndexSet<&str> = report.groups.iter().map(|group| group.key.kernel.as_str()).collect();
        let many = number::counted(kernels.len(), "kernel");
        let Some(total) = report.total().filter(|total| *total > 0.0) else {
            return format!("{many}; the durations of its launches were not collected.");
        };
        let first = report.groups.first();
        let most = first.and_then(|group| Some((group, group.total(&id::DURATION)?)));
        let most = most.map_or_else(String::new, |(group, time)| {
            format!("; {:.0} % of it in {}", 100.0 * time / total, self.label(0, group))
        });
        let verb = if kernels.len() == 1 { "takes" } else { "take" };
        format!("{many} {verb} {} under ncu{most}.", number::with_unit(total, "ns"))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for report in self.reports {
            let has = |name: &str| report.groups.iter().any(|group| group.values.contains_key(name));
            let any = |is: &dyn Fn(&explain::NcuObservations) -> bool| {
                report.groups.iter().filter_map(LaunchGroup::said).any(is)
            };
            let mut lacks: Vec<&str> = Vec::new();
            lacks.extend((!has(&id::DURATION)).then_some("durations"));
            lacks.extend((!has(&id::SM_PCT)).then_some("throughputs"));
            lacks.extend((!any(&|said| !said.rules.is_empty())).then_some("ncu's rules"));
            lacks.extend((!any(&|said| !said.hot.is_empty())).then_some("samples of instructions"));
            if !lacks.is_empty() {
                let list = lacks.join(", ");
                notes.push(format!("{} holds no {list}: `ncu --set full` collects all of it", report.name));
            }
        }
        if let [a, b] = self.reports {
            if a.devices != b.devices {
                notes.push("the reports are of different devices: their times do not compare".to_owned());
            }
            if a.ncu != b.ncu {
                notes.push("the reports were made by different versions of ncu".to_owned());
            }
        }
        notes
    }

    fn row(&self, at: usize, pair: &GroupPair<'_>, columns: &[MetricId]) -> KernelRow {
        let groups = &pair.groups;
        let ours = groups.iter().enumerate().rev().find_map(|(side, group)| Some((side, (*group)?)));
        let total = self.reports.last().and_then(ProfiledReport::total).filter(|total| *total > 0.0);
        let time = groups.last().copied().flatten().and_then(|group| group.total(&id::DURATION));
        KernelRow {
            anchor: (at < DETAILED).then(|| anchor(at)),
            label: ours.map_or_else(String::new, |(side, group)| self.label(side, group)),
            name: pair.key.kernel.clone(),
            nvtx: pair.key.nvtx.clone(),
            unlike: pair.unlike.clone(),
            launches: groups.iter().map(|g| g.map(|g| number::plain(g.launches as f64))).collect(),
            total: groups
                .iter()
                .map(|group| Some(number::with_unit(group.as_ref()?.total(&id::DURATION)?, "ns")))
                .collect(),
            share: time.zip(total).map(|(time, total)| 100.0 * time / total),
            change: change(groups, &id::DURATION),
            median: groups.iter().map(|group| written(group.as_ref()?, &id::DURATION)).collect(),
            values: columns.iter().map(|metric| written(ours?.1, metric)).collect(),
        }
    }

    fn section<'f>(
        &self,
        at: usize,
        pair: &GroupPair<'_>,
        files: &dyn Fn(u32) -> Vec<SourceFile<'f>>,
    ) -> KernelSection {
        let groups = &pair.groups;
        // Uses the last report that has it, which is the subject of a comparison.
        let found = groups.iter().enumerate().rev().find_map(|(side, group)| Some((side, (*group)?)));
        let said = found.and_then(|(_, group)| group.said());
        let is_last = found.is_some_and(|(side, _)| side + 1 == self.reports.len());
        let lines: &[HotLine] = said.map_or(&[], |said| &said.lines);
        let source = found.filter(|_| is_last && !lines.is_empty());
        let source = source.and_then(|(_, group)| source::view(lines, &files(group.median_launch)));
        let diagnosed = found.and_then(|(_, group)| group.diagnosed.as_ref());
        KernelSection {
            anchor: anchor(at),
            name: pair.key.kernel.clone(),
            nvtx: pair.key.nvtx.clone(),
            launch: found.map_or_else(String::new, |(_, group)| launch(group)),
            unlike: pair.unlike.clone(),
            unsaid: diagnosed.map_or_else(String::new, |launch| DiagnosisRow::of_launch(launch).sentence.to_string()),
            light: light(groups),
            findings: found.map_or_else(Vec::new, |(_, group)| findings(group)),
            states: found.map_or_else(Vec::new, |(_, group)| states(group)),
            advice: said.map(|said| {
                let mut shown = said.clone();
                // If the source file is available, its lines are shown there instead.
                shown.lines.truncate(if source.is_some() { 0 } else { HOTTEST });
                advice(&shown)
            }),
            source,
            counters: counters(groups),
        }
    }
}

fn anchor(at: usize) -> String {
    format!("kernel-{}", at + 1)
}

/// `12 launches, grid 64×8, block 128, 32 registers; findings are about launch 7`.
fn launch(group: &LaunchGroup) -> String {
    let shape = &group.key.shape;
    let sized =
        |what: &str, dims: Option<[u32; 3]>| dims.map_or_else(String::new, |dims| format!(", {what} {}", extent(dims)));
    let registers = shape.registers.map_or_else(String::new, |many| format!(", {many} registers a thread"));
    let bytes = shape.shared.iter().flatten().sum::<u64>();
    let shared =
        if bytes > 0 { format!(", {} bytes of shared memory", number::plain(bytes as f64)) } else { String::new() };
    let launches = match group.launches {
        1 => "1 launch".to_owned(),
        many => format!("{} launches", number::plain(many as f64)),
    };
    let shown = match group.launches {
        1 => String::new(),
        _ => format!("; values are medians over launches, findings are about launch {}", group.median_launch),
    };
    let sizes = [sized("grid", shape.grid), sized("block", shape.block), sized("cluster", shape.cluster)].concat();
    format!("{launches}{sizes}{registers}{shared}{shown}")
}

fn light(groups: &[Option<&LaunchGroup>]) -> Vec<LightBar> {
    let value = |group: &Option<&LaunchGroup>, metric: &str| {
        let percent = group.as_ref()?.median(metric)?;
        Some(LightValue { percent: percent.clamp(0.0, 100.0), text: number::share(percent) })
    };
    let bar = |metric: &MetricId| LightBar {
        title: described(metric).0.to_owned(),
        values: groups.iter().map(|group| value(group, metric)).collect(),
    };
    LIGHT.iter().map(bar).filter(|bar| bar.values.iter().any(Option::is_some)).collect()
}

fn states(group: &LaunchGroup) -> Vec<StateBar> {
    let names = group.values.keys().filter(|name| name.starts_with(STATE));
    let mut states: Vec<(&str, f64)> = names
        .filter_map(|name| Some((name.as_str(), group.median(name)?)))
        .filter(|(_, cycles)| *cycles > 0.0)
        .collect();
    states.sort_by(|a, b| b.1.total_cmp(&a.1));
    let total: f64 = states.iter().map(|(_, cycles)| cycles).sum();
    let bar = |(name, cycles): &(&str, f64)| StateBar {
        title: described(name).0.trim_start_matches("Stall: ").to_owned(),
        percent: 100.0 * cycles / total,
        cycles: number::plain(*cycles),
    };
    states.iter().map(bar).collect()
}

fn counters(groups: &[Option<&LaunchGroup>]) -> Vec<CounterRow> {
    let row = |name: &str| CounterRow {
        title: described(name).0.to_owned(),
        values: groups.iter().map(|group| written(group.as_ref()?, name)).collect(),
        change: change(groups, name),
    };
    let names = Catalogue::embedded().names().filter(|name| !name.starts_with(STATE));
    names.map(row).filter(|row| row.values.iter().any(Option::is_some)).collect()
}

/// The change of a metric from the first of two sides to the second.
fn change(groups: &[Option<&LaunchGroup>], metric: &str) -> Option<MetricChange> {
    let [Some(before), Some(after)] = groups else { return None };
    let (title, unit, better) = described(metric);
    let facts = MetricFacts { name: metric, title, unit, better };
    let noise = ranges(metric, before.values.get(metric)?, after.values.get(metric)?);
    Some(MetricChange::new(facts, before.median(metric)?, after.median(metric)?, noise))
}

/// The roofline over all kernels of a report, with durations under ncu as times.
fn roofline(report: &ProfiledReport) -> Option<Chart> {
    let (mut table, shape, ids) = report.table();
    let micros = |group: &LaunchGroup| match group.median(&id::DURATION) {
        Some(nanos) => Cell::Value(nanos / 1e3),
        None => Cell::Missing("not collected".into()),
    };
    table.set_column(&id::LATENCY_P50, report.groups.iter().map(micros).collect());
    let roof = explain::roofline(&table, &shape, &ids, None)?;
    kernel_roofline(&roof, &|place| {
        let group = place.parse::<usize>().ok().and_then(|at| report.groups.get(at.checked_sub(1)?));
        group.map_or_else(String::new, |group| {
            let name = text::clip_middle(&group.key.kernel, SHORT);
            let apart = Some(report.distinction(&group.key)).filter(|apart| !apart.is_empty());
            let nvtx = Some(text::clip_middle(&group.key.nvtx, SHORT)).filter(|nvtx| !nvtx.is_empty());
            let apart = apart.map_or_else(String::new, |apart| format!(", {apart}"));
            format!("{name}{apart}{}", nvtx.map_or_else(String::new, |nvtx| format!(" in {nvtx}")))
        })
    })
}

/// Longest name in a legend, in characters.
const SHORT: usize = 36;

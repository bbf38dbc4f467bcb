//! The page of a report as words and formatted numbers.

use super::group::{DIAGNOSED, LaunchGroup, ProfiledReport};
use super::memory::MemoryChart;
use super::source::{self, SourceView};
use crate::chart::{Chart, KernelPoint, kernel_roofline, launch_timeline};
use crate::diagnosis_row::DiagnosisRow;
use crate::explain::{Ceiling, Finding, HotLine};
use crate::explanation::quoted;
use crate::finding_row::FindingRow;
use crate::launch_shape::extent;
use crate::ncu_advice::{NcuAdvice, advice};
use crate::number;
use indexmap::{IndexMap, IndexSet};
use ncu_rep::SourceFile;
use ncugate_model::metric::{Catalogue, MetricError, id};
use ncugate_model::stats::median;
use ncugate_model::{CleanText, MetricId};
use serde::Serialize;

/// Rows of the table, and sections, shown before "show all".
const SHOWN: usize = 15;
/// Findings shown without unfolding.
const FINDINGS: usize = 3;
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
    /// The file's name.
    pub title: CleanText,
    /// Where the time went, in a sentence.
    pub sentence: CleanText,
    /// Launches, device and version of ncu.
    pub about: CleanText,
    /// Information missing from the report, and how to collect it.
    pub notes: Vec<CleanText>,
    /// Metric columns of the table.
    pub columns: Vec<MetricHead>,
    /// Kernels, longest total time first.
    pub rows: Vec<KernelRow>,
    /// NVTX ranges of the rows; empty if there is only one.
    pub ranges: IndexSet<CleanText>,
    /// Kernels with a separate section.
    pub kernels: Vec<KernelSection>,
    /// Number of kernels without a section.
    pub left_out: usize,
    /// Rows shown before "show all".
    pub shown: usize,
    /// The roofline, or why it is missing.
    #[serde(skip)]
    pub roofline: Result<Chart, CleanText>,
}

/// The head of a metric column.
#[derive(Debug, Clone, Serialize)]
pub struct MetricHead {
    pub title: CleanText,
    /// The definition of the metric.
    pub meaning: CleanText,
}

/// A value for the reader, and the number to sort by.
#[derive(Debug, Clone, Serialize)]
pub struct KernelCell {
    pub value: f64,
    pub text: CleanText,
}

/// A kernel in the table.
#[derive(Debug, Clone, Serialize)]
pub struct KernelRow {
    /// Its section, if it has one.
    pub anchor: Option<CleanText>,
    /// Its short name.
    pub label: CleanText,
    /// Its demangled name.
    pub name: CleanText,
    pub nvtx: CleanText,
    pub launches: KernelCell,
    /// Percent of the time of all kernels.
    pub share: Option<KernelCell>,
    /// Median duration.
    pub median: Option<KernelCell>,
    /// Sum of the durations.
    pub total: Option<KernelCell>,
    /// Medians of the columns.
    pub values: Vec<Option<KernelCell>>,
}

/// A kernel in full.
#[derive(Debug, Clone, Serialize)]
pub struct KernelSection {
    /// Its id on the page.
    pub anchor: CleanText,
    /// Its short name.
    pub label: CleanText,
    /// Its demangled name.
    pub name: CleanText,
    pub nvtx: CleanText,
    /// Total time and share: `540 µs, 62 %`; empty if the durations were not collected.
    pub time: CleanText,
    pub launch: CleanText,
    /// Outcome of the rules, and the rules that could not be evaluated.
    pub diagnosis: Option<DiagnosisRow>,
    /// Its limiters, most severe first.
    pub findings: Vec<FindingRow>,
    /// Findings that are folded away.
    pub folded: Vec<FindingRow>,
    /// Estimates of ncu's rules, if these rules found nothing or mostly lack counters.
    pub quoted: Vec<FindingRow>,
    /// Throughputs.
    pub light: Vec<ShareBar>,
    /// States of warps, longest first.
    pub states: Vec<ShareBar>,
    pub memory: Option<MemoryChart>,
    /// Samples over the launch, if ncu took them.
    #[serde(skip)]
    pub timeline: Option<Chart>,
    /// The source file with heat, if the report holds it.
    pub source: Option<SourceView>,
    /// ncu's rules, hottest lines and instructions.
    pub advice: Option<NcuAdvice>,
    /// Catalogue metrics.
    pub counters: Vec<CounterRow>,
}

/// A value as a bar.
#[derive(Debug, Clone, Serialize)]
pub struct ShareBar {
    pub title: CleanText,
    /// Percent, clamped to 0 to 100.
    pub percent: f64,
    /// The formatted value.
    pub text: CleanText,
}

/// A metric of a kernel.
#[derive(Debug, Clone, Serialize)]
pub struct CounterRow {
    pub title: CleanText,
    pub text: CleanText,
}

impl KernelsPage {
    /// The page of a report. `files` gives the source files that the report holds for a launch.
    pub fn new<'f>(report: &ProfiledReport, files: &dyn Fn(u32) -> Vec<SourceFile<'f>>) -> Self {
        let groups = &report.groups;
        let total = report.total().filter(|total| *total > 0.0);
        let has = |metric: &MetricId| groups.iter().any(|group| group.values.contains_key(&**metric));
        let columns: Vec<MetricId> = COLUMNS.into_iter().filter(has).collect();
        let rows: Vec<KernelRow> =
            groups.iter().enumerate().map(|(at, group)| row(at, group, total, &columns)).collect();
        let mut ranges: IndexSet<CleanText> = rows.iter().map(|row| row.nvtx.clone()).collect();
        if ranges.len() < 2 {
            ranges.clear();
        }
        let sections = groups.iter().take(DIAGNOSED).enumerate();
        Self {
            title: report.name.rsplit(['/', '\\']).next().unwrap_or_default().into(),
            sentence: sentence(report, total),
            about: about(report),
            notes: notes(report),
            columns: columns.iter().map(head).collect(),
            kernels: sections.map(|(at, group)| section(at, group, total, files)).collect(),
            left_out: rows.len().saturating_sub(DIAGNOSED),
            rows,
            ranges,
            shown: SHOWN,
            roofline: roofline(report),
        }
    }
}

/// `12 launches on NVIDIA H200, ncu 2025.3.1.0, clocks locked to base (ncu's default)`.
fn about(report: &ProfiledReport) -> CleanText {
    let devices: Vec<&str> = report.devices.iter().map(CleanText::as_str).collect();
    let device = if devices.is_empty() { "an unknown device".to_owned() } else { devices.join(", ") };
    let tool = report.ncu.as_ref().map_or_else(String::new, |version| format!(", ncu {version}"));
    let clocks = report.clocks.as_ref().map_or_else(String::new, |clocks| format!(", {clocks}"));
    CleanText::whole(&format!("{} on {device}{tool}{clocks}", number::counted(report.launches, "launch")))
}

/// Title and unit of a catalogue metric.
fn described(name: &str) -> (&str, &str) {
    let known = Catalogue::embedded().get(name);
    known.map_or((name, ""), |metric| (metric.title.as_str(), metric.unit.as_str()))
}

fn head(metric: &MetricId) -> MetricHead {
    let meaning = Catalogue::embedded().get(metric).map_or("", |metric| metric.description.as_str());
    MetricHead { title: described(metric).0.into(), meaning: meaning.into() }
}

fn cell(value: f64, unit: &str) -> KernelCell {
    KernelCell { value, text: number::with_unit(value, unit).into() }
}

fn written(group: &LaunchGroup, metric: &str) -> Option<KernelCell> {
    group.median(metric).map(|value| cell(value, described(metric).1))
}

/// `3 kernels take 41.2 µs under ncu, 62 % of it in softmax<float>.`
fn sentence(report: &ProfiledReport, total: Option<f64>) -> CleanText {
    let kernels: IndexSet<&CleanText> = report.groups.iter().map(|group| &group.key.kernel).collect();
    let many = number::counted(kernels.len(), "kernel");
    let Some(total) = total else {
        let verb = if kernels.len() == 1 { "has" } else { "have" };
        return CleanText::whole(&format!("{many} {verb} no time: durations were not collected for every launch."));
    };
    let first = report.groups.first().filter(|_| report.groups.len() > 1);
    let most = first.and_then(|group| Some((group, group.total(&id::DURATION)?)));
    let most = most.map_or_else(String::new, |(group, time)| {
        format!(", {} of it in {}", number::share(100.0 * time / total), group.label)
    });
    let verb = if kernels.len() == 1 { "takes" } else { "take" };
    let together = report.together().map_or_else(String::new, |row| format!(" {}: {}", row.title, row.sentence));
    CleanText::whole(&format!("{many} {verb} {} under ncu{most}.{together}", number::with_unit(total, "ns")))
}

fn notes(report: &ProfiledReport) -> Vec<CleanText> {
    let has = |name: &str| report.groups.iter().any(|group| group.values.contains_key(name));
    let mut said = report.groups.iter().filter_map(LaunchGroup::said);
    let mut lacks: Vec<&str> = Vec::new();
    lacks.extend((!has(&id::DURATION)).then_some("durations"));
    lacks.extend((!has(&id::SM_PCT)).then_some("throughputs"));
    lacks.extend((!said.clone().any(|said| !said.rules.is_empty())).then_some("ncu's rules"));
    lacks.extend((!said.any(|said| !said.hot.is_empty())).then_some("samples of instructions"));
    let outside = report.outside.map(|cc| {
        let problem = MetricError::Chip { cc };
        CleanText::whole(&format!("{problem}; this page has the metrics that are the same on all chips"))
    });
    let list = (!lacks.is_empty()).then(|| {
        let list = lacks.join(", ");
        CleanText::whole(&format!("The report holds no {list}: `ncu --set full` collects all of it"))
    });
    outside.into_iter().chain(list).collect()
}

fn row(at: usize, group: &LaunchGroup, total: Option<f64>, columns: &[MetricId]) -> KernelRow {
    let time = group.total(&id::DURATION);
    let share = time.zip(total).map(|(time, total)| 100.0 * time / total);
    KernelRow {
        anchor: (at < DIAGNOSED).then(|| anchor(at)),
        label: group.label.clone(),
        name: group.key.kernel.clone(),
        nvtx: group.key.nvtx.clone(),
        launches: cell(group.launches as f64, ""),
        share: share.map(|value| KernelCell { value, text: number::share(value).into() }),
        median: written(group, &id::DURATION),
        total: time.map(|time| cell(time, "ns")),
        values: columns.iter().map(|metric| written(group, metric)).collect(),
    }
}

fn section<'f>(
    at: usize,
    group: &LaunchGroup,
    total: Option<f64>,
    files: &dyn Fn(u32) -> Vec<SourceFile<'f>>,
) -> KernelSection {
    let said = group.said();
    let lines: &[HotLine] = said.map_or(&[], |said| &said.lines);
    let source = if lines.is_empty() { None } else { source::view(lines, &files(group.median_launch)) };
    let found = group.diagnosed.iter().flat_map(|launch| &launch.findings);
    let found = found.filter(|finding| finding.symptom_of.is_none()).map(|f: &Finding| FindingRow::of(f, &f.shape));
    let (mut findings, mut folded): (Vec<FindingRow>, Vec<FindingRow>) = found.partition(FindingRow::is_cause);
    folded.splice(0..0, findings.drain(findings.len().min(FINDINGS)..));
    let time = group.total(&id::DURATION).map(|time| {
        let share = total.map_or_else(String::new, |total| format!(", {}", number::share(100.0 * time / total)));
        format!("{}{share}", number::with_unit(time, "ns"))
    });
    KernelSection {
        anchor: anchor(at),
        label: group.label.clone(),
        name: group.key.kernel.clone(),
        nvtx: group.key.nvtx.clone(),
        time: time.unwrap_or_default().into(),
        launch: launch(group),
        diagnosis: group.diagnosed.as_ref().map(DiagnosisRow::of_launch),
        findings,
        folded,
        quoted: group.diagnosed.as_ref().map(quoted).unwrap_or_default(),
        light: light(group),
        states: states(group),
        memory: group.memory.clone(),
        timeline: said.and_then(|said| said.timeline.as_ref()).filter(|_| at < SHOWN).map(|timeline| {
            let source = format!("PM sampling of launch {}", group.median_launch);
            launch_timeline(&format!("timeline-{}", at + 1), &source, timeline)
        }),
        advice: said.map(|said| {
            let mut shown = said.clone();
            // If the source file is available, its lines are shown there instead.
            shown.lines.truncate(if source.is_some() { 0 } else { HOTTEST });
            advice(&shown)
        }),
        source,
        counters: counters(group),
    }
}

fn anchor(at: usize) -> CleanText {
    format!("kernel-{}", at + 1).into()
}

/// `12 launches, grid 64×8, block 128, 32 registers a thread; findings are about launch 7`.
fn launch(group: &LaunchGroup) -> CleanText {
    let shape = &group.key.shape;
    let sized =
        |what: &str, dims: Option<[u32; 3]>| dims.map_or_else(String::new, |dims| format!(", {what} {}", extent(dims)));
    let registers = shape.registers.map_or_else(String::new, |many| format!(", {many} registers a thread"));
    let bytes = shape.shared.iter().flatten().sum::<u64>();
    let shared =
        if bytes > 0 { format!(", {} bytes of shared memory", number::plain(bytes as f64)) } else { String::new() };
    let launches = number::counted(group.launches, "launch");
    let shown = match group.launches {
        1 => String::new(),
        _ => format!("; values are medians over launches, findings are about launch {}", group.median_launch),
    };
    let sizes = [sized("grid", shape.grid), sized("block", shape.block), sized("cluster", shape.cluster)].concat();
    CleanText::whole(&format!("{launches}{sizes}{registers}{shared}{shown}"))
}

fn light(group: &LaunchGroup) -> Vec<ShareBar> {
    let bar = |metric: &MetricId| {
        let percent = group.median(metric)?;
        let title = described(metric).0.into();
        Some(ShareBar { title, percent: percent.clamp(0.0, 100.0), text: number::share(percent).into() })
    };
    LIGHT.iter().filter_map(bar).collect()
}

fn states(group: &LaunchGroup) -> Vec<ShareBar> {
    let names = group.values.keys().filter(|name| name.starts_with(STATE));
    let mut states: Vec<(&str, f64)> =
        names.filter_map(|name| Some((*name, group.median(name)?))).filter(|(_, cycles)| *cycles > 0.0).collect();
    states.sort_by(|a, b| b.1.total_cmp(&a.1));
    let total: f64 = states.iter().map(|(_, cycles)| cycles).sum();
    let bar = |(name, cycles): &(&str, f64)| ShareBar {
        title: described(name).0.trim_start_matches("Stall: ").into(),
        percent: 100.0 * cycles / total,
        text: format!("{} cycles", number::plain(*cycles)).into(),
    };
    states.iter().map(bar).collect()
}

fn counters(group: &LaunchGroup) -> Vec<CounterRow> {
    let row = |name: &str| Some(CounterRow { title: described(name).0.into(), text: written(group, name)?.text });
    Catalogue::embedded().names().filter(|name| !name.starts_with(STATE)).filter_map(row).collect()
}

/// The roofline over all kernels, each by its launch of the median duration; or why it is missing.
fn roofline(report: &ProfiledReport) -> Result<Chart, CleanText> {
    const COLLECT: &str = "`ncu --set full` or `--section SpeedOfLight_RooflineChart` collects them";
    let rooflines = || report.groups.iter().map(|group| &group.roofline);
    if report.devices.len() > 1 {
        return Err("the launches ran on different devices, which have different roofs".into());
    }
    let mut lacks: Vec<&str> = Vec::new();
    lacks.extend((!rooflines().any(|r| !r.work.is_empty())).then_some("floating-point operations"));
    lacks.extend((!rooflines().any(|r| r.traffic.is_some())).then_some("bytes of device memory"));
    lacks.extend((!rooflines().any(|r| r.bandwidth.is_some())).then_some("the peak of device memory"));
    lacks.extend((!rooflines().flat_map(|r| &r.work).any(|w| w.peak.is_some())).then_some("compute peaks"));
    if !lacks.is_empty() {
        return Err(CleanText::whole(&format!("not collected: {}; {COLLECT}", lacks.join(", "))));
    }
    let mut points: Vec<KernelPoint> = Vec::new();
    let mut peaks: IndexMap<(&str, bool), Vec<f64>> = IndexMap::new();
    for group in &report.groups {
        for work in &group.roofline.work {
            let Some((intensity, attained)) = group.roofline.position(work) else { continue };
            let (kernel, precision, rate) = (group.label.to_string(), work.precision, work.rate);
            points.push(KernelPoint { kernel, precision, intensity, rate, attained });
            peaks.entry((precision, work.is_by_data_sheet)).or_default().extend(work.peak);
        }
    }
    let bandwidths: Vec<f64> = rooflines().filter_map(|roofline| roofline.bandwidth).collect();
    let bandwidth = median(&bandwidths).unwrap_or(f64::NAN);
    let ceilings = peaks.iter().filter_map(|((name, is_by_data_sheet), peaks)| {
        let peak = median(peaks).ok()?;
        let name = if *is_by_data_sheet { format!("{name} (dense, by data sheet)") } else { (*name).to_owned() };
        Some(Ceiling { name, peak, ridge: peak / bandwidth })
    });
    kernel_roofline(bandwidth, ceilings.collect(), &points).ok_or_else(|| {
        "no launch has both floating-point operations with a known peak and bytes of device memory".into()
    })
}

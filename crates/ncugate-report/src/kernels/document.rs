//! The page of a report: where time is spent, what limits each kernel, where its warps wait.

use super::{memory, source};
use crate::chart::{Chart, KernelPoint, MemoryRoof, kernel_roofline, launch_timeline};
use crate::document::{
    Column, Document, DocumentBlock, DocumentTable, Fold, Medium, Section, TableCell, TableListing, TableRow,
};
use crate::number;
use crate::{finding_row, ncu_advice};
use indexmap::{IndexMap, IndexSet};
use ncu_explain::{
    Ceiling, DIAGNOSED, DiagnosisRow, Finding, FindingRow, HotLine, LaunchGroup, ProfiledReport, advice, extent,
    quoted, short_names,
};
use ncu_rep::SourceFile;
use ncugate_model::metric::{Catalogue, MetricError, id};
use ncugate_model::stats::median;
use ncugate_model::{CleanText, MetricId};

/// Rows and sections shown before "show all".
const SHOWN: usize = 15;
/// Findings of a kernel that are not folded.
const FINDINGS: usize = 3;
/// Hottest source lines, if the report does not hold the file.
const HOTTEST: usize = 12;
/// Warp states of a kernel.
const STATES: usize = 8;
/// Throughputs and occupancy as bars.
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
/// Columns of the table of kernels after its times.
const COLUMNS: [MetricId; 5] = [id::SM_PCT, id::MEMORY_PCT, id::DRAM_PCT, id::ACHIEVED_OCCUPANCY, id::REGISTERS];
/// Beginning of the names of warp states.
const STATE: &str = "stall_";
const MEMORY_LACKS: &str = "Memory traffic was not collected; `ncu --set full` collects it.";

/// `files` gives the source files that the report holds for a launch.
pub fn document<'f>(report: &ProfiledReport, files: &dyn Fn(u32) -> Vec<SourceFile<'f>>) -> Document {
    let total = report.total().filter(|total| *total > 0.0);
    let title = report.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut blocks = lead(report, total);
    blocks.push(DocumentBlock::Aside(about(report)));
    blocks.extend(report.outside.map(|cc| {
        let problem = MetricError::Chip { cc };
        DocumentBlock::Note(format!("{problem}; this page has the metrics that are the same on all chips"))
    }));
    blocks.push(Section::new("kernels", "Kernels", vec![DocumentBlock::Table(listing(report, total))]).into());
    let roofline = match roofline(report) {
        Ok(chart) => DocumentBlock::Figures(vec![chart]),
        Err(why) => DocumentBlock::Aside(format!("No roofline: {why}.")),
    };
    blocks.push(Section::new("roofline", "Roofline", vec![roofline]).into());
    let sections = report.groups.iter().take(DIAGNOSED).enumerate();
    let mut details: Vec<DocumentBlock> = sections.map(|(at, group)| section(at, group, total, files).into()).collect();
    if let Some(more) = report.groups.len().checked_sub(DIAGNOSED).filter(|more| *more > 0) {
        details.push(DocumentBlock::Aside(format!(
            "{more} more kernels have less time each; `--kernel REGEX` selects others."
        )));
    }
    blocks.push(Section::new("details", "Details", details).into());
    Document { title: title.to_owned(), sentence: sentence(report, total), blocks }
}

/// What costs most of the total time, the longest kernel's main cause or all launches together, and the next step.
fn lead(report: &ProfiledReport, total: Option<f64>) -> Vec<DocumentBlock> {
    let Some((group, diagnosed)) = report.groups.first().and_then(|first| Some((first, first.diagnosed.as_ref()?)))
    else {
        return Vec::new();
    };
    let outcome = DiagnosisRow::of_launch(diagnosed);
    let own = causes(group).next();
    let mut blocks = Vec::new();
    if own.is_none() {
        let lacks = outcome.not_asked.as_ref().filter(|_| diagnosed.duration.is_some());
        let said = lacks
            .map_or_else(|| outcome.sentence.to_string(), |lacks| lacks.outcome(diagnosed.unasked.is_mostly_asked()));
        let said: Vec<String> = diagnosed.busiest.clone().into_iter().chain([said]).collect();
        blocks.push(DocumentBlock::Text(said.join(" ")));
    }
    let (place, whose) = match report.groups.len() {
        ..=1 => (String::new(), "of the time"),
        _ => (format!(" in {}", group.label), "of its time"),
    };
    let share = group.total(&id::DURATION).zip(total).map_or(1.0, |(time, total)| time / total);
    let of_kernel = own.clone().or_else(|| quoted(diagnosed).into_iter().next());
    let of_kernel = of_kernel.map(|row| (share * own.as_ref().map_or(0.0, saved), row, place.as_str(), whose));
    let of_all = report.together().map(|row| (saved(&row), row, "", "of the time"));
    let mut causes: Vec<_> = of_kernel.into_iter().chain(of_all).collect();
    causes.sort_by(|a, b| b.0.total_cmp(&a.0));
    blocks.extend(causes.iter().map(|(_, cause, place, whose)| {
        let saving = cause.saving.as_ref().filter(|_| cause.rule != "ncu").map_or_else(String::new, |saving| {
            let words = saving.words.replacen("of the time", whose, 1);
            format!(" Fixing it could save {words} ({} confidence).", cause.confidence.word())
        });
        DocumentBlock::Text(format!("{}{place}: {}{saving}", cause.title, cause.sentence))
    }));
    let command = outcome.not_asked.as_ref().and_then(|lacks| lacks.command.as_ref());
    let advice = causes.first().map(|(_, cause, ..)| cause.advice.to_string()).filter(|text| !text.is_empty());
    let collect =
        command.filter(|_| advice.is_none()).map(|command| format!("Collect what the rules lack: `{command}`"));
    let is_collected = collect.is_some();
    blocks.extend(advice.or(collect).map(DocumentBlock::Next));
    if let Some(lacks) = outcome.not_asked.as_ref().filter(|_| !is_collected) {
        let command = command.map_or_else(String::new, |command| format!(" Collect them: `{command}`."));
        let verb = if lacks.rules == 1 { "lacks" } else { "lack" };
        let said = format!("{} of {} rules {verb} counters", lacks.rules, lacks.of);
        blocks.push(match diagnosed.unasked.is_mostly_asked() {
            true => DocumentBlock::Aside(format!("{said}.{command}")),
            false => DocumentBlock::Note(format!("{said}, so another cause may be larger.{command}")),
        });
    }
    blocks
}

/// The bound of a cause in percent.
fn saved(cause: &FindingRow) -> f64 {
    cause.saving.as_ref().map_or(0.0, |saving| saving.percent)
}

fn about(report: &ProfiledReport) -> String {
    let devices: Vec<&str> = report.devices.iter().map(CleanText::as_str).collect();
    let device = if devices.is_empty() { "an unknown device".to_owned() } else { devices.join(", ") };
    let tool = report.ncu.as_ref().map_or_else(String::new, |version| format!(", ncu {version}"));
    let clocks = report.clocks.as_ref().map_or_else(String::new, |clocks| format!(", {clocks}"));
    let has = |name: &str| report.groups.iter().any(|group| group.values.contains_key(name));
    let said = || report.groups.iter().filter_map(LaunchGroup::said);
    let parts = [
        ("durations", has(&id::DURATION)),
        ("throughputs", has(&id::SM_PCT)),
        ("ncu rules", said().any(|said| !said.rules.is_empty())),
        ("samples of instructions", said().any(|said| !said.hot.is_empty())),
    ];
    let lacks: Vec<&str> = parts.iter().filter(|(_, is_there)| !is_there).map(|(part, _)| *part).collect();
    let lacks = if lacks.is_empty() { String::new() } else { format!(" The report holds no {}.", lacks.join(", no ")) };
    format!("{} on {device}{tool}{clocks}.{lacks}", number::counted(report.launches, "launch"))
}

/// Title and unit of a metric.
fn described(name: &str) -> (&str, &str) {
    let known = Catalogue::embedded().get(name);
    known.map_or((name, ""), |metric| (metric.title.as_str(), metric.unit.as_str()))
}

/// The median of a metric over the launches of a kernel.
fn written(group: &LaunchGroup, metric: &str) -> TableCell {
    TableCell::with_unit(group.median(metric), described(metric).1)
}

/// The answer: how long the kernels take, and which takes the most.
fn sentence(report: &ProfiledReport, total: Option<f64>) -> String {
    let kernels: IndexSet<&CleanText> = report.groups.iter().map(|group| &group.key.kernel).collect();
    let many = match kernels.first() {
        Some(kernel) if kernels.len() == 1 => short_names(&[kernel.as_str()]).concat(),
        _ => number::counted(kernels.len(), "kernel"),
    };
    let Some(total) = total else {
        let verb = if kernels.len() == 1 { "has" } else { "have" };
        return match report.timed() {
            (0, _) => format!("{many} {verb} no time: durations were not collected."),
            (timed, us) => {
                let untimed = report.groups.iter().filter(|group| group.total(&id::DURATION).is_none());
                let untimed: Vec<&str> = untimed.map(|group| group.label.as_str()).collect();
                format!(
                    "{many}: {} under ncu in {timed} of {} launches; profile {} again: no duration.",
                    number::in_sentence(us, "us"),
                    report.launches,
                    untimed.join(", ")
                )
            }
        };
    };
    let first = report.groups.first().filter(|_| report.groups.len() > 1);
    let most = first.and_then(|group| Some((group, group.total(&id::DURATION)?)));
    let most = most.map_or_else(String::new, |(group, time)| {
        format!(", {} of it in {}", number::share(100.0 * time / total), group.label)
    });
    let verb = if kernels.len() == 1 { "takes" } else { "take" };
    let launches = match report.launches {
        launches if launches > kernels.len() => format!(" in {}", number::counted(launches, "launch")),
        _ => String::new(),
    };
    format!("{many} {verb} {} under ncu{launches}{most}.", number::with_unit(total, "ns"))
}

/// The table of all kernels.
fn listing(report: &ProfiledReport, total: Option<f64>) -> DocumentTable {
    let groups = &report.groups;
    let has = |metric: &&MetricId| groups.iter().any(|group| group.values.contains_key(&***metric));
    let metrics: Vec<&MetricId> = COLUMNS.iter().filter(has).collect();
    let share = Column::number("Share").meaning("Percent of the time of all launches.");
    let mut columns = vec![Column::text("Kernel"), Column { is_sorted: true, ..share }];
    columns.push(Column::number("Median").meaning("Median duration of its launches under ncu."));
    columns.push(Column::number("Total").meaning("Sum of the durations of its launches under ncu."));
    columns.push(Column::number("Launches"));
    columns.extend(metrics.iter().map(|metric| {
        let meaning = Catalogue::embedded().get(metric).map_or("", |metric| metric.description.as_str());
        Column::number(described(metric).0).meaning(meaning)
    }));
    let mut table = DocumentTable::new("Kernels", columns);
    for (at, group) in groups.iter().enumerate() {
        let section = (at < DIAGNOSED).then(|| anchor(at));
        let name = TableCell {
            link: section.as_ref().map(|section| format!("#{section}")),
            why: group.key.kernel.to_string(),
            ..TableCell::new(group.label.as_str()).note(group.key.nvtx.as_str())
        };
        let time = group.total(&id::DURATION);
        let share = time.zip(total).map(|(time, total)| TableCell::share(100.0 * time / total));
        let share = share.unwrap_or_else(|| TableCell::missing(""));
        let (time, launches) =
            (TableCell::with_unit(time, "ns"), TableCell::with_unit(Some(group.launches as f64), ""));
        let mut cells = vec![name, share, written(group, &id::DURATION), time, launches];
        cells.extend(metrics.iter().map(|metric| written(group, metric)));
        table.rows.push(TableRow { cells, section, range: group.key.nvtx.to_string() });
    }
    let ranges: IndexSet<String> = groups.iter().map(|group| group.key.nvtx.to_string()).collect();
    let ranges = if ranges.len() < 2 { Vec::new() } else { ranges.into_iter().collect() };
    DocumentTable { listing: Some(TableListing { shown: SHOWN, by: "NVTX range", ranges }), ..table }
}

/// Findings about the time of a kernel, the worst first.
fn causes(group: &LaunchGroup) -> impl Iterator<Item = FindingRow> {
    findings(group).filter(FindingRow::is_cause)
}

fn findings(group: &LaunchGroup) -> impl Iterator<Item = FindingRow> {
    let found = group.diagnosed.iter().flat_map(|launch| &launch.findings);
    found.filter(|finding| finding.symptom_of.is_none()).map(|f: &Finding| FindingRow::of(f, &f.shape))
}

/// `about` is the summary of a kernel's launches.
fn section<'f>(
    at: usize,
    group: &LaunchGroup,
    total: Option<f64>,
    files: &dyn Fn(u32) -> Vec<SourceFile<'f>>,
) -> Section {
    let said = group.said();
    let lines: &[HotLine] = said.map_or(&[], |said| &said.lines);
    let source = if lines.is_empty() { None } else { source::section(lines, &files(group.median_launch)) };
    let time = group.total(&id::DURATION).map(|time| {
        let share = total.map_or_else(String::new, |total| format!(", {}", number::share(100.0 * time / total)));
        format!("{}{share}", number::with_unit(time, "ns"))
    });
    let nvtx = Some(group.key.nvtx.to_string()).filter(|nvtx| !nvtx.is_empty());
    let ranges = nvtx.as_ref().map_or_else(String::new, |nvtx| format!("; NVTX {nvtx}"));
    let mut blocks = vec![DocumentBlock::Aside(format!("{}{ranges}.", launch(group)))];
    let fold = |title: &str, block: Option<DocumentBlock>| {
        block.map(|block| Section::folded(title, Medium::Page, vec![block]))
    };
    let name = Some(DocumentBlock::Text(group.key.kernel.to_string())).filter(|_| group.key.kernel != group.label);
    blocks.extend(fold("Full name", name).map(DocumentBlock::Section));
    let (mut shown, mut folded): (Vec<FindingRow>, Vec<FindingRow>) = findings(group).partition(FindingRow::is_cause);
    folded.splice(0..0, shown.drain(shown.len().min(FINDINGS)..));
    blocks.extend(finding_row::blocks(&shown));
    let outcome = group.diagnosed.as_ref().map(|launch| DiagnosisRow::of_launch(launch).sentence.to_string());
    blocks.extend(outcome.filter(|sentence| !sentence.is_empty()).map(DocumentBlock::Aside));
    blocks.extend(finding_row::blocks(&group.diagnosed.as_ref().map(quoted).unwrap_or_default()));
    blocks.extend(
        fold(&format!("Smaller findings: {}", folded.len()), finding_row::blocks(&folded)).map(DocumentBlock::Section),
    );
    let light = LIGHT.iter().filter_map(|metric| Some((described(metric).0, TableCell::share(group.median(metric)?))));
    blocks.extend(bars("Speed of light", "Unit", light.collect()));
    blocks.extend(bars(
        "Warp states",
        "Cycles per issued instruction; all states add up to the time between two issues",
        states(group),
    ));
    if let Some(timeline) = said.and_then(|said| said.timeline.as_ref()).filter(|_| at < SHOWN) {
        let source = format!("PM sampling of launch {}", group.median_launch);
        blocks.push(DocumentBlock::Figures(vec![launch_timeline(&format!("timeline-{}", at + 1), &source, timeline)]));
    }
    blocks.push(
        group
            .memory
            .as_deref()
            .map(memory::table)
            .map_or_else(|| DocumentBlock::Aside(MEMORY_LACKS.to_owned()), DocumentBlock::Table),
    );
    let has_source = source.is_some();
    blocks.extend(source.map(DocumentBlock::Section));
    if let Some(said) = said {
        let mut shown = said.clone();
        // If the source file is available, its lines are shown there instead.
        shown.lines.truncate(if has_source { 0 } else { HOTTEST });
        blocks.extend(ncu_advice::blocks(&advice(&shown)));
    }
    let counters = counters(group);
    blocks.extend(fold(&format!("Counters: {}", counters.rows.len()), counters.block()).map(DocumentBlock::Section));
    let fold = if at == 0 { Fold::Open } else { Fold::Closed };
    let about = nvtx.into_iter().chain(time).collect::<Vec<_>>().join(", ");
    Section { about, fold, ..Section::new(&anchor(at), group.label.as_str(), blocks) }
}

fn anchor(at: usize) -> String {
    format!("kernel-{}", at + 1)
}

/// Number and configuration of the launches.
fn launch(group: &LaunchGroup) -> String {
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
    format!("{launches}{sizes}{registers}{shared}{shown}")
}

/// A table of names and bars.
fn bars(label: &str, meaning: &str, rows: Vec<(&str, TableCell)>) -> Option<DocumentBlock> {
    let mut table = DocumentTable::new(label, vec![Column::text(label).meaning(meaning), Column::number("")]);
    rows.into_iter().for_each(|(name, cell)| table.row(vec![TableCell::new(name), cell]));
    table.block()
}

/// Cycles of each warp state, the longest first.
fn states(group: &LaunchGroup) -> Vec<(&str, TableCell)> {
    let names = group.values.keys().filter(|name| name.starts_with(STATE));
    let mut states: Vec<(&str, f64)> =
        names.filter_map(|name| Some((*name, group.median(name)?))).filter(|(_, cycles)| *cycles > 0.0).collect();
    states.sort_by(|a, b| b.1.total_cmp(&a.1));
    let total: f64 = states.iter().map(|(_, cycles)| cycles).sum();
    let state = |(name, cycles): (&str, f64)| {
        let text = format!("{} cycles", number::plain(cycles));
        let cell = TableCell::value(cycles, text).bar(100.0 * cycles / total);
        (Catalogue::embedded().get(name).map_or("", |metric| metric.title.as_str()).trim_start_matches("Stall: "), cell)
    };
    states.into_iter().take(STATES).map(state).collect()
}

fn counters(group: &LaunchGroup) -> DocumentTable {
    let mut table = DocumentTable::new(
        format!("Counters of {}", group.label),
        vec![Column::text("Metric"), Column::number("Value")],
    );
    let known = Catalogue::embedded().names().filter(|name| !name.starts_with(STATE) && group.median(name).is_some());
    known.for_each(|name| table.row(vec![TableCell::new(described(name).0), written(group, name)]));
    table
}

/// The roofline of all kernels, or why there is none.
fn roofline(report: &ProfiledReport) -> Result<Chart, String> {
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
        return Err(format!("not collected: {}; {COLLECT}", lacks.join(", ")));
    }
    let mut points: Vec<KernelPoint> = Vec::new();
    let mut own = 0;
    let mut peaks: IndexMap<(&str, bool), Vec<f64>> = IndexMap::new();
    for (at, group) in report.groups.iter().enumerate() {
        for work in &group.roofline.work {
            let Some((intensity, attained)) = group.roofline.position(work) else { continue };
            let (kernel, precision, rate) = (group.label.to_string(), work.precision, work.rate);
            points.push(KernelPoint { kernel, precision, intensity, rate, attained });
            peaks.entry((precision, work.is_by_data_sheet)).or_default().extend(work.peak);
        }
        own = if at == 0 { points.len() } else { own };
    }
    let bandwidths: Vec<f64> = rooflines().filter_map(|roofline| roofline.bandwidth).collect();
    let bandwidth = median(&bandwidths).unwrap_or(f64::NAN);
    let ceilings = peaks.iter().filter_map(|((name, is_by_data_sheet), peaks)| {
        let peak = median(peaks).ok()?;
        let dense = if name.ends_with("tensor") { "dense, " } else { "" };
        let name = if *is_by_data_sheet { format!("{name} ({dense}by data sheet)") } else { (*name).to_owned() };
        Some(Ceiling { name, peak, ridge: peak / bandwidth })
    });
    let is_by_data_sheet = rooflines().any(|roofline| roofline.is_bandwidth_by_data_sheet);
    let longest = report.groups.first().map_or("", |group| group.label.as_str());
    let memory = MemoryRoof { rate: bandwidth, is_by_data_sheet };
    kernel_roofline(memory, ceilings.collect(), longest, (own, &points)).ok_or_else(|| {
        "no launch has both floating-point operations with a known peak and bytes of device memory".into()
    })
}

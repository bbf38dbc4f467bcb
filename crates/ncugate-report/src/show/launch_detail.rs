//! Details of launches: source files, counters by source line, warp states by source line, machine code.

use std::collections::BTreeMap;

use super::input::Input;
use super::sheet::{Sheet, figure, text};
use super::{CaptureLaunch, ShowError};
use ncu_explain::listing::{Disassembler, ListingError};
use ncu_explain::{CountedLine, CountedLines, Disassembly, InstructionCounters, disassemble};
use ncu_rep::{Launch, MetricValue, Report, ReportError, ReportForm};
use ncugate_model::Line;

/// The requested detail of launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchDetail {
    /// Modules and source files that the reports hold.
    Sources,
    /// Counters of every source line.
    SourceMetrics,
    /// States of sampled warps, for the whole launch and by source line.
    WarpStalls,
    /// Instructions with addresses and source lines.
    Disassembly,
}

/// The extent of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The main part, for people.
    Main,
    Whole,
}

/// The most important metrics of source lines.
const MAIN: [&str; 7] = [
    SAMPLED,
    "inst_executed",
    "thread_inst_executed",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
];
const SAMPLED: &str = "smsp__pcsamp_sample_count";
/// Samples by warp state; the suffix `_not_issued` selects cycles in which the scheduler issued nothing.
const STATE: &str = "smsp__pcsamp_warps_issue_stalled_";
const NOT_ISSUED: &str = "_not_issued";
/// Most lines, and most states of each, shown to people.
const LINES: usize = 12;
const STATES: usize = 3;

/// Modules and source files of every report.
pub(super) fn sources(inputs: &[Input]) -> Result<Vec<Sheet>, ShowError> {
    let columns = ["module", "kind", "name", "bytes", "lines"].map(str::to_owned).to_vec();
    let mut sheets = Vec::new();
    for input in inputs {
        let report = report_of(input)?;
        let modules = report.sources().map_err(|source| damaged(&input.name, source))?;
        let mut sheet = Sheet { report: input.name.clone(), columns: columns.clone(), ..Sheet::default() };
        for module in &modules {
            let id = || text(Some(format!("{:x}", module.reference)));
            let count = |bytes: &[u8]| figure(Some(bytes.len() as f64));
            let architecture = module.capability.map(|(major, minor)| format!("sm_{major}{minor}"));
            for (kind, bytes) in [("cubin", module.binary), ("ptx", module.intermediate)] {
                if !bytes.is_empty() {
                    let kind = text(Some(kind.to_owned()));
                    sheet.rows.push(vec![id(), kind, text(architecture.clone()), count(bytes), MetricValue::Missing]);
                }
            }
            for file in &module.files {
                let lines = String::from_utf8_lossy(file.content).lines().count();
                let kind = text(Some("source".to_owned()));
                let name = text(Some(file.path.to_string()));
                sheet.rows.push(vec![id(), kind, name, count(file.content), figure(Some(lines as f64))]);
            }
        }
        if sheet.rows.is_empty() {
            sheet.notes.push(
                "the report holds no code (`--import-sass yes`) and no source files (`--import-source yes`)".to_owned(),
            );
        }
        sheets.push(sheet);
    }
    Ok(sheets)
}

/// A sheet for each launch. `metrics` are the metrics requested by name; without any, the main ones or all.
pub(super) fn of_launches(
    launches: &[CaptureLaunch<'_>],
    inputs: &[Input],
    inside: LaunchDetail,
    metrics: &[String],
    extent: Extent,
) -> Result<Vec<Sheet>, ShowError> {
    let disassembler = match inside {
        LaunchDetail::Disassembly => Some(Disassembler::find(None).map_err(ShowError::NoDisassembler)?),
        LaunchDetail::Sources | LaunchDetail::SourceMetrics | LaunchDetail::WarpStalls => None,
    };
    let sheet = |(capture, launch): &CaptureLaunch<'_>| {
        let input = inputs.iter().find(|input| input.name == capture.name);
        let Some(input) = input else { return Ok(Sheet::default()) };
        let report = report_of(input)?;
        let made = match inside {
            LaunchDetail::Sources => Ok(Sheet::default()),
            LaunchDetail::SourceMetrics => source_metrics(report, launch, metrics, extent),
            LaunchDetail::WarpStalls => warp_stalls(report, launch, extent),
            LaunchDetail::Disassembly => {
                let disassembler = disassembler.clone().ok_or(ListingError::NotAsked);
                let code = disassemble(report, launch, &disassembler).map_err(|source| damaged(&input.name, source))?;
                if !code.instructions.is_empty() && code.instructions.iter().all(|one| one.text.is_none()) {
                    let (path, launch) = (input.name.clone().into(), launch.id());
                    return Err(ShowError::NoText { path, launch, reason: code.lacks.join("; ") });
                }
                Ok(machine_code(code))
            }
        };
        let made = made.map_err(|source| damaged(&input.name, source))?;
        let kernel = launch.demangled_name();
        let kernel = if kernel.is_empty() { launch.kernel_name() } else { kernel };
        Ok(Sheet { report: input.name.clone(), launch: Some((launch.id(), kernel.into_owned())), ..made })
    };
    launches.iter().map(sheet).collect()
}

fn report_of(input: &Input) -> Result<&Report, ShowError> {
    match input.report.form() {
        ReportForm::Binary => Ok(&input.report),
        ReportForm::Csv => Err(ShowError::NotInCsv { path: input.name.clone().into() }),
    }
}

fn damaged(name: &str, source: ReportError) -> ShowError {
    ShowError::Report { path: name.into(), source }
}

fn lines_of(report: &Report, launch: &Launch<'_>) -> Result<CountedLines, ReportError> {
    InstructionCounters::of(launch)?.lines(report, launch)
}

fn source_metrics(
    report: &Report,
    launch: &Launch<'_>,
    metrics: &[String],
    extent: Extent,
) -> Result<Sheet, ReportError> {
    let counted = lines_of(report, launch)?;
    let known: std::collections::BTreeSet<&str> =
        counted.lines.iter().flat_map(|line| line.sums.keys()).map(String::as_str).collect();
    let wanted: Vec<&str> = match (metrics.is_empty(), extent) {
        (false, _) => metrics.iter().map(String::as_str).filter(|name| known.contains(name)).collect(),
        (true, Extent::Main) => MAIN.into_iter().filter(|name| known.contains(name)).collect(),
        (true, Extent::Whole) => known.iter().copied().collect(),
    };
    let head = ["file", "line"].into_iter().chain(wanted.iter().copied()).chain(["text"]);
    let row = |line: &CountedLine| {
        let sums = wanted.iter().map(|name| figure(line.sums.get(*name).copied()));
        let mut row = place(line.line.as_ref());
        row.extend(sums);
        row.push(text(line.line.as_ref().and_then(|line| line.text.clone())));
        row
    };
    let mut notes = counted.lacks;
    if known.is_empty() {
        notes.push("no counter per instruction: collect the section SourceCounters".to_owned());
    }
    let rows = counted.lines.iter().map(row).collect();
    Ok(Sheet { columns: head.map(str::to_owned).collect(), rows, notes, ..Sheet::default() })
}

fn warp_stalls(report: &Report, launch: &Launch<'_>, extent: Extent) -> Result<Sheet, ReportError> {
    let counted = lines_of(report, launch)?;
    let mut whole: BTreeMap<String, f64> = BTreeMap::new();
    for (name, value) in counted.lines.iter().flat_map(|line| &line.sums) {
        *whole.entry(name.clone()).or_default() += value;
    }
    let total = states(&whole).iter().map(|(_, samples, _)| samples).sum::<f64>();
    let mut lines: Vec<&CountedLine> = counted.lines.iter().filter(|line| samples(line) > 0.0).collect();
    lines.sort_by(|a, b| samples(b).total_cmp(&samples(a)));
    let (most_lines, most_states) = match extent {
        Extent::Main => (LINES, STATES),
        Extent::Whole => (usize::MAX, usize::MAX),
    };
    let row = |line: Option<&Line>, (state, samples, idle): (&str, f64, Option<f64>)| {
        let mut row = place(line);
        let share = (total > 0.0).then(|| 100.0 * samples / total);
        row.extend([text(Some(state.to_owned())), figure(Some(samples)), figure(share), figure(idle)]);
        row.push(text(line.and_then(|line| line.text.clone())));
        row
    };
    let mut rows: Vec<_> = states(&whole).into_iter().map(|state| row(None, state)).collect();
    for line in lines.iter().take(most_lines).filter(|line| line.line.is_some()) {
        rows.extend(states(&line.sums).into_iter().take(most_states).map(|state| row(line.line.as_ref(), state)));
    }
    let mut notes = counted.lacks;
    if total == 0.0 {
        notes.push("no warp was sampled (sections SourceCounters and WarpStateStats)".to_owned());
    } else if lines.len() > most_lines {
        notes.push(format!("{} more lines have samples; --format csv has all", lines.len() - most_lines));
    }
    let columns = ["file", "line", "state", "samples", "share_pct", "not_issued", "text"].map(str::to_owned).to_vec();
    Ok(Sheet { columns, rows, notes, ..Sheet::default() })
}

/// States with samples, the most frequent first: name, samples, and samples in cycles without an issued instruction.
fn states<'s>(sums: &'s BTreeMap<String, f64>) -> Vec<(&'s str, f64, Option<f64>)> {
    let state = |(name, samples): (&'s String, &f64)| {
        let state = name.strip_prefix(STATE).filter(|state| !state.ends_with(NOT_ISSUED) && *samples > 0.0)?;
        Some((state, *samples, sums.get(&format!("{name}{NOT_ISSUED}")).copied()))
    };
    let mut found: Vec<(&str, f64, Option<f64>)> = sums.iter().filter_map(state).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    found
}

fn samples(line: &CountedLine) -> f64 {
    line.sums.get(SAMPLED).copied().unwrap_or_else(|| states(&line.sums).iter().map(|(_, samples, _)| samples).sum())
}

fn machine_code(code: Disassembly) -> Sheet {
    let row = |instruction: &ncu_explain::DisassembledInstruction| {
        let said = instruction.text.clone().unwrap_or_else(|| instruction.code.clone());
        let mut row = vec![text(Some(format!("{:04x}", instruction.offset))), text(Some(said))];
        row.extend([figure(instruction.executed), figure(instruction.samples)]);
        row.extend(place(instruction.line.as_ref()));
        row
    };
    let columns = ["offset", "instruction", "executed", "samples", "file", "line"].map(str::to_owned).to_vec();
    Sheet { columns, rows: code.instructions.iter().map(row).collect(), notes: code.lacks, ..Sheet::default() }
}

fn place(line: Option<&Line>) -> Vec<MetricValue<'static>> {
    vec![text(line.map(|line| line.file.clone())), figure(line.map(|line| f64::from(line.line)))]
}

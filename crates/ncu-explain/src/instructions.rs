//! Counts of a report for every instruction of a launch: executions, threads, sectors, wavefronts, samples by warp
//! state.

use super::listing::{Code, Disassembler, ListingError, UserSources, listing};
use super::profiler::{source_of, texts};
use ncu_rep::{Launch, MetricValue, Report, ReportError};
use ncugate_model::{Line, Listing};
use std::collections::{BTreeMap, BTreeSet};

/// Executions of every instruction of the kernel. The instances of this metric list the instructions.
const EXECUTED: &str = "inst_executed";
/// All samples of an instruction, for reports with samples but without execution counts.
const SAMPLED: &str = "smsp__pcsamp_sample_count";
/// Start addresses of the functions of a launch, one instance for each function.
const FUNCTIONS: &str = "launch__function_pcs";
/// Bytes per instruction, since compute capability 7.0.
const INSTRUCTION: u64 = 16;

/// Values for the instructions of a launch by metric. Instructions are keyed by bytes from the first counted one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstructionCounters {
    /// By metric and instruction. Instructions that a metric does not count are absent.
    pub metrics: BTreeMap<String, BTreeMap<u64, f64>>,
    /// Start offsets of the kernel and the functions that it calls, in the same unit.
    pub functions: Vec<u64>,
}

/// Sums over the instructions of one source line.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedLine {
    /// The line; none for instructions without a known line.
    pub line: Option<Line>,
    /// By metric; absent if no instruction of the line is counted.
    pub sums: BTreeMap<String, f64>,
}

/// The lines of a launch, and the missing information about them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CountedLines {
    /// In the order of files and lines; instructions without a line are last.
    pub lines: Vec<CountedLine>,
    /// Missing information, and why.
    pub lacks: Vec<String>,
}

/// One instruction of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct DisassembledInstruction {
    /// Bytes from the first instruction of the kernel.
    pub offset: u64,
    /// The instruction, if a disassembler gave it.
    pub text: Option<String>,
    /// Its bytes as two words of 64 bits, the lower first: `0x... 0x...`.
    pub code: String,
    /// Its source line, if known.
    pub line: Option<Line>,
    /// Executions by warps, if counted.
    pub executed: Option<f64>,
    /// Samples at this instruction, if warps were sampled.
    pub samples: Option<f64>,
}

/// The machine code of a launch's kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Disassembly {
    /// In the order of their addresses.
    pub instructions: Vec<DisassembledInstruction>,
    /// Missing information, and why.
    pub lacks: Vec<String>,
}

impl InstructionCounters {
    /// Reads every metric whose instances belong to instructions of the launch.
    ///
    /// # Errors
    /// A damaged report.
    pub fn of(launch: &Launch<'_>) -> Result<Self, ReportError> {
        let mut addresses = addresses(launch, EXECUTED)?;
        // only samples include the functions that a kernel calls
        addresses.extend(self::addresses(launch, SAMPLED)?);
        let Some(first) = addresses.first().copied() else { return Ok(Self::default()) };
        let mut counters = Self::default();
        for metric in launch.metrics() {
            let metric = metric?;
            if metric.name == FUNCTIONS {
                let begins = instances(metric.instances().map(|i| i.map(|i| i.value.as_u64())))?;
                counters.functions = begins.into_iter().filter_map(|address| address.checked_sub(first)).collect();
                continue;
            }
            let mut values = BTreeMap::new();
            for instance in metric.instances() {
                let instance = instance?;
                let address = instance.correlation.as_u64().filter(|address| addresses.contains(address));
                // a metric with an instance elsewhere is not a per-instruction metric, but a curve or a time series
                let Some(address) = address else {
                    values.clear();
                    break;
                };
                if let Some(value) = number(&instance.value) {
                    *values.entry(address - first).or_default() += value;
                }
            }
            if !values.is_empty() {
                counters.metrics.entry(metric.name.to_owned()).or_insert(values);
            }
        }
        counters.functions.sort_unstable();
        Ok(counters)
    }

    /// Every instruction with a count.
    pub fn offsets(&self) -> BTreeSet<u64> {
        self.metrics.values().flat_map(BTreeMap::keys).copied().collect()
    }

    /// Sums by source line.
    ///
    /// # Errors
    /// A damaged report.
    pub fn lines(&self, report: &Report, launch: &Launch<'_>) -> Result<CountedLines, ReportError> {
        let offsets = self.offsets();
        let entry = launch.mangled_name();
        let listing = match source_of(report, launch)? {
            Some(source) => {
                let code = Code { cubin: source.binary, entry: &entry, functions: &self.functions };
                let texts = texts(&source);
                // lines need no disassembler
                listing(code, offsets.iter().copied(), &texts, &UserSources::default(), Ok(BTreeMap::new()))
            }
            None => {
                let lack = ListingError::NoCode { kernel: entry.into_owned() }.to_string();
                Listing { lacks: vec![lack], ..Listing::default() }
            }
        };
        let mut lines: BTreeMap<Option<&Line>, BTreeMap<String, f64>> = BTreeMap::new();
        for (metric, values) in &self.metrics {
            for (offset, value) in values {
                let line = listing.at(*offset).and_then(|instruction| listing.line(instruction.line));
                *lines.entry(line).or_default().entry(metric.clone()).or_default() += value;
            }
        }
        let without = lines.remove(&None).map(|sums| CountedLine { line: None, sums });
        let known = lines.into_iter().map(|(line, sums)| CountedLine { line: line.cloned(), sums });
        Ok(CountedLines { lines: known.chain(without).collect(), lacks: listing.lacks })
    }
}

/// The machine code of a launch's kernel with its lines; `disassembler` gives the text of instructions.
///
/// # Errors
/// A damaged report.
pub fn disassemble(
    report: &Report,
    launch: &Launch<'_>,
    disassembler: &Result<Disassembler, ListingError>,
) -> Result<Disassembly, ReportError> {
    let entry = launch.mangled_name();
    let lacking = |error: ListingError| Disassembly { lacks: vec![error.to_string()], ..Disassembly::default() };
    let Some(source) = source_of(report, launch)? else {
        return Ok(lacking(ListingError::NoCode { kernel: entry.into_owned() }));
    };
    let code = Code { cubin: source.binary, entry: &entry, functions: &[] };
    let words = match code.bytes() {
        Ok(words) => words,
        Err(error) => return Ok(lacking(error)),
    };
    let counters = InstructionCounters::of(launch)?;
    let counted = Code { cubin: source.binary, entry: &entry, functions: &counters.functions };
    let (base, unknown) = match counted.base() {
        Ok(base) => (Some(base), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let texts_of = disassembler.as_ref().map_err(Clone::clone).and_then(|d| d.of_code(source.binary, &entry));
    let offsets = (0..words.len() as u64 / INSTRUCTION).map(|at| at * INSTRUCTION);
    let mut listing = listing(code, offsets, &texts(&source), &UserSources::default(), texts_of);
    listing.lacks.extend(unknown);
    let counted = |metric: &str, offset: u64| {
        let values = counters.metrics.get(metric)?;
        values.get(&base?.checked_add(offset)?).copied()
    };
    let instruction = |instruction: &ncugate_model::Instruction| DisassembledInstruction {
        offset: instruction.offset,
        text: instruction.text.clone(),
        code: written(words, instruction.offset),
        line: listing.line(instruction.line).cloned(),
        executed: counted(EXECUTED, instruction.offset),
        samples: counted(SAMPLED, instruction.offset),
    };
    Ok(Disassembly { instructions: listing.instructions.iter().map(instruction).collect(), lacks: listing.lacks })
}

/// The two words of the instruction at `offset`.
fn written(code: &[u8], offset: u64) -> String {
    let word = |at: u64| {
        let at = usize::try_from(offset + at).ok()?;
        code.get(at..)?.first_chunk::<8>().map(|bytes| format!("0x{:016x}", u64::from_le_bytes(*bytes)))
    };
    [word(0), word(8)].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn addresses(launch: &Launch<'_>, name: &str) -> Result<BTreeSet<u64>, ReportError> {
    let Some(metric) = launch.find_metric(name)? else { return Ok(BTreeSet::new()) };
    let found = instances(metric.instances().map(|instance| instance.map(|i| i.correlation.as_u64())))?;
    Ok(found.into_iter().filter(|address| *address > 0).collect())
}

fn instances(found: impl Iterator<Item = Result<Option<u64>, ReportError>>) -> Result<Vec<u64>, ReportError> {
    found.filter_map(Result::transpose).collect()
}

fn number(value: &MetricValue<'_>) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(name: &str) -> Report {
        Report::open(format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn sums_by_line_are_the_sums_of_the_launch() {
        let report = capture("full1.ncu-rep.zst");
        let launch = report.launch(0).unwrap();
        let counters = InstructionCounters::of(&launch).unwrap();
        let lines = counters.lines(&report, &launch).unwrap();
        let sum = |metric: &str| lines.lines.iter().filter_map(|line| line.sums.get(metric)).sum::<f64>();
        assert_eq!(sum("smsp__pcsamp_sample_count"), 66_305.0);
        let executed = launch.metric("smsp__inst_executed.sum").unwrap().unwrap().as_f64().unwrap();
        assert_eq!(sum("inst_executed"), executed, "{:?}", lines.lacks);
        assert!(lines.lines.iter().all(|line| line.line.as_ref().is_some_and(|line| line.line > 0)), "-lineinfo");
        let curves = ["launch__occupancy_per_register_count", "TPC.TriageCompute.sm__cycles_active.avg"];
        assert!(curves.iter().all(|curve| !counters.metrics.contains_key(*curve)));
    }

    #[test]
    fn the_code_of_a_kernel_is_listed_without_a_disassembler() {
        let report = capture("full1.ncu-rep.zst");
        let launch = report.launch(0).unwrap();
        let code = disassemble(&report, &launch, &Err(ListingError::NotAsked)).unwrap();
        assert_eq!(code.lacks, [ListingError::NotAsked.to_string()]);
        let sampled: f64 = code.instructions.iter().filter_map(|i| i.samples).sum();
        assert_eq!(sampled, 66_305.0);
        assert!(code.instructions.windows(2).all(|pair| pair[1].offset == pair[0].offset + INSTRUCTION));
        assert!(code.instructions.iter().all(|i| i.code.len() == 37 && i.text.is_none()));
    }

    #[test]
    fn a_report_without_code_says_so() {
        let report = capture("g12.ncu-rep.zst");
        let launch = report.launch(0).unwrap();
        let counters = InstructionCounters::of(&launch).unwrap();
        assert_eq!(counters.lines(&report, &launch).unwrap().lines, []);
    }
}

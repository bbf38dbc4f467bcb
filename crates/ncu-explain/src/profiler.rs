//! Observations of Nsight Compute on a profiled launch: advice of its rules, and sampled locations of warps.
//!
//! Reports with only gate metrics have neither.

use super::kernel_names::kernel_of;
use super::listing::{Code, ListingError, SourceTexts, UserSources, listing};
use super::machine_code::{DependencyState, MachineCode, SampledFact, code_facts};
use super::timeline::Timeline;
use ncu_rep::{Launch, MetricValue, Report, ReportError, SourceModule, SpeedupScope};
use ncugate_model::cubin::function_bytes;
use ncugate_model::{Line, Listing, ShapeName, VariantId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Most instructions, and most source lines, kept for a launch; the hottest are kept.
const HOTTEST: usize = 12;
/// Samples of warps by the reason why they did not issue (or `selected` if they did), one instance for each
/// instruction.
const SAMPLES: &str = "smsp__pcsamp_warps_issue_stalled_";
/// The state of warps at barriers, and the one of those that wait for their asynchronous matrix products.
pub const BARRIER: &str = "barrier";
const PRODUCTS: &str = "asynchronous_products";
/// The state of warps that wait for memory, and of those at mbarriers.
pub const LONG_SCOREBOARD: &str = "long_scoreboard";
/// Executions of every instruction of the kernel, which give its first address.
const EXECUTED: &str = "inst_executed";
/// Sectors of global memory that each instruction requests by its addresses, and the fewest for as many bytes.
const SECTORS: &str = "memory_l2_theoretical_sectors_global";
const IDEAL_SECTORS: &str = "memory_l2_theoretical_sectors_global_ideal";
/// Threads that execute each instruction, and those of them whose predicate is true.
const THREADS: &str = "thread_inst_executed";
const THREADS_ON: &str = "thread_inst_executed_true";

/// Start addresses of the functions of a launch, one instance for each function.
const FUNCTIONS: &str = "launch__function_pcs";

/// Observations of ncu on a variant at a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct NcuObservations {
    pub variant: VariantId,
    pub shape: ShapeName,
    /// The demangled name of the kernel.
    pub kernel: String,
    /// Messages of its rules, the largest estimated speedup first.
    pub rules: Vec<NcuRuleMessage>,
    /// The instructions with the most samples, hottest first.
    pub hot: Vec<HotSpot>,
    /// Every source line with samples, hottest first.
    pub lines: Vec<HotLine>,
    /// Missing information about its instructions, and why.
    pub lacks: Vec<String>,
    /// Samples over its duration.
    pub timeline: Option<Timeline>,
    /// Numbers about its machine code, for rules.
    pub facts: Vec<SampledFact>,
}

/// A rule's message.
#[derive(Debug, Clone, PartialEq)]
pub struct NcuRuleMessage {
    /// Name of the rule: `CPIStall`.
    pub rule: String,
    /// Title of the message, or the rule's name.
    pub title: String,
    /// The message without markup.
    pub text: String,
    /// Estimated speedup in percent, an upper bound, with its scope.
    pub speedup: Option<(SpeedupScope, f64)>,
}

/// An instruction with warp samples.
#[derive(Debug, Clone, PartialEq)]
pub struct HotSpot {
    /// Bytes from the kernel's first instruction.
    pub offset: u64,
    pub samples: u64,
    /// Percent of the launch's samples.
    pub share: f64,
    /// The most frequent stall reason of these warps (`long_scoreboard`; `selected` issued).
    pub stall: String,
    /// The instruction, if known.
    pub text: Option<String>,
    /// Its source line, if known.
    pub line: Option<Line>,
    /// The line that it was compiled from, if that is in a function inlined at `line`.
    pub inlined: Option<Line>,
}

/// A source line with warp samples.
#[derive(Debug, Clone, PartialEq)]
pub struct HotLine {
    pub line: Line,
    /// Samples of its instructions.
    pub samples: u64,
    /// Percent of the launch's samples.
    pub share: f64,
    /// The most frequent stall reason of these warps.
    pub stall: String,
    /// Samples by stall reason, the most frequent first.
    pub states: Vec<(String, u64)>,
    /// Its sampled instructions, in the order of their addresses.
    pub instructions: Vec<LineInstruction>,
    /// The wait for a result at the hottest of these instructions, if the machine code tells it.
    pub dependency: Option<Dependency>,
}

/// A stalled instruction, and the one whose result it waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Dependency {
    pub waiting: String,
    pub producer: String,
    /// What the producer is: `load from shared memory`.
    pub kind: &'static str,
    /// The producer's line, if known.
    pub line: Option<Line>,
}

/// A sampled instruction of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct LineInstruction {
    /// Bytes from the kernel's first instruction.
    pub offset: u64,
    /// The instruction, if known.
    pub text: Option<String>,
    pub samples: u64,
    /// The most frequent stall reason of these warps.
    pub stall: String,
}

/// Samples of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstructionSamples {
    /// Samples by reason, keyed by bytes from the first counted instruction. This is the kernel's first one if it calls
    /// nothing.
    pub places: BTreeMap<u64, Reasons>,
    /// Start offsets of the kernel and the functions that it calls, in the same unit, sorted.
    pub functions: Vec<u64>,
    /// Executions by warps of the kernel's instructions, in the same unit.
    pub executed: BTreeMap<u64, u64>,
    /// Sectors of global memory that an instruction requests, and those that it would request if its lanes accessed
    /// neighbouring addresses, in the same unit.
    pub sectors: BTreeMap<u64, (u64, u64)>,
    /// Sum of threads over all executions, and of those whose predicate is true.
    pub threads: Option<u64>,
    pub threads_on: Option<u64>,
}

/// Samples by reason (`long_scoreboard`).
pub type Reasons = BTreeMap<String, u64>;

/// A launch with the messages of ncu's rules and the samples of its warps.
#[derive(Debug)]
pub struct SampledLaunch<'r> {
    report: &'r Report,
    launch: Launch<'r>,
    rules: Vec<NcuRuleMessage>,
    samples: InstructionSamples,
}

impl<'r> SampledLaunch<'r> {
    /// # Errors
    /// A damaged report.
    pub fn of(report: &'r Report, launch: Launch<'r>) -> Result<Self, ReportError> {
        Ok(Self { report, launch, rules: rules(&launch)?, samples: InstructionSamples::of(&launch)? })
    }

    /// Whether neither a rule nor the sampler says anything.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.samples.places.is_empty()
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.samples.total()
    }

    /// Observations with every sampled line, by a stored listing of the kernel, else from the report. `variant` and
    /// `shape` are the names to assign.
    ///
    /// # Errors
    /// A damaged report.
    pub fn observations(
        self,
        (variant, shape): (VariantId, ShapeName),
        kept: Option<&Listing>,
    ) -> Result<NcuObservations, ReportError> {
        let kernel = kernel_of(&self.launch);
        let Self { report, launch, rules, samples } = self;
        let own = match kept {
            Some(_) => None,
            None => listed(report, &launch, &samples)?,
        };
        let nothing = Listing::default();
        let listing = kept.or(own.as_ref()).unwrap_or(&nothing);
        let code = machine_code(report, &launch, &samples, listing)?;
        let told_apart = samples.with_waits_told_apart(&code);
        let (hot, lines) = (told_apart.hottest(listing), told_apart.lines(listing, &code));
        let (lacks, timeline) = (listing.lacks.clone(), Timeline::of(&launch)?);
        let mut facts = code_facts(&code, &samples);
        facts.extend(timeline.as_ref().and_then(Timeline::tail).map(|percent| ("measured_tail_pct", percent)));
        Ok(NcuObservations { variant, shape, kernel, rules, hot, lines, lacks, timeline, facts })
    }
}

/// Observations of ncu on one launch of any kernel, from the report alone. `variant` and `shape` are the names to assign.
///
/// # Errors
/// A damaged report.
pub fn observe(
    report: &Report,
    launch: &Launch<'_>,
    variant: VariantId,
    shape: ShapeName,
) -> Result<NcuObservations, ReportError> {
    SampledLaunch::of(report, *launch)?.observations((variant, shape), None)
}

/// The machine code of a launch: its words if the report holds them, else the texts of the listing.
fn machine_code(
    report: &Report,
    launch: &Launch<'_>,
    samples: &InstructionSamples,
    listing: &Listing,
) -> Result<MachineCode, ReportError> {
    let texts = || MachineCode::of_listing(listing);
    let Some(source) = source_of(report, launch)? else { return Ok(texts()) };
    let entry = launch.mangled_name();
    let code = Code { cubin: source.binary, entry: &entry, functions: &samples.functions };
    let major = source.capability.or(launch.compute_capability()?).map_or(0, |(major, _)| major);
    let (Ok(words), Ok(base)) = (code.bytes(), code.base()) else { return Ok(texts()) };
    let Some(mut decoded) = MachineCode::of_words(words, base, major) else { return Ok(texts()) };
    let called = if samples.functions.len() > 1 { function_bytes(source.binary).ok() } else { Some(0) };
    decoded.bytes = called.map(|called| called + words.len() as u64);
    Ok(decoded)
}

/// The lines of the sampled instructions from the report alone, if it holds the machine code.
fn listed(report: &Report, launch: &Launch<'_>, samples: &InstructionSamples) -> Result<Option<Listing>, ReportError> {
    if samples.places.is_empty() {
        return Ok(None);
    }
    let Some(source) = source_of(report, launch)? else { return Ok(None) };
    let entry = launch.mangled_name();
    let code = Code { cubin: source.binary, entry: &entry, functions: &samples.functions };
    let unasked = Err(ListingError::NotAsked);
    Ok(Some(listing(code, samples.counted().into_iter(), &texts(&source), &UserSources::default(), unasked)))
}

/// The module of a launch, if the report holds its machine code.
///
/// # Errors
/// A damaged report.
pub fn source_of<'r>(report: &'r Report, launch: &Launch<'_>) -> Result<Option<SourceModule<'r>>, ReportError> {
    let references = launch.source_references()?;
    let found = report.sources()?.into_iter().find(|source| references.contains(&source.reference));
    Ok(found.filter(|source| !source.binary.is_empty()))
}

/// The source files that a report holds.
pub fn texts(source: &SourceModule<'_>) -> SourceTexts {
    let mut texts = SourceTexts::default();
    source.files.iter().for_each(|file| texts.add(&file.path, file.content));
    texts
}

fn rules(launch: &Launch<'_>) -> Result<Vec<NcuRuleMessage>, ReportError> {
    let mut notes = Vec::new();
    for rule in launch.rule_results()? {
        for item in &rule.items {
            let Some(message) = &item.message else { continue };
            let title = if message.title.is_empty() { &rule.name } else { &message.title }.to_string();
            let speedup = item.speedup.map(|estimate| (estimate.scope, estimate.percent));
            let (rule, text) = (rule.name.to_string(), message.plain_text());
            notes.push(NcuRuleMessage { rule, title, text, speedup });
        }
    }
    let gain = |note: &NcuRuleMessage| note.speedup.map_or(-1.0, |(_, percent)| percent);
    notes.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    Ok(notes)
}

impl InstructionSamples {
    /// Reads the samples of a launch.
    ///
    /// # Errors
    /// A damaged report.
    pub fn of(launch: &Launch<'_>) -> Result<Self, ReportError> {
        let mut places: BTreeMap<u64, Reasons> = BTreeMap::new();
        let mut functions = BTreeSet::new();
        let (mut executed, mut sectors, mut threads, mut threads_on) = (BTreeMap::new(), BTreeMap::new(), None, None);
        let mut first = u64::MAX;
        for metric in launch.metrics() {
            let metric = metric?;
            let reason = metric.name.strip_prefix(SAMPLES).filter(|reason| !reason.ends_with("_not_issued"));
            if metric.name == FUNCTIONS {
                let entries = metric.instances().map(|instance| Ok(instance?.value.as_u64()));
                functions = entries.filter_map(Result::transpose).collect::<Result<_, ReportError>>()?;
            }
            if metric.name == THREADS || metric.name == THREADS_ON {
                let counts = metric.instances().map(|instance| Ok(instance?.value.as_u64()));
                let counts: Vec<u64> = counts.filter_map(Result::transpose).collect::<Result<_, ReportError>>()?;
                let sum = counts.into_iter().reduce(u64::saturating_add);
                if metric.name == THREADS { threads = sum } else { threads_on = sum }
            }
            let is_sectors = metric.name == SECTORS || metric.name == IDEAL_SECTORS;
            if reason.is_none() && metric.name != EXECUTED && !is_sectors {
                continue;
            }
            for instance in metric.instances() {
                let instance = instance?;
                let (Some(address), Some(count)) = (address(&instance.correlation), instance.value.as_u64()) else {
                    continue;
                };
                first = first.min(address);
                if is_sectors {
                    let (all, ideal) = sectors.entry(address).or_insert((0, 0));
                    *(if metric.name == SECTORS { all } else { ideal }) = count;
                    continue;
                }
                if let Some(reason) = reason.filter(|_| count > 0) {
                    *places.entry(address).or_default().entry(reason.to_owned()).or_default() += count;
                }
                if reason.is_none() && count > 0 {
                    executed.insert(address, count);
                }
            }
        }
        Ok(Self {
            places: places.into_iter().map(|(address, reasons)| (address - first, reasons)).collect(),
            functions: functions.into_iter().filter_map(|address| address.checked_sub(first)).collect(),
            executed: executed.into_iter().map(|(address, count)| (address - first, count)).collect(),
            sectors: sectors.into_iter().map(|(address, count)| (address - first, count)).collect(),
            threads,
            threads_on,
        })
    }

    /// Offsets of the sampled and the executed instructions.
    pub fn counted(&self) -> BTreeSet<u64> {
        self.places.keys().chain(self.executed.keys()).copied().collect()
    }

    pub fn total(&self) -> u64 {
        self.places.values().flat_map(BTreeMap::values).sum()
    }

    /// The samples with waits separated that ncu counts in one state: those for asynchronous products from those at
    /// barriers, and those at mbarriers from those for memory. A warp at a barrier has the address of the next instruction,
    /// and its samples belong to the barrier.
    fn with_waits_told_apart(&self, code: &MachineCode) -> Self {
        let mut all = self.clone();
        for offset in self.places.keys() {
            let Some(count) = all.places.get_mut(offset).and_then(|reasons| reasons.remove(BARRIER)) else { continue };
            let (place, state) = match code.barrier_before(*offset) {
                _ if code.is_product(*offset) => (*offset, PRODUCTS),
                Some(barrier) => (barrier, BARRIER),
                None => (*offset, BARRIER),
            };
            *all.places.entry(place).or_default().entry(state.to_owned()).or_default() += count;
        }
        for (offset, reasons) in &mut all.places {
            let Some(count) = reasons.get(LONG_SCOREBOARD).copied() else { continue };
            if let Some(wait) = code.mbarrier_wait(*offset) {
                reasons.remove(LONG_SCOREBOARD);
                reasons.insert(wait.state().to_owned(), count);
            }
        }
        all.places.retain(|_, reasons| !reasons.is_empty());
        all
    }

    fn hottest(&self, listing: &Listing) -> Vec<HotSpot> {
        let total = self.total();
        let mut spots: Vec<(u64, u64, &str)> = self
            .places
            .iter()
            .filter_map(|(offset, reasons)| Some((*offset, reasons.values().sum(), most(reasons)?)))
            .collect();
        spots.sort_by_key(|(offset, samples, _)| (Reverse(*samples), *offset));
        spots.truncate(HOTTEST);
        let spot = |(offset, samples, stall): (u64, u64, &str)| {
            let instruction = listing.at(offset);
            let line = |index: Option<usize>| listing.line(index).cloned();
            HotSpot {
                offset,
                samples,
                share: share(samples, total),
                stall: stall.to_owned(),
                text: instruction.and_then(|i| i.text.clone()),
                line: instruction.and_then(|i| line(i.line)),
                inlined: instruction.and_then(|i| line(i.inlined)),
            }
        };
        spots.into_iter().map(spot).collect()
    }

    /// Every sampled line, hottest first.
    fn lines(&self, listing: &Listing, code: &MachineCode) -> Vec<HotLine> {
        let total = self.total();
        let mut lines: BTreeMap<&Line, (Reasons, Vec<LineInstruction>)> = BTreeMap::new();
        for (offset, reasons) in &self.places {
            let Some(instruction) = listing.at(*offset) else { continue };
            let Some(line) = listing.line(instruction.line) else { continue };
            let (sum, instructions) = lines.entry(line).or_default();
            reasons.iter().for_each(|(reason, count)| *sum.entry(reason.clone()).or_default() += count);
            instructions.push(LineInstruction {
                offset: *offset,
                text: instruction.text.clone(),
                samples: reasons.values().sum(),
                stall: most(reasons).unwrap_or_default().to_owned(),
            });
        }
        let hot = |(line, (reasons, instructions)): (&Line, (Reasons, Vec<LineInstruction>))| {
            let samples = reasons.values().sum();
            let stall = most(&reasons)?.to_owned();
            let mut states: Vec<(String, u64)> = reasons.into_iter().collect();
            states.sort_by_key(|(_, samples)| Reverse(*samples));
            let dependency = self.dependency(&stall, &instructions, listing, code);
            let share = share(samples, total);
            Some(HotLine { line: line.clone(), samples, share, stall, states, instructions, dependency })
        };
        let mut lines: Vec<HotLine> = lines.into_iter().filter_map(hot).collect();
        lines.sort_by_key(|hot| Reverse(hot.samples));
        lines
    }

    /// The wait at the instruction of a line that has the most samples in this state.
    fn dependency(
        &self,
        state: &str,
        instructions: &[LineInstruction],
        listing: &Listing,
        code: &MachineCode,
    ) -> Option<Dependency> {
        let in_state = |one: &&LineInstruction| self.places.get(&one.offset).and_then(|reasons| reasons.get(state));
        let hottest = instructions.iter().max_by_key(|one| in_state(one).copied().unwrap_or(0))?;
        let waiting = code.index(hottest.offset)?;
        let producer = code.producer(waiting, DependencyState::of(state)?)?;
        let (waiting, producer) = (code.instructions.get(waiting)?, code.instructions.get(producer)?);
        let listed = listing.at(producer.offset);
        let text = |offset: u64, mnemonic: &str| {
            listing.at(offset).and_then(|one| one.text.clone()).unwrap_or_else(|| mnemonic.to_owned())
        };
        Some(Dependency {
            waiting: text(waiting.offset, &waiting.mnemonic),
            producer: text(producer.offset, &producer.mnemonic),
            kind: producer.operation.noun(),
            line: listed.and_then(|one| listing.line(one.line)).cloned(),
        })
    }
}

fn share(part: u64, total: u64) -> f64 {
    100.0 * part as f64 / total as f64
}

/// The reason with the most samples.
fn most(reasons: &Reasons) -> Option<&str> {
    reasons.iter().max_by_key(|(_, count)| **count).map(|(reason, _)| reason.as_str())
}

fn address(correlation: &MetricValue<'_>) -> Option<u64> {
    correlation.as_u64().filter(|address| *address > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Report {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/full1.ncu-rep.zst");
        Report::open(path).unwrap()
    }

    #[test]
    fn rules_come_with_their_estimates_largest_first() {
        let report = full();
        let notes = rules(&report.launch(0).unwrap()).unwrap();
        assert!(notes.len() >= 10, "{}", notes.len());
        let (scope, percent) = notes[0].speedup.unwrap();
        assert_eq!((notes[0].title.as_str(), scope), ("Low Utilization", SpeedupScope::Local));
        assert!((percent - 90.7).abs() < 0.05, "{percent}");
        assert!(notes.iter().all(|n| !n.text.contains("@url")));
    }

    #[test]
    fn samples_add_up_and_the_hottest_instruction_is_first() {
        let report = full();
        let samples = InstructionSamples::of(&report.launch(0).unwrap()).unwrap();
        let spots = samples.hottest(&Listing::default());
        assert_eq!(spots.len(), HOTTEST);
        assert!(spots.windows(2).all(|pair| pair[0].samples >= pair[1].samples));
        // 66,305 samples in the launch, according to smsp__pcsamp_sample_count
        let total = spots[0].samples as f64 * 100.0 / spots[0].share;
        assert!((total - 66_305.0).abs() < 1.0, "{total}");
        assert!(spots.iter().all(|spot| spot.offset % 16 == 0), "{spots:?}");
    }

    /// The lines of a kernel of which each instruction has its own, from samples by the instruction's index.
    fn lines_of(code: &[(&str, u32)], samples: &[(u64, &[(&str, u64)])]) -> Vec<HotLine> {
        let instruction = |(at, (text, _)): (usize, &(&str, u32))| ncugate_model::Instruction {
            offset: 16 * at as u64,
            text: Some((*text).to_owned()),
            line: Some(at),
            inlined: None,
        };
        let line = |(_, line): &(&str, u32)| Line { file: "k.cu".to_owned(), line: *line, text: None };
        let listing = Listing {
            instructions: code.iter().enumerate().map(instruction).collect(),
            lines: code.iter().map(line).collect(),
            lacks: Vec::new(),
        };
        let code = MachineCode::of_listing(&listing);
        let reasons = |all: &[(&str, u64)]| all.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect();
        let places = samples.iter().map(|(at, states)| (16 * at, reasons(states))).collect();
        let samples = InstructionSamples { places, ..InstructionSamples::default() };
        samples.with_waits_told_apart(&code).lines(&listing, &code)
    }

    fn states(lines: &[HotLine]) -> Vec<(u32, u64, &str)> {
        lines.iter().map(|hot| (hot.line.line, hot.samples, hot.stall.as_str())).collect()
    }

    /// A warp at a barrier has the address of the next instruction, which may be of an inlined function.
    #[test]
    fn waits_at_a_barrier_are_at_its_line_and_those_for_products_are_not() {
        let code = [
            ("BAR.SYNC.DEFER_BLOCKING 0x0", 194),
            ("SHF.R.S32.HI R2, RZ, 0x1f, R3", 105),
            ("WARPGROUP.DEPBAR.LE gsb0, 0x0", 29),
        ];
        let lines = lines_of(&code, &[(1, &[(BARRIER, 186), ("wait", 8)]), (2, &[(BARRIER, 118)])]);
        assert_eq!(states(&lines), [(194, 186, "barrier"), (29, 118, "asynchronous_products"), (105, 8, "wait")]);
    }

    #[test]
    fn waits_at_an_mbarrier_have_a_state_and_those_for_loads_keep_theirs() {
        let code = [
            ("LDG.E R4, desc[UR4][R2.64]", 10),
            ("IADD3 R4, R4, R5, RZ", 11),
            ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R0", 12),
            ("@!P0 BRA 0x20", 13),
            ("LDS R8, [R6]", 14),
            ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R0", 15),
            ("@!P0 BRA 0x50", 16),
            ("UTMALDG.4D [UR24], [UR10]", 17),
            ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR6], R0", 18),
            ("@!P0 BRA 0x80", 19),
            ("EXIT", 20),
        ];
        let long = |count: u64| [(LONG_SCOREBOARD, count)];
        let lines = lines_of(&code, &[(1, &long(40)), (3, &long(30)), (6, &long(20)), (9, &long(10))]);
        let expected = [
            (11, 40, "long_scoreboard"),
            (13, 30, "mbarrier_for_data"),
            (16, 20, "mbarrier_for_free_slot"),
            (19, 10, "mbarrier"),
        ];
        assert_eq!(states(&lines), expected);
        let awaited = lines[1].dependency.as_ref().unwrap();
        assert_eq!((awaited.kind, awaited.line.as_ref().map(|line| line.line)), ("mbarrier", Some(12)));
    }

    #[test]
    fn lines_come_from_the_report_where_it_holds_the_code() {
        let report = full();
        let launch = report.launch(0).unwrap();
        let samples = InstructionSamples::of(&launch).unwrap();
        let listing = listed(&report, &launch, &samples).unwrap().unwrap();
        let spots = samples.hottest(&listing);
        assert!(
            spots.iter().all(|spot| spot.line.as_ref().is_some_and(|line| line.file == "attn.cu" && line.line > 12))
        );
        let lines = samples.lines(&listing, &MachineCode::default());
        assert!(lines.windows(2).all(|pair| pair[0].samples >= pair[1].samples));
        assert!(lines[0].samples > spots[0].samples, "a line adds up its instructions");
        let (hot, sum) = (&lines[0], |counts: Vec<u64>| counts.into_iter().sum::<u64>());
        assert_eq!(sum(hot.states.iter().map(|(_, samples)| *samples).collect()), hot.samples);
        assert_eq!(sum(hot.instructions.iter().map(|one| one.samples).collect()), hot.samples);
        assert_eq!(listing.lacks, [ListingError::NotAsked.to_string()]);
    }
}

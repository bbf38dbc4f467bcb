//! Numbers about the executed instructions and their waits, which rules read.

use super::instruction::{CodeInstruction, ConversionKind, FloatFormat, FloatOperation, MemorySpace, Operation};
use super::producer::DependencyState;
use super::word::INSTRUCTION;
use super::{MachineCode, MbarrierWait};
use crate::profiler::{BARRIER, InstructionSamples, LONG_SCOREBOARD};

/// A number from the samples of a launch, by the name that rules use.
pub type SampledFact = (&'static str, f64);

/// Share of executed instructions that may be unknown: of decoded words, and of a listing. A listing has the text of every
/// instruction with a sample, so that what it lacks took no time.
const UNKNOWN: f64 = 0.03;
const UNLISTED: f64 = 0.5;
/// Share of the waits for results that may be without a known producer.
const UNEXPLAINED: f64 = 0.2;

/// Classes with their facts: percent of executed instructions, and percent of the samples that they take.
type CodeClass = (&'static str, Option<&'static str>, fn(&CodeInstruction) -> bool);

const CLASSES: [CodeClass; 7] = [
    ("f64_instruction_pct", Some("f64_time_pct"), is_double),
    ("f64_conversion_pct", None, |i| i.operation == Operation::Conversion(ConversionKind::Double)),
    ("shared_atomic_pct", Some("shared_atomic_time_pct"), |i| {
        matches!(i.operation, Operation::Atomic(MemorySpace::Shared) | Operation::CompareAndSwap(MemorySpace::Shared))
    }),
    ("local_access_pct", None, |i| {
        matches!(i.operation, Operation::Load(MemorySpace::Local) | Operation::Store(MemorySpace::Local))
    }),
    ("cas_pct", None, |i| matches!(i.operation, Operation::CompareAndSwap(_))),
    ("indexed_constant_pct", Some("indexed_constant_time_pct"), |i| {
        i.operation == Operation::Load(MemorySpace::IndexedConstant)
    }),
    ("barrier_pct", None, |i| i.operation == Operation::Barrier),
];

/// A fact about waits, and the producers that it counts.
type AwaitedKind = (&'static str, fn(Operation) -> bool);

/// Percent of all samples that wait for a result, by what produces it.
const WAITS: [AwaitedKind; 7] = [
    ("waits_for_global_loads_pct", |o| {
        matches!(o, Operation::Load(MemorySpace::Global) | Operation::AsyncCopy | Operation::AsyncCommit)
    }),
    ("waits_for_local_pct", |o| {
        matches!(o, Operation::Load(MemorySpace::Local) | Operation::Store(MemorySpace::Local))
    }),
    ("waits_for_shared_pct", |o| {
        matches!(o, Operation::Load(MemorySpace::Shared) | Operation::Store(MemorySpace::Shared))
    }),
    ("waits_for_special_functions_pct", |o| {
        matches!(o, Operation::SpecialFunction(_) | Operation::Conversion(_) | Operation::BitCount)
    }),
    ("waits_for_shuffles_pct", |o| matches!(o, Operation::Shuffle | Operation::Vote)),
    ("waits_for_constants_pct", |o| matches!(o, Operation::Load(MemorySpace::Constant | MemorySpace::IndexedConstant))),
    ("waits_for_atomics_pct", |o| matches!(o, Operation::Atomic(_) | Operation::CompareAndSwap(_))),
];

/// The facts of a launch. Facts of the mix are absent if too many executed instructions are unknown, facts of waits if
/// too many waits have no known producer.
pub fn code_facts(code: &MachineCode, samples: &InstructionSamples) -> Vec<SampledFact> {
    let mut facts: Vec<SampledFact> = Vec::new();
    let counted = samples.executed.len() * INSTRUCTION;
    let bytes = code.bytes.unwrap_or(counted as u64);
    facts.extend((bytes > 0).then_some(("code_bytes", bytes as f64)));
    if let (Some(all @ 1..), Some(on)) = (samples.threads, samples.threads_on) {
        facts.push(("predicated_off_pct", (100.0 * (1.0 - on as f64 / all as f64)).max(0.0)));
    }
    let mix = LaunchMix::of(code, samples);
    let unknown = samples.executed.values().map(|times| *times as f64).sum::<f64>() - mix.known;
    let tolerated = if code.bytes.is_some() { UNKNOWN } else { UNLISTED };
    if mix.known > 0.0 && unknown <= tolerated * (mix.known + unknown) {
        mix.add_shares(&mut facts);
    }
    add_excess(code, samples, &mut facts);
    add_states(code, samples, &mut facts);
    mix.add_waits(&mut facts);
    facts
}

/// Sectors that loads and stores of global memory request without need, in percent of all. Absent if one of an unknown
/// instruction is not needed.
fn add_excess(code: &MachineCode, samples: &InstructionSamples, facts: &mut Vec<SampledFact>) {
    let all: u64 = samples.sectors.values().map(|(all, _)| all).sum();
    let (mut loads, mut gathers, mut stores) = (0, 0, 0);
    for (offset, (all, ideal)) in &samples.sectors {
        let excess = all.saturating_sub(*ideal);
        let at = code.index(*offset);
        match at.and_then(|at| code.instructions.get(at)).map(|i| i.operation) {
            Some(Operation::Store(_)) => stores += excess,
            Some(Operation::Unknown) | None if excess > 0 => return,
            Some(_) => {
                loads += excess;
                gathers += if at.is_some_and(|at| code.is_gather(at)) { excess } else { 0 };
            }
            None => {}
        }
    }
    if all > 0 {
        facts.push(("load_excess_pct", 100.0 * loads as f64 / all as f64));
        facts.push(("gather_excess_pct", 100.0 * gathers as f64 / all as f64));
        facts.push(("store_excess_pct", 100.0 * stores as f64 / all as f64));
    }
}

/// Executions of an instruction for each warp from which it is in a loop. The two halves of a diverged warp may execute it
/// once each.
const REPEATED: f64 = 1.9;

/// States of warps that wait for others or for memory.
const STARTING: [&str; 3] = [BARRIER, LONG_SCOREBOARD, "membar"];

/// Percent of the samples of warps that wait for their asynchronous products or at mbarriers, and of those that wait before
/// the first loop.
fn add_states(code: &MachineCode, samples: &InstructionSamples, facts: &mut Vec<SampledFact>) {
    let all = samples.total() as f64;
    if all == 0.0 || code.instructions.is_empty() {
        return;
    }
    let of_products = samples.places.iter().filter(|(offset, _)| code.is_product(**offset));
    let products: u64 = of_products.filter_map(|(_, reasons)| reasons.get(BARRIER)).sum();
    facts.push(("waits_for_products_pct", 100.0 * products as f64 / all));
    let (mut at_mbarriers, mut for_data, mut for_slots) = (0, 0, 0);
    for (offset, reasons) in &samples.places {
        let Some(count) = reasons.get(LONG_SCOREBOARD) else { continue };
        let Some(wait) = code.mbarrier_wait(*offset) else { continue };
        at_mbarriers += count;
        match wait {
            MbarrierWait::Data => for_data += count,
            MbarrierWait::FreeSlot => for_slots += count,
            MbarrierWait::Unknown => {}
        }
    }
    facts.push(("waits_at_mbarriers_pct", 100.0 * at_mbarriers as f64 / all));
    facts.push(("mbarrier_data_pct", 100.0 * for_data as f64 / all));
    facts.push(("mbarrier_slot_pct", 100.0 * for_slots as f64 / all));
    // With called functions, the first counted instruction is not the kernel's.
    let Some(warps) = samples.executed.first_key_value().filter(|_| samples.functions.len() <= 1) else { return };
    let least = REPEATED * *warps.1 as f64;
    // A warp that diverged converges twice, and waits at an mbarrier in a loop of a few instructions.
    let is_step = |offset: &u64| {
        let instruction = code.index(*offset).and_then(|at| code.instructions.get(at));
        let of_waits = [Operation::Branch, Operation::TransactionBarrier, Operation::PhaseCheck];
        instruction.is_some_and(|i| !of_waits.contains(&i.operation))
    };
    let mut repeated = samples.executed.iter().filter(|(offset, times)| **times as f64 >= least && is_step(offset));
    let waits = |first: u64| {
        let places = samples.places.range(..first).filter(|(offset, _)| !code.is_product(**offset));
        places.flat_map(|(_, reasons)| STARTING.iter().filter_map(|state| reasons.get(*state))).sum()
    };
    let waiting: u64 = repeated.next().map_or(0, |(first, _)| waits(*first));
    facts.push(("start_wait_pct", 100.0 * waiting as f64 / all));
}

/// Executions and samples by instruction of the code.
struct LaunchMix<'a> {
    code: &'a MachineCode,
    /// Executions by index; 0 for instructions of an unknown class.
    executed: Vec<f64>,
    /// Executions of all instructions of a known class.
    known: f64,
    /// All samples.
    sampled: f64,
    records: Vec<SampleRecord>,
}

/// Samples at an instruction in one state.
#[derive(Debug, Clone, Copy)]
struct SampleRecord {
    /// Indices of the instruction and of the one that it waits for.
    at: Option<usize>,
    producer: Option<usize>,
    state: Option<DependencyState>,
    count: f64,
}

impl<'a> LaunchMix<'a> {
    fn of(code: &'a MachineCode, samples: &InstructionSamples) -> Self {
        let mut executed = vec![0.0; code.instructions.len()];
        for (offset, times) in &samples.executed {
            let index = code.index(*offset);
            let known =
                index.filter(|at| code.instructions.get(*at).is_some_and(|i| i.operation != Operation::Unknown));
            if let Some(slot) = known.and_then(|at| executed.get_mut(at)) {
                *slot = *times as f64;
            }
        }
        let mut records = Vec::new();
        for (offset, reasons) in &samples.places {
            let at = code.index(*offset);
            for (reason, count) in reasons {
                let state = DependencyState::of(reason);
                let producer = at.zip(state).and_then(|(at, state)| code.producer(at, state));
                records.push(SampleRecord { at, producer, state, count: *count as f64 });
            }
        }
        Self { code, known: executed.iter().sum(), executed, sampled: samples.total() as f64, records }
    }

    fn marks(&self, is_member: impl Fn(&CodeInstruction) -> bool) -> Vec<bool> {
        self.code.instructions.iter().map(is_member).collect()
    }

    fn executed(&self, marks: &[bool]) -> f64 {
        sum(self.executed.iter().zip(marks).filter(|(_, marked)| **marked).map(|(times, _)| *times))
    }

    /// Percent of the samples that wait for a marked instruction, or are at one without waiting for another; none without
    /// samples.
    fn percent_of_time(&self, marks: &[bool]) -> Option<f64> {
        let is_marked = |at: Option<usize>| at.and_then(|at| marks.get(at)).is_some_and(|marked| *marked);
        let spent = self.records.iter().filter(|record| is_marked(record.producer.or(record.at)));
        (self.sampled > 0.0).then(|| 100.0 * sum(spent.map(|record| record.count)) / self.sampled)
    }

    fn add_shares(&self, facts: &mut Vec<SampledFact>) {
        let mut add = |marks: &[bool], count: Option<&'static str>, time: Option<&'static str>| {
            facts.extend(count.map(|name| (name, 100.0 * self.executed(marks) / self.known)));
            facts.extend(time.and_then(|name| Some((name, self.percent_of_time(marks)?))));
        };
        for (count, time, is_member) in CLASSES {
            add(&self.marks(is_member), Some(count), time);
        }
        add(&self.code.integer_divisions(), Some("integer_division_pct"), Some("integer_division_time_pct"));
        add(&self.code.swap_loops(), None, Some("cas_time_pct"));
        add(&self.code.exact_functions(), Some("exact_function_pct"), Some("exact_function_time_pct"));
        add(&self.code.unfused_additions(), Some("unfused_pct"), Some("unfused_time_pct"));
        let fused = self.executed(&self.marks(|i| matches!(i.operation, Operation::Float(FloatOperation::Fused, _))));
        if fused > 0.0 {
            let loaded = self.executed(&self.code.loaded_products());
            facts.push(("loaded_product_pct", 100.0 * loaded / fused));
        }
        facts.extend(self.copying_warps().map(|percent| ("copying_warps_pct", percent)));
        let accesses = self.executed(&self.marks(|i| is_global_access(i) && i.bytes.is_some()));
        if accesses > 0.0 {
            let narrow = self.marks(|i| is_global_access(i) && i.bytes.is_some_and(|bytes| bytes <= 2));
            facts.push(("narrow_access_pct", 100.0 * self.executed(&narrow) / accesses));
            facts.extend(self.percent_of_time(&narrow).map(|percent| ("narrow_access_time_pct", percent)));
            let executions = self.code.instructions.iter().zip(&self.executed).filter(|(i, _)| is_global_access(i));
            let moved: f64 = executions.filter_map(|(i, times)| Some(f64::from(i.bytes?) * times)).sum();
            facts.push(("global_access_bytes", moved / accesses));
        }
    }

    /// Executions of the copies of a loop in percent of those of its barrier: each warp passes the barrier once a step, and
    /// below 100 some warps copy for the others. None without a loop that has both.
    fn copying_warps(&self) -> Option<f64> {
        let most = |inside: &std::ops::RangeInclusive<usize>, is_kind: fn(Operation) -> bool| {
            let here = inside.clone().filter_map(|at| Some((self.code.instructions.get(at)?, self.executed.get(at)?)));
            here.filter(|(i, _)| is_kind(i.operation)).map(|(_, times)| *times).fold(0.0, f64::max)
        };
        let loops = self.code.loops.iter().filter_map(|(head, end)| {
            let inside = *head..=*end;
            let barriers = most(&inside, |o| o == Operation::Barrier);
            let copies = most(&inside, |o| matches!(o, Operation::AsyncCopy | Operation::BulkLoad));
            (barriers > 0.0 && copies > 0.0).then_some((end - head, 100.0 * copies / barriers))
        });
        // the innermost loop has the step of a tile
        loops.min_by_key(|(length, _)| *length).map(|(_, percent)| percent)
    }

    fn add_waits(&self, facts: &mut Vec<SampledFact>) {
        let for_results =
            || self.records.iter().filter(|r| r.state.is_some_and(|state| state != DependencyState::Wait));
        let waiting: f64 = for_results().map(|record| record.count).sum();
        let of = |record: &SampleRecord| Some((self.code.instructions.get(record.producer?)?.operation, record.count));
        let explained: Vec<(Operation, f64)> = for_results().filter_map(of).collect();
        let lost = waiting - explained.iter().map(|(_, count)| count).sum::<f64>();
        if self.sampled == 0.0 || lost > UNEXPLAINED * waiting {
            return;
        }
        for (name, is_kind) in WAITS {
            let samples = sum(explained.iter().filter(|(kind, _)| is_kind(*kind)).map(|(_, count)| *count));
            facts.push((name, 100.0 * samples / self.sampled));
        }
    }
}

/// The sum, which of nothing is 0 and not -0 as `Iterator::sum` says.
fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |sum, number| sum + number)
}

fn is_double(instruction: &CodeInstruction) -> bool {
    matches!(
        instruction.operation,
        Operation::Float(_, FloatFormat::Double) | Operation::Conversion(ConversionKind::Double)
    )
}

fn is_global_access(instruction: &CodeInstruction) -> bool {
    matches!(instruction.operation, Operation::Load(MemorySpace::Global) | Operation::Store(MemorySpace::Global))
}

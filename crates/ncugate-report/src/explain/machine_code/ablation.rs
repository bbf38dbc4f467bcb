//! Changes of machine code that remove one cost, and what their garbage can reach.
//!
//! An instruction that is switched off leaves old values in its registers. They are followed forward through registers,
//! predicates and, without regard to addresses, shared and local memory. A copy in which they decide how often a loop runs does
//! other work, or never ends; one in which they are addresses has other traffic, or faults. Neither shows what a cost is worth.

use super::instruction::{FloatFormat, FloatOperation, MemorySpace, Register};
use super::{CodeInstruction, MachineCode, Operation};
use ncugate_model::Ablation;
use ncugate_model::cubin::{LineTable, WordEdit};
use std::collections::BTreeMap;

/// Most source lines whose loads are removed one line at a time.
const LINES: usize = 6;
/// Passes over the code until nothing new is reached; nested loops need one for each level.
const PASSES: usize = 64;

/// A change of a kernel's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeEdit {
    pub kind: Ablation,
    /// By the offset of the instruction.
    pub words: Vec<(u64, WordEdit)>,
    /// Instructions of the kind that cannot be changed.
    pub left: u32,
    pub risk: EditRisk,
}

/// What a value that is no longer computed can decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum EditRisk {
    /// Other values only.
    #[default]
    None,
    Address,
    /// How often a loop runs, or something that is not followed.
    Loop,
}

/// The registers that hold garbage.
type Garbage = [u64; Register::COUNT.div_ceil(64)];

fn holds(garbage: &Garbage, register: u16) -> bool {
    garbage[usize::from(register) / 64] >> (register % 64) & 1 == 1
}

fn put(garbage: &mut Garbage, register: u16, is_garbage: bool) {
    let bit = 1 << (register % 64);
    let word = &mut garbage[usize::from(register) / 64];
    if is_garbage { *word |= bit } else { *word &= !bit }
}

/// Bits of a machine word.
fn bits(word: &[u8; 16], at: u32, count: u32) -> u64 {
    (u128::from_le_bytes(*word) >> at) as u64 & ((1 << count) - 1)
}

/// The edit of an instruction for each cost that it belongs to; none if it belongs to it and cannot be changed.
fn costs(one: &CodeInstruction, word: &[u8; 16], major: u32) -> Vec<(Ablation, Option<WordEdit>)> {
    use MemorySpace::{Global, IndexedConstant, Local, Shared};
    let name = &*one.mnemonic;
    let off = Some(WordEdit::SwitchedOff);
    let one_address = || {
        // an offset below zero needs its register
        let is_plain = bits(word, 24, 8) != 255 && bits(word, 63, 1) == 0;
        is_plain.then_some(WordEdit::OneAddress)
    };
    match one.operation {
        Operation::Barrier if name == "BAR" => vec![(Ablation::Barriers, off)],
        Operation::Load(Local) | Operation::Store(Local) => vec![(Ablation::LocalMemory, off)],
        Operation::Load(Global) => {
            let past = major >= 8 && is_strong(word);
            let cached = past.then_some((Ablation::UncachedLoads, Some(WordEdit::Cached)));
            [(Ablation::GlobalLoads, off), (Ablation::GlobalMemory, off)].into_iter().chain(cached).collect()
        }
        Operation::AsyncCopy => vec![(Ablation::GlobalLoads, off), (Ablation::GlobalMemory, off)],
        Operation::Store(Global) => vec![(Ablation::GlobalStores, off), (Ablation::GlobalMemory, off)],
        // What waits for a bulk copy would wait forever.
        Operation::BulkLoad => vec![(Ablation::GlobalLoads, None), (Ablation::GlobalMemory, None)],
        Operation::BulkCopy => vec![(Ablation::GlobalStores, None), (Ablation::GlobalMemory, None)],
        Operation::Load(Shared) | Operation::Store(Shared) => {
            // One address for accesses of 8 and 16 bytes would save more than their conflicts.
            let narrow = one.bytes.is_some_and(|bytes| bytes <= 4) && !name.ends_with('M');
            vec![(Ablation::SharedMemory, off), (Ablation::BankConflicts, one_address().filter(|_| narrow))]
        }
        Operation::Load(IndexedConstant) => vec![(Ablation::IndexedConstants, one_address())],
        Operation::Atomic(_) | Operation::CompareAndSwap(_) => vec![(Ablation::Atomics, off)],
        Operation::SpecialFunction(_) => {
            vec![(Ablation::SpecialFunctions, off), (Ablation::SingleAndHalfPrecision, off)]
        }
        Operation::Float(_, FloatFormat::Double)
        | Operation::Conversion(super::instruction::ConversionKind::Double) => {
            vec![(Ablation::DoublePrecision, off)]
        }
        // Without a source it is a constant, perhaps an address.
        Operation::Float(FloatOperation::Comparison, _) => Vec::new(),
        Operation::Float(..) if !one.reads.is_empty() => vec![(Ablation::SingleAndHalfPrecision, off)],
        Operation::Tensor if name.ends_with("MMA") && !name.starts_with("UTC") => {
            // Asynchronous products are waited for.
            let is_of_a_warp = !matches!(name, "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA");
            vec![(Ablation::MatrixProducts, off.filter(|_| is_of_a_warp))]
        }
        Operation::Shuffle => vec![(Ablation::Shuffles, off)],
        _ => Vec::new(),
    }
}

/// Whether a load has an order or a scope: bits 77 to 80 are 0 for a weak one, 4 for `.CONSTANT` (8.0 and later).
fn is_strong(word: &[u8; 16]) -> bool {
    !matches!(bits(word, 77, 4), 0 | 4)
}

/// The instructions of a kind.
#[derive(Default)]
struct Kind {
    /// Those that are changed, as indices.
    at: Vec<usize>,
    words: Vec<(u64, WordEdit)>,
    left: u32,
}

impl MachineCode {
    /// The changes of this code, of which `code` has the words; loads by source line if `lines` is not empty.
    pub fn edits(&self, code: &[u8], major: u32, lines: &LineTable) -> Vec<CodeEdit> {
        let words = code.as_chunks::<16>().0;
        let has_barrier_results = self.instructions.iter().any(|one| &*one.mnemonic == "B2R");
        let mut kinds: BTreeMap<Ablation, Kind> = BTreeMap::new();
        for (at, (one, word)) in self.instructions.iter().zip(words).enumerate() {
            let mut costs = costs(one, word, major);
            if has_barrier_results {
                costs.retain(|(cost, _)| *cost != Ablation::Barriers);
            }
            let is_load = costs.iter().any(|(cost, _)| *cost == Ablation::GlobalLoads);
            if let Some(place) = lines.at(one.offset).first().filter(|_| is_load) {
                let line = Ablation::LoadsAt { file: place.file.clone(), line: place.line };
                costs.push((line, Some(WordEdit::SwitchedOff)));
            }
            for (cost, edit) in costs {
                let kind = kinds.entry(cost).or_default();
                match edit {
                    Some(edit) => {
                        kind.at.push(at);
                        kind.words.push((one.offset, edit));
                    }
                    None => kind.left += 1,
                }
            }
        }
        kinds.retain(|_, kind| !kind.at.is_empty());
        let is_line = |(cost, _): &(Ablation, Kind)| matches!(cost, Ablation::LoadsAt { .. });
        let (mut by_line, kinds): (Vec<_>, Vec<_>) = kinds.into_iter().partition(is_line);
        // One line with all loads says nothing new, and short ones hardly anything.
        by_line.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.at.len()));
        by_line.truncate(if by_line.len() > 1 { LINES } else { 0 });
        let edit = |(cost, Kind { at, words: edits, left }): (Ablation, Kind)| {
            let risk = self.risk(&at, &cost, words);
            CodeEdit { kind: cost, words: edits, left, risk }
        };
        kinds.into_iter().chain(by_line).map(edit).collect()
    }

    /// What the results of these instructions, and of what reads the memory that they no longer order or write, can decide.
    fn risk(&self, edited: &[usize], kind: &Ablation, words: &[[u8; 16]]) -> EditRisk {
        let is_stale = |at: usize, one: &CodeInstruction| match (kind, one.operation) {
            (Ablation::Barriers | Ablation::SharedMemory, Operation::Load(MemorySpace::Shared)) => true,
            (Ablation::BankConflicts, Operation::Load(MemorySpace::Shared)) => true,
            (Ablation::Atomics, Operation::Load(MemorySpace::Shared)) => true,
            // what other blocks have written is read by loads past L1
            (
                Ablation::Barriers
                | Ablation::Atomics
                | Ablation::GlobalStores
                | Ablation::GlobalMemory
                | Ablation::UncachedLoads,
                Operation::Load(MemorySpace::Global),
            ) => is_strong(&words[at]),
            (Ablation::LocalMemory, Operation::Load(MemorySpace::Local)) => true,
            // a poll by atomics
            (
                Ablation::GlobalStores | Ablation::GlobalMemory | Ablation::Barriers,
                Operation::Atomic(_) | Operation::CompareAndSwap(_),
            ) => true,
            _ => false,
        };
        let mut reach = Reach::default();
        let mut before: Vec<Garbage> = vec![[0; Register::COUNT.div_ceil(64)]; self.instructions.len()];
        let in_loop = {
            let mut inside = vec![false; self.instructions.len()];
            self.loops.iter().for_each(|(head, end)| inside[*head..=*end].fill(true));
            inside
        };
        for _ in 0..PASSES {
            let mut is_settled = true;
            let memory = reach.memory;
            for (at, (one, word)) in self.instructions.iter().zip(words).enumerate() {
                let mut garbage = before[at];
                let is_source = edited.binary_search(&at).is_ok() || is_stale(at, one);
                reach.step(one, word, is_source, in_loop[at], &mut garbage);
                let ends =
                    one.guard.is_none() && matches!(&*one.mnemonic, "EXIT" | "RET" | "BRA") && one.reads.is_empty();
                let next = Some(at + 1).filter(|next| !ends && *next < before.len());
                let target = one.target.and_then(|target| self.index(target));
                for follower in next.into_iter().chain(target) {
                    let merged: Garbage = std::array::from_fn(|i| before[follower][i] | garbage[i]);
                    if merged != before[follower] {
                        before[follower] = merged;
                        is_settled &= follower > at;
                    }
                }
            }
            if is_settled && memory == reach.memory {
                return reach.risk;
            }
        }
        EditRisk::Loop
    }
}

/// What garbage has reached so far.
struct Reach {
    risk: EditRisk,
    /// Whether shared and local memory hold garbage.
    memory: (bool, bool),
}

impl Default for Reach {
    fn default() -> Self {
        Self { risk: EditRisk::None, memory: (false, false) }
    }
}

impl Reach {
    fn step(&mut self, one: &CodeInstruction, word: &[u8; 16], is_source: bool, in_loop: bool, garbage: &mut Garbage) {
        use MemorySpace::{Global, Local, Shared};
        let name = &*one.mnemonic;
        let read = |range: &std::ops::Range<u16>| range.clone().any(|register| holds(garbage, register));
        let mut is_garbage = one.reads.iter().any(read) || one.guard.is_some_and(|guard| read(&guard.range(1)));
        let reads_predicates = matches!(name, "PLOP3" | "VOTE" | "P2R" | "SEL" | "FSEL");
        is_garbage |= reads_predicates && read(&Register::PREDICATES);
        match one.operation {
            Operation::Branch if is_garbage && in_loop => self.risk = EditRisk::Loop,
            Operation::Branch | Operation::Control => return,
            Operation::Load(_) | Operation::Store(_) | Operation::Atomic(_) | Operation::CompareAndSwap(_) => {
                // Without a register, or with a uniform one alone, its field says RZ.
                let length =
                    if matches!(one.operation, Operation::Load(Global) | Operation::Store(Global)) { 2 } else { 1 };
                let address = Register::vector(bits(word, 24, 8)).map(|register| register.range(length));
                if address.is_some_and(|address| read(&address)) {
                    self.risk = self.risk.max(EditRisk::Address);
                }
                match one.operation {
                    Operation::Store(Shared) => self.memory.0 |= is_garbage,
                    Operation::Store(Local) => self.memory.1 |= is_garbage,
                    Operation::Load(Shared) => is_garbage |= self.memory.0,
                    Operation::Load(Local) => is_garbage |= self.memory.1,
                    _ => {}
                }
            }
            // the uniform pipe is not followed
            Operation::Vote | Operation::Integer if is_garbage && one.writes.is_empty() && name != "PLOP3" => {
                self.risk = EditRisk::Loop;
            }
            _ => {}
        }
        let is_garbage = is_garbage || is_source;
        for register in one.writes.iter().cloned().flatten() {
            if is_garbage || one.guard.is_none() {
                put(garbage, register, is_garbage);
            }
        }
        // the second predicate of a comparison, and those of logic and votes
        if matches!(name, "ISETP" | "FSETP" | "DSETP" | "HSETP2" | "PLOP3" | "VOTE") && is_garbage {
            for at in [81, 84] {
                let register = Register::predicate(bits(word, at, 3)).map(|one| one.range(1).start);
                register.into_iter().for_each(|register| put(garbage, register, true));
            }
        }
    }
}

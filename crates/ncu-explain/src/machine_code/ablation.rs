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
#[derive(Clone, PartialEq, Eq)]
struct Garbage {
    bits: [u64; Register::COUNT.div_ceil(64)],
    /// The guard under which a register holds none all the same; 0 for no guard.
    clean_under: [u8; Register::COUNT],
}

impl Garbage {
    const NONE: Self = Self { bits: [0; Register::COUNT.div_ceil(64)], clean_under: [0; Register::COUNT] };

    const fn has(&self, register: u16) -> bool {
        self.bits[register as usize / 64] >> (register % 64) & 1 == 1
    }

    /// Whether an instruction with this guard reads garbage there.
    const fn holds(&self, register: u16, guard: u8) -> bool {
        let clean = self.clean_under[register as usize];
        self.has(register) && (clean == 0 || clean != guard)
    }

    /// Notes that an instruction with this guard writes the register.
    fn put(&mut self, register: u16, guard: u8, is_garbage: bool) {
        let clean = match (is_garbage, guard, self.has(register)) {
            (true, 0, _) | (false, _, false) => 0,
            (true, guard, false) => guard ^ 8,
            (true, _, true) => 0,
            (false, guard, true) => guard,
        };
        self.clean_under[usize::from(register)] = clean;
        let bit = 1 << (register % 64);
        let word = &mut self.bits[usize::from(register) / 64];
        match is_garbage {
            true => *word |= bit,
            false if guard == 0 => *word &= !bit,
            false => {}
        }
    }

    /// Notes that a predicate has another value, which no earlier write was guarded by.
    fn forget(&mut self, predicate: u16) {
        let number = 1 + predicate as u8;
        self.clean_under
            .iter_mut()
            .filter(|guard| **guard == number || **guard == number ^ 8)
            .for_each(|guard| *guard = 0);
    }

    /// What may hold on one of two ways. Registers without garbage have no guard.
    fn merged(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for (at, other_bits) in other.bits.iter().enumerate() {
            both.bits[at] |= other_bits;
            let mut left = both.bits[at];
            while left != 0 {
                let register = (64 * at) as u16 + left.trailing_zeros() as u16;
                left &= left - 1;
                let [own, others] = [self, other].map(|one| one.clean_under[usize::from(register)]);
                both.clean_under[usize::from(register)] = match (self.has(register), other.has(register)) {
                    (true, true) if own != others => 0,
                    (true, _) => own,
                    (false, _) => others,
                };
            }
        }
        both
    }
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
        kinds.into_iter().chain(by_line).map(edit).chain(self.ended_at_once(words)).collect()
    }

    /// The first instruction becomes the kernel's exit.
    fn ended_at_once(&self, words: &[[u8; 16]]) -> Option<CodeEdit> {
        let exit = self.instructions.iter().position(|one| &*one.mnemonic == "EXIT" && one.guard.is_none())?;
        let edit = (self.instructions.first()?.offset, WordEdit::Replaced(*words.get(exit)?));
        Some(CodeEdit { kind: Ablation::BlockStarts, words: vec![edit], left: 0, risk: EditRisk::None })
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
        let mut before: Vec<Garbage> = vec![Garbage::NONE; self.instructions.len()];
        let in_loop = {
            let mut inside = vec![false; self.instructions.len()];
            self.loops.iter().for_each(|(head, end)| inside[*head..=*end].fill(true));
            inside
        };
        for _ in 0..PASSES {
            let mut is_settled = true;
            let memory = reach.memory;
            for (at, (one, word)) in self.instructions.iter().zip(words).enumerate() {
                let mut garbage = before[at].clone();
                let is_source = edited.binary_search(&at).is_ok() || is_stale(at, one);
                reach.step(one, word, is_source, in_loop[at], &mut garbage);
                let ends =
                    one.guard.is_none() && matches!(&*one.mnemonic, "EXIT" | "RET" | "BRA") && one.reads.is_empty();
                let next = Some(at + 1).filter(|next| !ends && *next < before.len());
                let target = one.target.and_then(|target| self.index(target));
                for follower in next.into_iter().chain(target) {
                    let merged = before[follower].merged(&garbage);
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
        // The number of the predicate from 1 on, and 8 for its negation: the two guards of a predicate differ in that bit.
        let is_uniform = name.starts_with('U');
        let guard = if one.guard.is_some() && !is_uniform {
            (1 + bits(word, 12, 3) as u8) | ((bits(word, 15, 1) as u8) << 3)
        } else {
            0
        };
        let read = |range: &std::ops::Range<u16>| range.clone().any(|register| garbage.holds(register, guard));
        let mut is_garbage = one.reads.iter().any(read) || one.guard.is_some_and(|guard| read(&guard.range(1)));
        let reads_predicates = matches!(name, "PLOP3" | "VOTE" | "P2R" | "SEL" | "FSEL");
        is_garbage |= reads_predicates && read(&Register::PREDICATES);
        match one.operation {
            Operation::Branch if is_garbage && in_loop => self.risk = EditRisk::Loop,
            Operation::Branch | Operation::Control => return,
            Operation::Load(_) | Operation::Store(_) | Operation::Atomic(_) | Operation::CompareAndSwap(_)
                if !is_uniform =>
            {
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
        // Both ways of a float division end with a quotient.
        let is_garbage = (is_garbage || is_source) && name != "FCHK";
        for register in one.writes.iter().cloned().flatten() {
            garbage.put(register, guard, is_garbage);
        }
        // The first predicate of a result, and the second one of comparisons and logic; other instructions have other things there.
        let is_access = matches!(one.operation, Operation::Load(_) | Operation::Store(_));
        for at in if is_access { 81..82 } else { 81..85 }.step_by(3) {
            let Some(predicate) = Register::predicate(bits(word, at, 3)).map(|one| one.range(1).start) else {
                continue;
            };
            garbage.forget(predicate - Register::PREDICATES.start);
            if is_garbage && matches!(name, "ISETP" | "FSETP" | "DSETP" | "HSETP2" | "PLOP3" | "VOTE") {
                garbage.put(predicate, 0, true);
            }
        }
        if name == "R2P" {
            (0..7).for_each(|predicate| garbage.forget(predicate));
            Register::PREDICATES.filter(|_| is_garbage).for_each(|predicate| garbage.put(predicate, 0, true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_of_one_guard_is_gone_after_a_write_under_it() {
        let (mut garbage, guard) = (Garbage::NONE, 1);
        garbage.put(9, 0, true);
        garbage.put(9, guard, false);
        assert!(garbage.holds(9, 0) && garbage.holds(9, guard ^ 8) && !garbage.holds(9, guard));
        let mut merged = garbage.merged(&Garbage::NONE);
        assert!(merged.holds(9, 0) && !merged.holds(9, guard), "the other way has none");
        let mut other = Garbage::NONE;
        other.put(9, 0, true);
        assert!(garbage.merged(&other).holds(9, guard) && other.merged(&garbage).holds(9, guard));
        merged.forget(1);
        assert!(!merged.holds(9, guard), "another predicate");
        merged.forget(0);
        assert!(merged.holds(9, guard), "the predicate has another value");
        let mut guarded = Garbage::NONE;
        guarded.put(9, guard, true);
        assert!(guarded.holds(9, guard) && guarded.holds(9, 0) && !guarded.holds(9, guard ^ 8));
        guarded.put(9, guard, true);
        assert!(guarded.holds(9, guard));
        guarded.put(9, 0, false);
        assert!(!guarded.holds(9, guard) && !guarded.holds(9, 0));
    }
}

//! Sequences of instructions that compute one operation of the source: integer divisions, exact functions, unfused products.

use super::MachineCode;
use super::instruction::{
    CodeInstruction, ConversionKind, FloatFormat, FloatOperation, Operation, Register, SpecialFunction,
};
use std::ops::Range;

/// Steps of an integer division from its first to its last instruction: the reciprocal, its correction, the quotient
/// and two corrections of that.
const DIVISION_STEPS: u8 = 13;
/// Steps left at the remainder of the first quotient. From there on only comparisons and corrections follow.
const CORRECTIONS: u8 = 4;
/// What an integer division adds to the bits of the reciprocal.
const RECIPROCAL_CORRECTION: u32 = 0x0fff_fffe;
/// Instructions around the mark of an exact function in which its reciprocal is.
const NEAR: usize = 10;
/// Constants that only the compiler's exact functions use, and the steps from there to the result: the reductions of
/// sine and cosine, of the power, of the logarithm, and of the hyperbolic tangent.
const REDUCTIONS: [(u32, u8); 4] = [(0x3f22_f983, 16), (0xc0ca_fb0d, 30), (0xc0d5_5555, 16), (0x4038_aa3b, 8)];
/// Bounds in checks before the fast path of an exact square root and an exact reciprocal.
const CHECKS: [u32; 2] = [0x727f_ffff, 0x01ff_ffff];

/// The angle from which sine and cosine are reduced in integers of many words, the factor of the reduction before that
/// comparison, and the most instructions of the long reduction.
const LARGE_ANGLES: [u32; 2] = [0x47ce_4780, 0x3f22_f983];
const LONG_REDUCTION: usize = 200;

impl MachineCode {
    /// For each instruction, whether it belongs to an integer division. The GPU has no such instruction: the compiler converts
    /// the divisor with rounding up, which nothing else does, and continues from its reciprocal in integers. One of 64 bits
    /// first asks whether 32 bits suffice, and skips a block with the short division if they do not.
    pub(super) fn integer_divisions(&self) -> Vec<bool> {
        let seed = |i: &CodeInstruction| match i.operation {
            Operation::Conversion(ConversionKind::IntegerUp) => Some(DIVISION_STEPS),
            // a listing may lack the conversion
            Operation::Integer if i.immediate == Some(RECIPROCAL_CORRECTION) && is_addition(i) => {
                Some(DIVISION_STEPS - 2)
            }
            _ => None,
        };
        let seeds: Vec<Option<u8>> = self.instructions.iter().map(seed).collect();
        let blocks: Vec<Range<usize>> = (0..seeds.len())
            .filter(|at| seeds.get(*at) == Some(&Some(DIVISION_STEPS)))
            .filter_map(|at| self.skipped_block(at))
            .collect();
        let mut marks = self.chains(seeds, |instruction, left| {
            let is_of_kind = matches!(
                instruction.operation,
                Operation::Integer | Operation::Conversion(_) | Operation::SpecialFunction(SpecialFunction::Reciprocal)
            );
            let is_correction = instruction.guard.is_some() || instruction.mnemonic.starts_with("ISETP");
            is_of_kind && (left >= CORRECTIONS || is_correction)
        });
        for block in blocks {
            marks.get_mut(block).into_iter().for_each(|block| block.fill(true));
        }
        marks
    }

    /// The block around a division that a branch directly before it skips, from the question to the point at which the
    /// warp converges. None if the block accesses memory.
    fn skipped_block(&self, division: usize) -> Option<Range<usize>> {
        let behind = self.instructions.get(division..)?.iter().take(BLOCK);
        let end =
            division + behind.take_while(|i| !is_memory(i.operation)).position(|i| i.mnemonic.starts_with("BSYNC"))?;
        let first = division.saturating_sub(QUESTION);
        let before = self.instructions.get(first..division)?;
        let start = before.iter().rposition(|i| i.mnemonic.starts_with("BSSY") || i.mnemonic.starts_with("BSYNC"))?;
        let is_asked = before.iter().skip(start).any(|i| i.guard.is_some() && i.mnemonic.starts_with("BRA"));
        let is_open = before.get(start).is_some_and(|i| i.mnemonic.starts_with("BSSY"));
        (is_asked && is_open).then_some(first + start..end + 1)
    }

    /// For each instruction, whether it belongs to an exact division, square root, reciprocal, sine, cosine, power, logarithm or
    /// hyperbolic tangent of floats, on its fast path.
    pub(super) fn exact_functions(&self) -> Vec<bool> {
        let mut seeds = vec![None; self.instructions.len()];
        for (at, instruction) in self.instructions.iter().enumerate() {
            let reduction = REDUCTIONS.iter().find(|(bits, _)| instruction.immediate == Some(*bits));
            if let (Some((_, steps)), Some(seed)) = (reduction, seeds.get_mut(at)) {
                *seed = Some(*steps);
            }
            let is_check = instruction.operation == Operation::DivisionCheck;
            let is_bound = instruction.immediate.is_some_and(|bits| CHECKS.contains(&bits));
            if is_check || is_bound && instruction.operation == Operation::Integer {
                let steps = if is_check { 5 } else { 3 };
                let first = at.saturating_sub(NEAR);
                let near = self.instructions.get(first..(at + NEAR).min(self.instructions.len())).unwrap_or_default();
                for (place, near) in (first..).zip(near) {
                    let starts = matches!(near.operation, Operation::SpecialFunction(_));
                    if let Some(seed) = seeds.get_mut(place).filter(|_| starts) {
                        *seed = Some(steps);
                    }
                }
            }
        }
        let mut marks = self.chains(seeds, |instruction, _| {
            matches!(
                instruction.operation,
                Operation::Float(_, FloatFormat::Single)
                    | Operation::Integer
                    | Operation::Conversion(_)
                    | Operation::SpecialFunction(_)
                    | Operation::DivisionCheck
            )
        });
        for at in 0..self.instructions.len() {
            // a listing may lack the comparison
            if self.instructions.get(at).and_then(|i| i.immediate).is_some_and(|bits| LARGE_ANGLES.contains(&bits)) {
                let region = self.skipped_by_next_branch(at);
                marks.get_mut(region).into_iter().for_each(|region| region.fill(true));
            }
        }
        marks
    }

    /// The instructions that the first conditional branch behind `at` skips.
    fn skipped_by_next_branch(&self, at: usize) -> Range<usize> {
        let after = self.instructions.get(at..).unwrap_or_default();
        let is_branch = |i: &CodeInstruction| i.guard.is_some() && i.mnemonic.starts_with("BRA");
        let Some(branch) = after.iter().take(BLOCK).position(is_branch).map(|ahead| at + ahead) else { return at..at };
        let target =
            self.instructions.get(branch).and_then(|branch| branch.target).and_then(|target| self.index(target));
        // text has no targets: up to the point at which the warp converges
        let converged = || {
            let behind = self.instructions.get(branch..)?.iter();
            behind.take(LONG_REDUCTION).position(|i| i.mnemonic.starts_with("BSYNC")).map(|ahead| branch + ahead)
        };
        let end = target.or_else(converged).unwrap_or(branch);
        branch..end.min(branch + LONG_REDUCTION).max(branch)
    }

    /// For each instruction, whether it is a compare-and-swap or belongs to the short loop that repeats one.
    pub(super) fn swap_loops(&self) -> Vec<bool> {
        let is_swap = |i: &CodeInstruction| matches!(i.operation, Operation::CompareAndSwap(_));
        let mut marks: Vec<bool> = self.instructions.iter().map(is_swap).collect();
        for at in 0..marks.len() {
            if !self.instructions.get(at).is_some_and(is_swap) {
                continue;
            }
            if !self.has_targets {
                // text has no targets: the straight code around it
                let straight = |index: &usize| self.instructions.get(*index).is_some_and(|i| !is_jump(i.operation));
                let first = (0..at).rev().take(BLOCK / 2).take_while(straight).last().unwrap_or(at);
                let count = self.instructions.len();
                let last = (at + 1..count).take(BLOCK / 2).take_while(straight).last().unwrap_or(at);
                marks.get_mut(first..(last + 2).min(count)).into_iter().for_each(|repeated| repeated.fill(true));
                continue;
            }
            let around =
                self.loops.iter().filter(|(head, end)| (**head..=**end).contains(&at) && **end - **head < BLOCK);
            if let Some((head, end)) = around.min_by_key(|(head, end)| **end - **head) {
                marks.get_mut(*head..=*end).into_iter().for_each(|repeated| repeated.fill(true));
            }
        }
        marks
    }

    /// Marks the seeds, and the instructions that use their results over at most the given steps if they follow with so
    /// many steps left. The result that is the furthest along counts: with it the operation ends.
    fn chains(&self, seeds: Vec<Option<u8>>, follows: impl Fn(&CodeInstruction, u8) -> bool) -> Vec<bool> {
        let mut left = [0u8; Register::COUNT];
        let mut marks = Vec::with_capacity(self.instructions.len());
        for (instruction, seed) in self.instructions.iter().zip(seeds) {
            let read = instruction.reads.iter().cloned().flatten().filter_map(|r| left.get(usize::from(r)));
            let before = read.copied().filter(|left| *left > 0).min().unwrap_or(0);
            let here = seed.or_else(|| (before > 0 && follows(instruction, before - 1)).then(|| before - 1));
            marks.push(here.is_some());
            for register in instruction.writes.iter().cloned().flatten() {
                if let Some(slot) = left.get_mut(usize::from(register)) {
                    *slot = match (here, instruction.guard) {
                        (Some(steps), _) => steps,
                        (None, None) => 0,
                        (None, Some(_)) => *slot,
                    };
                }
            }
        }
        marks
    }

    /// For each instruction, whether it is an addition of a product that nothing else reads: the two could be one
    /// fused multiply-add.
    pub(super) fn unfused_additions(&self) -> Vec<bool> {
        (0..self.instructions.len()).map(|at| self.is_unfused(at)).collect()
    }

    fn is_unfused(&self, at: usize) -> bool {
        let Some(addition) = self.instructions.get(at) else { return false };
        let Operation::Float(FloatOperation::Add, format) = addition.operation else { return false };
        let first = at.saturating_sub(BLOCK);
        let before = self.instructions.get(first..at).unwrap_or_default();
        let straight = before.iter().rev().take_while(|instruction| !is_jump(instruction.operation));
        let mut between: Vec<&CodeInstruction> = Vec::new();
        for earlier in straight {
            if earlier.feeds(addition) {
                let is_product = earlier.operation == Operation::Float(FloatOperation::Multiply, format)
                    && earlier.guard == addition.guard
                    && !between.iter().any(|other| earlier.feeds(other));
                if is_product && self.is_last_use(at, earlier.writes.first().map_or(0, |range| range.start)) {
                    return true;
                }
            }
            between.push(earlier);
        }
        false
    }

    /// Whether a register is written before it is read after the instruction at `at`, as far as the code runs straight on.
    fn is_last_use(&self, at: usize, register: u16) -> bool {
        let is_own = self.instructions.get(at).is_some_and(|instruction| instruction.writes(register));
        let after = self.instructions.get(at + 1..(at + 1 + BLOCK).min(self.instructions.len())).unwrap_or_default();
        let next = after.iter().find(|next| next.reads(register) || next.writes(register));
        is_own || next.is_none_or(|next| !next.reads(register))
    }
}

/// Instructions searched in one direction for a product and its uses.
const BLOCK: usize = 48;

/// Instructions before a division in which a branch around it is.
const QUESTION: usize = 24;

fn is_addition(instruction: &CodeInstruction) -> bool {
    ["IADD", "VIADD"].iter().any(|name| instruction.mnemonic.starts_with(name))
}

fn is_memory(operation: Operation) -> bool {
    matches!(operation, Operation::Load(_) | Operation::Store(_) | Operation::Atomic(_) | Operation::CompareAndSwap(_))
}

fn is_jump(operation: Operation) -> bool {
    matches!(operation, Operation::Branch | Operation::Call)
}

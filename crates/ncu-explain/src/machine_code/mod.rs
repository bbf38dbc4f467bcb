//! The machine code of a kernel: classes and registers of its instructions, what they wait for, and the mix that executes.
//!
//! Instructions come from the words of a cubin, or, for reports without code, from the text that the run stored.

mod ablation;
mod instruction;
mod mbarrier;
mod mix;
mod producer;
mod sequence;
mod text;
mod word;

pub use ablation::{CodeEdit, EditRisk};
pub use instruction::CodeInstruction;
use instruction::Operation;
pub use mbarrier::MbarrierWait;
pub use mix::{SampledFact, code_facts};
pub use producer::DependencyState;

use ncugate_model::Listing;
use std::collections::BTreeMap;

/// The instructions of a kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MachineCode {
    /// In the order of their addresses.
    pub instructions: Vec<CodeInstruction>,
    /// Bytes of the kernel's code and of the functions that it calls; none if they are unknown.
    pub bytes: Option<u64>,
    /// Last instruction of each loop, by its first, as indices.
    loops: BTreeMap<usize, usize>,
    /// Whether targets of branches are known.
    has_targets: bool,
}

impl MachineCode {
    /// Decodes the words of a kernel whose first instruction is at `base`; none for an unknown architecture.
    pub fn of_words(code: &[u8], base: u64, major: u32) -> Option<Self> {
        word::is_known(major).then(|| {
            let mut read = Self { instructions: word::decode(code, base, major), has_targets: true, ..Self::default() };
            read.loops = read.backward_branches();
            read
        })
    }

    /// Reads the texts of a listing. Instructions without a text are absent.
    pub fn of_listing(listing: &Listing) -> Self {
        let texts = || listing.instructions.iter().filter_map(|i| Some((i.text.as_deref()?, i.offset)));
        // targets count from the kernel's first instruction, offsets from the first counted one
        let is_based = texts().next().is_some_and(|(_, offset)| offset == 0);
        let has_targets = is_based && !texts().any(|(text, _)| text.contains("BRA") && text.contains("`("));
        let instructions = texts().map(|(text, offset)| text::parse(text, offset)).collect();
        let mut read = Self { instructions, has_targets, ..Self::default() };
        if has_targets {
            read.loops = read.backward_branches();
        }
        read
    }

    /// Index of the instruction at an offset.
    pub fn index(&self, offset: u64) -> Option<usize> {
        self.instructions.binary_search_by_key(&offset, |instruction| instruction.offset).ok()
    }

    /// Whether the instruction at an offset computes matrix products or waits for them.
    pub fn is_product(&self, offset: u64) -> bool {
        let instruction = self.index(offset).and_then(|at| self.instructions.get(at));
        instruction.is_some_and(|instruction| instruction.operation == Operation::Tensor)
    }

    /// The offset of the barrier directly before the instruction at an offset, unless that is a barrier too.
    pub fn barrier_before(&self, offset: u64) -> Option<u64> {
        let at = self.index(offset)?;
        let is_barrier = |one: &&CodeInstruction| one.operation == Operation::Barrier;
        let before = self.instructions.get(at.checked_sub(1)?).filter(is_barrier)?;
        self.instructions.get(at).filter(|one| !is_barrier(one)).map(|_| before.offset)
    }

    fn backward_branches(&self) -> BTreeMap<usize, usize> {
        let mut loops = BTreeMap::new();
        for (end, instruction) in self.instructions.iter().enumerate() {
            let head = instruction.target.filter(|target| *target <= instruction.offset).and_then(|t| self.index(t));
            // a branch to itself is the end of the code
            if let Some(head) = head.filter(|head| *head < end) {
                loops.insert(head, end);
            }
        }
        loops
    }
}

#[cfg(test)]
mod tests;

//! Waits at mbarriers, and what a warp does after one.

use super::MachineCode;
use super::instruction::{CodeInstruction, MemorySpace, Operation};
use super::producer::DependencyState;

/// A wait at an mbarrier, by the first access to shared memory after it on every path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MbarrierWait {
    /// Loads, or products whose operands are there: the warp waits for data.
    Data,
    /// Copies and stores: the warp waits for a free slot.
    FreeSlot,
    /// Neither is known.
    Unknown,
}

impl MbarrierWait {
    /// The name of the warp's state.
    pub fn state(self) -> &'static str {
        match self {
            Self::Data => "mbarrier_for_data",
            Self::FreeSlot => "mbarrier_for_free_slot",
            Self::Unknown => "mbarrier",
        }
    }

    /// Whether it is the name of such a state.
    pub(super) fn is_state(name: &str) -> bool {
        [Self::Data, Self::FreeSlot, Self::Unknown].iter().any(|wait| wait.state() == name)
    }

    /// What an instruction behind the wait says about it.
    fn of(instruction: &CodeInstruction) -> Option<Self> {
        match instruction.operation {
            Operation::Load(MemorySpace::Shared) => Some(Self::Data),
            Operation::BulkLoad | Operation::AsyncCopy | Operation::Store(MemorySpace::Shared) => Some(Self::FreeSlot),
            // `tcgen05` waits for operands, and for accumulators to be read; stores by the copy engine read a tile of any warp
            Operation::Tensor if instruction.mnemonic.contains("GMMA") => Some(Self::Data),
            Operation::Tensor if is_tensor_memory(&instruction.mnemonic) => Some(Self::Unknown),
            Operation::BulkCopy | Operation::Call | Operation::Unknown => Some(Self::Unknown),
            _ => None,
        }
    }
}

fn is_tensor_memory(mnemonic: &str) -> bool {
    ["UTC", "LDTM", "STTM"].iter().any(|name| mnemonic.starts_with(name))
}

impl MachineCode {
    /// The wait at an mbarrier for whose result the instruction at an offset waits at a scoreboard, if it does.
    pub fn mbarrier_wait(&self, offset: u64) -> Option<MbarrierWait> {
        let at = self.index(offset)?;
        let producer = self.producer(at, DependencyState::LongScoreboard)?;
        let is_check = self.instructions.get(producer)?.operation == Operation::PhaseCheck;
        is_check.then(|| self.use_after(at))
    }

    /// The use that is first on every path from an instruction.
    fn use_after(&self, at: usize) -> MbarrierWait {
        if self.instructions.get(at).is_none_or(|waiting| self.has_unknown_target(waiting)) {
            return MbarrierWait::Unknown;
        }
        let (mut seen, mut open, mut found) = (vec![false; self.instructions.len()], self.successors(at), None);
        while let Some(next) = open.pop() {
            let (Some(instruction), Some(is_seen)) = (self.instructions.get(next), seen.get_mut(next)) else {
                continue;
            };
            if std::mem::replace(is_seen, true) {
                continue;
            }
            let use_here = match self.has_unknown_target(instruction) {
                true => Some(MbarrierWait::Unknown),
                false => MbarrierWait::of(instruction),
            };
            match use_here {
                Some(use_here) if found.is_none_or(|found| found == use_here) => found = Some(use_here),
                Some(_) => return MbarrierWait::Unknown,
                None => open.extend(self.successors(next)),
            }
        }
        found.unwrap_or(MbarrierWait::Unknown)
    }

    fn has_unknown_target(&self, instruction: &CodeInstruction) -> bool {
        let name = instruction.mnemonic.split('.').next().unwrap_or_default();
        matches!(name, "BRX" | "BRXU" | "JMP" | "JMX" | "JMXU" | "RET")
            || name == "BRA" && (instruction.target.is_none() || !self.has_targets)
    }

    /// Indices of the instructions that may execute next. A listing lacks those that did not execute.
    fn successors(&self, at: usize) -> Vec<usize> {
        let Some(instruction) = self.instructions.get(at) else { return Vec::new() };
        let name = instruction.mnemonic.split('.').next().unwrap_or_default();
        let is_last = matches!(name, "BRA" | "EXIT" | "KILL") && instruction.reads.is_empty();
        let next = (!is_last && !self.is_before_gap(at)).then_some(at + 1);
        next.into_iter().chain(instruction.target.and_then(|target| self.index(target))).collect()
    }
}

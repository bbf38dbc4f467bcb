//! The instruction that a stalled one waits for.

use super::instruction::FloatFormat::{self, Half};
use super::instruction::{CodeInstruction, FloatOperation, MemorySpace, Operation};
use super::word::INSTRUCTION;
use super::{MachineCode, MbarrierWait};

/// Instructions searched backward from a stalled one.
const LONGEST_SEARCH: usize = 2048;

/// Warp states whose instruction waits for the result of an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependencyState {
    /// Results that come through L1, and the answers of mbarriers.
    LongScoreboard,
    /// Results of shared and constant memory, special functions, shuffles.
    ShortScoreboard,
    /// Results after a fixed number of cycles.
    Wait,
}

impl DependencyState {
    /// By the name of the state.
    pub fn of(state: &str) -> Option<Self> {
        match state {
            "long_scoreboard" => Some(Self::LongScoreboard),
            "short_scoreboard" => Some(Self::ShortScoreboard),
            "wait" => Some(Self::Wait),
            _ => MbarrierWait::is_state(state).then_some(Self::LongScoreboard),
        }
    }

    /// Whether a result of that class can be awaited in this state.
    fn fits(self, operation: Operation) -> bool {
        use MemorySpace::{Global, Local, Texture};
        let is_long = matches!(
            operation,
            Operation::Load(Global | Local | Texture)
                | Operation::Store(Global | Local | Texture)
                | Operation::Atomic(Global | Texture)
                | Operation::CompareAndSwap(Global | Texture)
                | Operation::AsyncCopy
                | Operation::AsyncCommit
                | Operation::PhaseCheck
        );
        match self {
            Self::LongScoreboard => is_long,
            Self::ShortScoreboard => !is_long && !has_fixed_latency(operation),
            Self::Wait => has_fixed_latency(operation),
        }
    }
}

/// Whether the compiler counts the cycles until the result. Double precision has its own unit on some chips only.
fn has_fixed_latency(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Integer
            | Operation::Float(_, _)
            | Operation::Conversion(_)
            | Operation::Branch
            | Operation::Control
            | Operation::Tensor
            | Operation::Vote
    )
}

impl MachineCode {
    /// Index of the instruction that the one at index `at` waits for in a warp state; none if it cannot be told.
    pub fn producer(&self, at: usize, state: DependencyState) -> Option<usize> {
        let waiting = self.instructions.get(at)?;
        let mask = waiting.scoreboards.map_or(0, |scoreboards| scoreboards.waits);
        let found = match (state, waiting.scoreboards) {
            (DependencyState::Wait, _) => self.definition(at, state),
            (_, None) => self.definition(at, state).or_else(|| self.late_reader(at, state)),
            (_, Some(_)) => self.scoreboard_holder(at, mask, state),
        }?;
        // a commit stands for the copies before it
        match self.instructions.get(found)?.operation {
            Operation::AsyncCommit => {
                let is_copy =
                    |at: &usize| self.instructions.get(*at).is_some_and(|i| i.operation == Operation::AsyncCopy);
                self.backward(found).find(is_copy).or(Some(found))
            }
            _ => Some(found),
        }
    }

    /// The nearest earlier instruction that holds a scoreboard that is waited for; of several, one whose result is read.
    fn scoreboard_holder(&self, at: usize, mask: u8, state: DependencyState) -> Option<usize> {
        let waiting = self.instructions.get(at)?;
        let mut open = mask;
        let mut holder = None;
        for index in self.backward(at) {
            let earlier = self.instructions.get(index)?;
            let Some(scoreboards) = earlier.scoreboards else { continue };
            let held = (0..6).any(|scoreboard| open >> scoreboard & 1 == 1 && scoreboards.holds(scoreboard));
            if held && fits_with_scoreboard(state, earlier) {
                if earlier.feeds(waiting) {
                    return Some(index);
                }
                holder = holder.or(Some(index));
            }
            // what it waited for was complete then
            open &= !scoreboards.waits;
            if open == 0 {
                break;
            }
        }
        holder
    }

    /// The nearest earlier instruction with a result that is read, by registers.
    fn definition(&self, at: usize, state: DependencyState) -> Option<usize> {
        let waiting = self.instructions.get(at)?;
        let mut open: Vec<u16> = waiting.reads.iter().cloned().flatten().collect();
        for index in self.backward(at) {
            if open.is_empty() {
                break;
            }
            let earlier = self.instructions.get(index)?;
            if earlier.writes.is_empty() || !open.iter().any(|register| earlier.writes(*register)) {
                continue;
            }
            if state.fits(earlier.operation) || state == DependencyState::ShortScoreboard && is_variable(earlier) {
                return Some(index);
            }
            if earlier.guard.is_none() {
                open.retain(|register| !earlier.writes(*register));
            }
        }
        None
    }

    /// Whether the address of an access is computed from a loaded value, in the same loop if it is in one: a gather.
    pub(super) fn is_gather(&self, at: usize) -> bool {
        let Some(access) = self.instructions.get(at) else { return false };
        let around = self.loops.iter().filter(|(head, end)| (**head..=**end).contains(&at));
        let region = around.min_by_key(|(head, end)| **end - **head).map_or(0..=at, |(head, end)| *head..=*end);
        let mut open: Vec<u16> = access.operands().collect();
        for index in self.backward(at).take_while(|index| region.contains(index) && !self.is_before_gap(*index)) {
            let Some(earlier) = self.instructions.get(index) else { break };
            if !open.iter().any(|register| earlier.writes(*register)) {
                continue;
            }
            let is_computed = match earlier.operation {
                Operation::Load(MemorySpace::Global | MemorySpace::Shared | MemorySpace::Texture) => return true,
                Operation::Integer | Operation::Conversion(_) | Operation::Float(_, _) => true,
                _ => false,
            };
            // under another predicate an older value may be left
            if !is_computed || earlier.guard.is_none() || earlier.guard == access.guard {
                open.retain(|register| !earlier.writes(*register));
            }
            if is_computed {
                open.extend(earlier.operands());
            }
        }
        false
    }

    /// For each instruction, whether it is a fused multiply-add whose two factors are both loaded: a term of a matrix product,
    /// a convolution or an inner product. A factor of a polynomial or a distance is computed.
    pub(super) fn loaded_products(&self) -> Vec<bool> {
        let is_term = |(at, instruction): (usize, &CodeInstruction)| {
            let is_fused =
                matches!(instruction.operation, Operation::Float(FloatOperation::Fused, Half | FloatFormat::Single));
            match instruction.reads.as_slice() {
                [a, b, _, ..] if is_fused => self.is_loaded(at, a.start) && self.is_loaded(at, b.start),
                _ => false,
            }
        };
        self.instructions.iter().enumerate().map(is_term).collect()
    }

    /// Whether the value of a register is a loaded one, perhaps in another format or place.
    fn is_loaded(&self, at: usize, register: u16) -> bool {
        let mut wanted = register;
        for index in self.backward(at) {
            let Some(earlier) = self.instructions.get(index).filter(|earlier| earlier.writes(wanted)) else { continue };
            let mut operands = earlier.operands();
            match (earlier.operation, operands.next(), operands.next()) {
                (Operation::Load(MemorySpace::Global | MemorySpace::Shared), ..) => return true,
                (Operation::Integer | Operation::Conversion(_), Some(source), _) => wanted = source,
                // `HADD2.F32 R2, -RZ, R3.H0_H0` converts a half
                (Operation::Float(FloatOperation::Add, Half), Some(source), None) => wanted = source,
                _ => return false,
            }
        }
        false
    }

    /// Whether instructions are unknown behind this one: a listing may lack some.
    pub(super) fn is_before_gap(&self, index: usize) -> bool {
        let next = |at: usize| self.instructions.get(at).map(|instruction| instruction.offset);
        next(index).zip(next(index + 1)).is_some_and(|(here, next)| next - here != INSTRUCTION as u64)
    }

    /// The nearest earlier instruction that may still have to read a register that is written.
    fn late_reader(&self, at: usize, state: DependencyState) -> Option<usize> {
        let waiting = self.instructions.get(at)?;
        let fits = |index: &usize| {
            let earlier = self.instructions.get(*index);
            earlier.is_some_and(|earlier| state.fits(earlier.operation) && waiting.feeds(earlier))
        };
        self.backward(at).find(fits)
    }

    /// Indices of earlier instructions, nearest first. At the head of a loop its end comes before what precedes it.
    fn backward(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let (mut next, mut ahead, mut covered) = (at, 0..0, at);
        let mut from_end = None;
        let step = move || {
            if let Some(index) = ahead.next_back() {
                return Some(index);
            }
            if let Some(&end) = self.loops.get(&next).filter(|end| **end >= covered) {
                ahead = covered..end + 1;
                covered = end + 1;
                return ahead.next_back();
            }
            if next > 0 {
                next -= 1;
                return Some(next);
            }
            // text has no targets of branches: any later instruction may precede it in a loop
            if !self.has_targets {
                let rest = from_end.get_or_insert(covered + 1..self.instructions.len());
                return rest.next_back();
            }
            None
        };
        std::iter::from_fn(step).take(LONGEST_SEARCH)
    }
}

/// Some conversions hold a scoreboard, others have a fixed latency; the scoreboard tells.
fn fits_with_scoreboard(state: DependencyState, earlier: &CodeInstruction) -> bool {
    match state {
        DependencyState::ShortScoreboard => !DependencyState::LongScoreboard.fits(earlier.operation),
        DependencyState::LongScoreboard | DependencyState::Wait => state.fits(earlier.operation),
    }
}

/// Whether an instruction in a listing of text may have a variable latency although its class is fixed on most chips.
fn is_variable(earlier: &CodeInstruction) -> bool {
    let name = earlier.mnemonic.split('.').next().unwrap_or_default();
    matches!(name, "I2F" | "F2I" | "F2F" | "FRND" | "R2UR" | "MATCH" | "REDUX")
}

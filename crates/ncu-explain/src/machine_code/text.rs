//! Reads instructions from the text of CUDA's disassembler, as a run stores it: `@!P0 LDG.E.128 R12, desc[UR10][R6.64]`.

use super::instruction::{CodeInstruction, MemorySpace, Modifiers, Operation, Register};
use std::ops::Range;

/// The parts of an instruction.
struct Parts<'t> {
    guard: Option<&'t str>,
    name: &'t str,
    /// Suffixes of the mnemonic.
    suffixes: Vec<&'t str>,
    operands: Vec<&'t str>,
}

/// A register in an operand, and whether the operand is nothing but a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamedRegister {
    /// With the number of registers that `.64` gives.
    Data(Register, u8),
    Predicate(Register),
    /// `RZ`, `PT` and their like.
    Constant,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Option<Self> {
        // newer disassemblers append scoreboards
        let text = text.split(" &").next()?.split(" ?").next()?.trim();
        let (guard, text) = match text.strip_prefix('@') {
            Some(guarded) => guarded.split_once(' ').map(|(guard, rest)| (Some(guard), rest.trim_start()))?,
            None => (None, text),
        };
        let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
        let mut suffixes = mnemonic.split('.');
        let name = suffixes.next().filter(|name| !name.is_empty())?;
        Some(Self { guard, name, suffixes: suffixes.collect(), operands: split(operands) })
    }

    fn has(&self, suffix: &str) -> bool {
        self.suffixes.contains(&suffix)
    }

    fn modifiers(&self) -> Modifiers {
        let indexes = |operand: &&str| {
            operand.rsplit('[').next().is_some_and(|index| {
                registers(index).any(|register| matches!(register, NamedRegister::Data(_, _)))
                    && operand.starts_with('c')
            })
        };
        Modifiers {
            double: self.has("F64"),
            upward: self.has("RP"),
            reciprocal: self.has("RCP"),
            compare_and_swap: self.has("CAS") || self.has("CAST"),
            indexed: self.operands.iter().any(indexes),
            phase_check: self.has("PHASECHK"),
            to_global: self.suffixes.first() == Some(&"G"),
        }
    }

    fn width(&self, operation: Operation) -> Option<u8> {
        if !operation.has_width() {
            return None;
        }
        if matches!(self.name, "LDSM" | "STSM") {
            return Some(if self.has("4") { 16 } else { 4 + 4 * u8::from(self.has("2")) });
        }
        let known = [("U8", 1), ("S8", 1), ("U16", 2), ("S16", 2), ("64", 8), ("128", 16), ("256", 32)];
        Some(known.iter().find(|(suffix, _)| self.has(suffix)).map_or(4, |(_, bytes)| *bytes))
    }

    /// Leading operands that are written.
    fn written(&self, operation: Operation) -> usize {
        let predicates = |from: usize| {
            let rest = self.operands.get(from..).unwrap_or_default();
            rest.iter().take_while(|operand| is_predicate(operand)).count()
        };
        match operation {
            Operation::Store(_)
            | Operation::Branch
            | Operation::Call
            | Operation::Barrier
            | Operation::Fence
            | Operation::Control
            | Operation::AsyncCopy
            | Operation::AsyncCommit
            | Operation::ScoreboardWait
            | Operation::BulkLoad
            | Operation::BulkCopy
            | Operation::Unknown => 0,
            _ if matches!(self.name, "RED" | "REDG" | "R2P" | "STTM") || self.name.starts_with("UTC") => 0,
            _ if self.name.contains("SETP") || self.name.ends_with("LOP3") && predicates(0) > 1 => predicates(0).min(2),
            Operation::DivisionCheck | Operation::Vote => 1,
            // two halves
            Operation::Load(MemorySpace::Texture) => 2,
            Operation::Load(_) if self.has("256") => 2,
            _ => {
                let first = predicates(0) + 1;
                first + predicates(first)
            }
        }
    }

    /// Registers of one operand.
    fn count(&self, operation: Operation, operand: usize, bytes: Option<u8>) -> u8 {
        use super::instruction::FloatFormat::Double;
        let data = bytes.map_or(1, |bytes| bytes.div_ceil(4)).min(4);
        match operation {
            Operation::Float(_, Double) => 2,
            Operation::Load(MemorySpace::Constant | MemorySpace::IndexedConstant) if operand == 0 && self.has("64") => {
                2
            }
            Operation::Load(_) if operand == 0 || self.has("256") => data,
            Operation::Store(_) if operand > 0 => data,
            Operation::Tensor if self.name.ends_with("GMMA") && operand == 0 => 64,
            Operation::Tensor if self.name.ends_with("GMMA") => 1,
            Operation::Tensor => 4,
            Operation::Atomic(_) | Operation::CompareAndSwap(_) if self.has("64") || self.has("F64") => 2,
            Operation::Conversion(_) => {
                let formats = self.suffixes.iter().filter(|suffix| matches!(**suffix, "F16" | "F32" | "F64"));
                let whole = self.has("S64") || self.has("U64");
                let is_wide = match (self.name, operand) {
                    ("F2F", 0) => formats.into_iter().next() == Some(&"F64"),
                    ("F2F", _) => formats.into_iter().next_back() == Some(&"F64"),
                    ("F2I", 0) | ("I2F", 1..) => whole,
                    _ => self.has("F64"),
                };
                1 + u8::from(is_wide)
            }
            Operation::Load(MemorySpace::Constant | MemorySpace::IndexedConstant) if operand == 0 && self.has("64") => {
                2
            }
            Operation::SystemRegister if self.name == "CS2R" && !self.has("32") => 2,
            Operation::Integer if self.has("WIDE") && matches!(operand, 0 | 3) => 2,
            _ => 1,
        }
    }
}

/// The instruction of a text; its class is unknown if it is no instruction.
pub(super) fn parse(text: &str, offset: u64) -> CodeInstruction {
    let mut instruction = CodeInstruction::unknown(offset, None);
    let Some(parts) = Parts::of(text) else { return instruction };
    let operation = Operation::of(parts.name, parts.modifiers());
    let bytes = parts.width(operation);
    let written = parts.written(operation);
    for (place, operand) in parts.operands.iter().enumerate() {
        let count = parts.count(operation, place, bytes);
        let ranges = registers(operand).filter_map(|register| range(register, count));
        // an address that is written to is read
        match place < written && !operand.contains('[') {
            true => instruction.writes.extend(ranges),
            false => instruction.reads.extend(ranges),
        }
    }
    let guard = parts.guard.into_iter().flat_map(registers).find_map(|register| match register {
        NamedRegister::Predicate(register) => Some(register),
        NamedRegister::Data(_, _) | NamedRegister::Constant => None,
    });
    instruction.reads.extend(guard.map(|register| register.range(1)));
    instruction.guard = guard;
    let target = parts.operands.last().and_then(|operand| operand.strip_prefix("0x"));
    let target = target.filter(|_| parts.name == "BRA").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    instruction.target = target;
    let mnemonic = text.split_whitespace().find(|word| !word.starts_with('@'));
    instruction.mnemonic = mnemonic.unwrap_or_default().into();
    instruction.operation = operation;
    instruction.bytes = bytes;
    instruction.immediate = parts.operands.iter().find_map(|operand| immediate(operand));
    instruction
}

fn range(register: NamedRegister, count: u8) -> Option<Range<u16>> {
    match register {
        NamedRegister::Data(register, own) => Some(register.range(count.max(own))),
        NamedRegister::Predicate(register) => Some(register.range(1)),
        NamedRegister::Constant => None,
    }
}

/// A constant, as bits: `-0x3f2aaaab`, or a float.
fn immediate(operand: &str) -> Option<u32> {
    let (is_negative, digits) = operand.strip_prefix('-').map_or((false, operand), |digits| (true, digits));
    match digits.strip_prefix("0x") {
        Some(hex) => {
            let value = u64::from_str_radix(hex, 16).ok()?;
            Some(if is_negative { value.wrapping_neg() } else { value } as u32)
        }
        None => operand.parse::<f32>().ok().filter(|value| value.is_finite()).map(f32::to_bits),
    }
}

fn is_predicate(operand: &str) -> bool {
    let name = operand.trim_start_matches('!').trim_start_matches('U');
    name == "PT" || name.len() == 2 && name.starts_with('P') && name.ends_with(|c: char| c.is_ascii_digit())
}

/// Operands, separated by commas.
fn split(operands: &str) -> Vec<&str> {
    operands.split(',').map(str::trim).filter(|operand| !operand.is_empty()).collect()
}

/// The registers that an operand names.
fn registers(operand: &str) -> impl Iterator<Item = NamedRegister> + '_ {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let words = operand.split(move |c: char| !is_word(c)).filter(|word| !word.is_empty());
    words.filter_map(|word| {
        let (name, suffix) = word.split_once('.').unwrap_or((word, ""));
        if matches!(name, "RZ" | "URZ" | "PT" | "UPT") {
            return Some(NamedRegister::Constant);
        }
        let count = if suffix.split('.').any(|part| part == "64") { 2 } else { 1 };
        let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: u64 = name.get(kind.len()..)?.parse().ok()?;
        match kind {
            "R" => Register::vector(number).map(|register| NamedRegister::Data(register, count)),
            "UR" => Register::uniform(number).map(|register| NamedRegister::Data(register, count)),
            "P" => Register::predicate(number).map(NamedRegister::Predicate),
            "UP" => Register::uniform_predicate(number).map(NamedRegister::Predicate),
            _ => None,
        }
    })
}

//! Which source line each instruction of a kernel comes from: `.debug_line` of a cubin built with `-lineinfo`.
//!
//! nvcc writes DWARF line programs with one extension: an opcode that names the row at which a function was inlined.
//! Every kernel's addresses count from 0 in its own section, so relocations say which kernel an address belongs to.

use super::{CubinError, Elf, damaged, machine_code};
use gimli::{
    AttributeValue, DebugLine, DebugLineOffset, EndianSlice, LineInstruction, LineProgramHeader, LittleEndian,
};
use gimli::{LineRow, Reader as _};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolSection};
use std::collections::BTreeMap;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The section of line programs.
const SECTION: &str = ".debug_line";
/// nvcc's opcode before a row of inlined code: the row of the call, counted from 1 in its kernel, then the function's name.
const INLINED: u8 = 0x90;
/// Bytes of an instruction (sm_70 and later).
const INSTRUCTION: usize = 16;
/// The bits of an opcode, and that of padding.
const OPCODE: u16 = 0xfff;
const NOP: u16 = 0x918;
/// Maximum depth of inlined calls; deeper ones are not real code.
const DEEPEST: usize = 32;
/// Maximum length of a folder or file name in characters, as systems limit it.
const LONGEST: usize = 4096;
/// The upper half of an address is the section.
const SECTION_SHIFT: u32 = 32;

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodePlace {
    /// Path as the compiler wrote it. Never opened.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// The lines of one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineTable {
    files: Vec<String>,
    rows: Vec<Row>,
    /// Rows by the address of their first instruction.
    starts: BTreeMap<u64, usize>,
    end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    /// Index of its file.
    file: usize,
    line: u32,
    /// The row, from 1, of the call inlined here; 0 for none.
    caller: usize,
}

impl LineTable {
    /// Reads the lines of `entry`, the name of the kernel's symbol. Empty for a cubin without `-lineinfo`.
    ///
    /// # Errors
    /// Not a cubin, or damaged.
    pub fn read(cubin: &[u8], entry: &str) -> Result<Self, CubinError> {
        let elf = Elf::parse(cubin).map_err(damaged)?;
        let Some(text) = elf.section_by_name(&format!(".text.{entry}")) else { return Ok(Self::default()) };
        let Some(section) = elf.section_by_name(SECTION) else { return Ok(Self::default()) };
        let programs = relocated(&elf, section.data().map_err(damaged)?)?;
        let base = (text.index().0 as u64) << SECTION_SHIFT;
        Self::of_programs(&programs, base..base.saturating_add(text.size()))
    }

    fn of_programs(programs: &[u8], within: std::ops::Range<u64>) -> Result<Self, CubinError> {
        let lines = DebugLine::new(programs, LittleEndian);
        let mut table = Self { end: within.end - within.start, ..Self::default() };
        let mut at = 0;
        while at < programs.len() {
            let program = lines.program(DebugLineOffset(at), 8, None, None).map_err(unreadable)?;
            let header = program.header().clone();
            let length = header.unit_length() + usize::from(header.format().initial_length_size());
            table.run(program, &header, &within)?;
            at = at.saturating_add(length.max(1));
        }
        Ok(table)
    }

    fn run<'a>(
        &mut self,
        mut program: gimli::IncompleteLineProgram<Bytes<'a>>,
        header: &LineProgramHeader<Bytes<'a>>,
        within: &std::ops::Range<u64>,
    ) -> Result<(), CubinError> {
        let mut instructions = header.instructions();
        let mut row = LineRow::new(header);
        let mut caller = 0;
        let mut files = BTreeMap::new();
        let mut first = self.rows.len();
        while let Some(instruction) = instructions.next_instruction(header).map_err(unreadable)? {
            if let LineInstruction::UnknownExtended(opcode, mut operands) = instruction {
                if opcode.0 == INLINED {
                    let row = operands.read_uleb128().map_err(unreadable)?;
                    caller =
                        usize::try_from(row).ok().filter(|row| *row > 0).map_or(0, |row| first.saturating_add(row));
                }
                continue;
            }
            if !row.execute(instruction, &mut program).map_err(unreadable)? {
                continue;
            }
            if !row.end_sequence() {
                let file = *files.entry(row.file_index()).or_insert_with(|| {
                    self.files.push(path(&row, header));
                    self.files.len() - 1
                });
                let line = row.line().and_then(|line| u32::try_from(line.get()).ok()).unwrap_or(0);
                self.rows.push(Row { file, line, caller });
                if within.contains(&row.address()) {
                    // Of several rows at one address the last one counts: the earlier ones have no instruction.
                    self.starts.insert(row.address() - within.start, self.rows.len() - 1);
                }
            }
            if row.end_sequence() {
                (first, caller) = (self.rows.len(), 0);
            }
            row.reset(header);
        }
        Ok(())
    }

    /// Whether the kernel has no line information.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The source of the instruction at `offset` bytes of the kernel: its own line, then the line of the inlined
    /// call, and so on outwards.
    pub fn at(&self, offset: u64) -> Vec<CodePlace> {
        let mut chain = Vec::new();
        let found = self.starts.range(..=offset).next_back().filter(|_| offset < self.end);
        let mut next = found.and_then(|(_, row)| self.rows.get(*row));
        while let Some(row) = next.filter(|_| chain.len() < DEEPEST) {
            let file = self.files.get(row.file).cloned().unwrap_or_default();
            chain.push(CodePlace { file, line: row.line });
            next = row.caller.checked_sub(1).and_then(|caller| self.rows.get(caller));
        }
        chain
    }
}

/// Numbers of instructions of the kernel `entry`, without padding, by the lines of its file: inlined code of another file
/// counts for the line that calls it. Without a line table, all count for the kernel.
///
/// # Errors
/// Not a cubin, or damaged.
pub fn instructions_by_line(cubin: &[u8], entry: &str) -> Result<BTreeMap<CodePlace, u32>, CubinError> {
    let table = LineTable::read(cubin, entry)?;
    let mut counts = BTreeMap::new();
    for (at, word) in machine_code(cubin, entry)?.unwrap_or_default().chunks_exact(INSTRUCTION).enumerate() {
        if u16::from_le_bytes([word[0], word[1]]) & OPCODE == NOP {
            continue;
        }
        let chain = table.at((at * INSTRUCTION) as u64);
        let own = chain.last().and_then(|kernel| chain.iter().find(|place| place.file == kernel.file));
        let place = own.cloned().unwrap_or_else(|| CodePlace { file: entry.to_owned(), line: 0 });
        *counts.entry(place).or_default() += 1;
    }
    Ok(counts)
}

/// The path of a row's file, as the compiler wrote it.
fn path(row: &LineRow, header: &LineProgramHeader<Bytes<'_>>) -> String {
    let text = |value: AttributeValue<Bytes<'_>>| match value {
        AttributeValue::String(text) => text.to_string_lossy().chars().take(LONGEST).collect(),
        _ => String::new(),
    };
    let Some(file) = row.file(header) else { return String::new() };
    let name = text(file.path_name());
    match file.directory(header).map(text).filter(|folder| !folder.is_empty() && !name.starts_with('/')) {
        Some(folder) => format!("{folder}/{name}"),
        None => name,
    }
}

/// The line programs with every address relocated to its symbol, with its section in the upper half.
fn relocated(elf: &Elf<'_>, data: &[u8]) -> Result<Vec<u8>, CubinError> {
    let mut data = data.to_vec();
    for kind in [".rela", ".rel"] {
        let Some(section) = elf.section_by_name(&format!("{kind}{SECTION}")) else { continue };
        let size = if kind == ".rela" { 24 } else { 16 };
        for entry in section.data().map_err(damaged)?.chunks_exact(size) {
            let word = |at: usize| entry.get(at..at + 8).and_then(|b| b.first_chunk()).map(|b| u64::from_le_bytes(*b));
            let (Some(offset), Some(info)) = (word(0), word(8)) else { continue };
            let symbol = elf.symbol_by_index(object::SymbolIndex((info >> 32) as usize)).map_err(damaged)?;
            let SymbolSection::Section(of) = symbol.section() else { continue };
            let Some(place) = usize::try_from(offset).ok().and_then(|at| data.get_mut(at..)?.first_chunk_mut::<8>())
            else {
                return Err(CubinError::Damaged { reason: "a relocation points behind its section".to_owned() });
            };
            let addend = word(16).unwrap_or_else(|| u64::from_le_bytes(*place));
            let address = ((of.0 as u64) << SECTION_SHIFT).wrapping_add(symbol.address()).wrapping_add(addend);
            *place = address.to_le_bytes();
        }
    }
    Ok(data)
}

fn unreadable(error: gimli::Error) -> CubinError {
    CubinError::Damaged { reason: format!("its line table cannot be read: {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cubin of the capture of a deep profile: one kernel, `sdpa_scalar`, 0x4000 bytes of code.
    fn cubin() -> Vec<u8> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/deep.ncu-rep.zst");
        let report = ncu_rep::Report::open(path).unwrap();
        report.sources().unwrap()[0].binary.to_vec()
    }

    #[test]
    fn an_inlined_call_leads_back_to_the_line_that_makes_it() {
        let table = LineTable::read(&cubin(), "sdpa_scalar").unwrap();
        let chain = table.at(768);
        let lines: Vec<u32> = chain.iter().map(|place| place.line).collect();
        assert_eq!(lines, [980, 87, 122]);
        assert!(chain[0].file.ends_with("/include/cuda_fp16.hpp") && chain[2].file.ends_with("/sdpa_scalar.cu"));
        let code = cubin();
        let size = machine_code(&code, "sdpa_scalar").unwrap().unwrap().len();
        assert_eq!(table.at(size as u64), []);
    }

    #[test]
    fn instructions_count_for_lines_of_the_kernels_own_file() {
        let counts = instructions_by_line(&cubin(), "sdpa_scalar").unwrap();
        assert!(counts.keys().all(|place| place.file.ends_with("/sdpa_scalar.cu")), "{counts:?}");
        let all: u32 = counts.values().sum();
        assert!((900..=1024).contains(&all), "0x4000 bytes without the padding at the end: {all}");
        assert_eq!(instructions_by_line(&cubin(), "sdpa"), Ok(BTreeMap::new()));
    }

    #[test]
    fn another_kernel_has_no_lines_here() {
        assert!(LineTable::read(&cubin(), "sdpa").unwrap().is_empty());
        assert_eq!(machine_code(&cubin(), "sdpa"), Ok(None));
    }

    #[test]
    fn no_damage_makes_it_panic() {
        let whole = cubin();
        let read = |bytes: &[u8]| {
            if let Ok(table) = LineTable::read(bytes, "sdpa_scalar") {
                (0..0x4000).step_by(256).for_each(|offset| drop(table.at(offset)));
            }
        };
        (0..whole.len()).step_by(97).for_each(|length| read(&whole[..length]));
        let elf = Elf::parse(whole.as_slice()).unwrap();
        let lines = elf.section_by_name(SECTION).unwrap().file_range().unwrap();
        let lines = lines.0 as usize..(lines.0 + lines.1) as usize;
        let mut damaged = whole.clone();
        for at in (0..0x40).chain(lines.step_by(3)).chain((whole.len() - 0x600..whole.len()).step_by(5)) {
            for value in [0, 0x7f, 0x90, 0xff] {
                damaged[at] = value;
                read(&damaged);
            }
            damaged[at] = whole[at];
        }
    }
}

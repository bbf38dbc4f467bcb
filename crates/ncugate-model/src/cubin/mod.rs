//! Cubins, and the files that hold them: kernels with their resources, variables and source lines, read from ELF.
//!
//! Nothing is compiled, loaded or launched here. Files can be damaged: every length is checked.

mod entry;
mod fatbin;
mod feature;
mod lines;
mod nvinfo;
mod parameter_field;
mod variable;

pub use entry::{Entry, Traffic, parameters, symbol, symbol_among};
pub use fatbin::{DeviceCode, FatbinError, device_code, is_binary};
pub use feature::CodeFeature;
pub use lines::{CodePlace, LineTable, instructions_by_line};
pub use parameter_field::{ParameterField, parameter_fields};
pub use variable::{ModuleVariable, variable, variables};

use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolFlags, SymbolKind};

type Elf<'a> = ElfFile<'a, FileHeader64<Endianness>>;

/// Why a cubin cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CubinError {
    /// Not an ELF file, or a damaged one.
    #[error("cannot read the cubin: {reason}")]
    Damaged { reason: String },
    /// Several kernels match the name.
    /// `fitting`: the matching kernels.
    #[error("`{entry}` matches {} kernels of the cubin: {}; hint: add namespaces and template arguments, or use the mangled name", .fitting.len(), .fitting.join(", "))]
    Ambiguous { entry: String, fitting: Vec<String> },
    /// It calls functions that another object file defines.
    /// `undefined`: the undefined functions and variables.
    #[error("the machine code is not linked: {} not defined; link it (`nvcc -dlink -cubin`), or give its sources as a list", .undefined.join(", "))]
    Unlinked { undefined: Vec<String> },
    /// It has no such entry.
    /// `present`: the entries of the cubin.
    /// `hint`: the suggested name, or empty.
    #[error("no kernel `{entry}` in the cubin; kernels: {present}{hint}")]
    NoEntry { entry: String, present: String, hint: String },
}

/// The machine code of a kernel, by its symbol; none if the cubin has no such kernel.
///
/// # Errors
/// The cubin is damaged.
pub fn machine_code<'c>(cubin: &'c [u8], entry: &str) -> Result<Option<&'c [u8]>, CubinError> {
    let elf = Elf::parse(cubin).map_err(damaged)?;
    let text = elf.section_by_name(&format!(".text.{entry}"));
    text.map(|text| text.data().map_err(damaged)).transpose()
}

/// A change of an instruction of compute capability 7.0 or later. Registers, schedule and addresses of the code stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordEdit {
    /// Its guard becomes `@!PT`: it is issued and does nothing.
    SwitchedOff,
    /// Its address register becomes `RZ`, so that all lanes use one address.
    OneAddress,
    /// A load past L1 becomes an ordinary one.
    Cached,
    /// Another instruction takes its place.
    Replaced([u8; 16]),
}

impl WordEdit {
    fn apply(self, word: &mut [u8]) {
        match self {
            Self::SwitchedOff => word[1] |= 0xf0,
            Self::OneAddress => word[3] = 0xff,
            // bits 77 to 80
            Self::Cached => {
                word[9] &= 0x1f;
                word[10] &= 0xfe;
            }
            Self::Replaced(other) => word.copy_from_slice(&other),
        }
    }
}

/// A copy of a cubin in which instructions of a kernel are changed, by their offsets in its code.
///
/// # Errors
/// The cubin is damaged, or has no such kernel or instruction.
pub fn edited(cubin: &[u8], entry: &str, edits: &[(u64, WordEdit)]) -> Result<Vec<u8>, CubinError> {
    let elf = Elf::parse(cubin).map_err(damaged)?;
    let absent = || CubinError::Damaged { reason: format!("no machine code of `{entry}` to change") };
    let section = elf.section_by_name(&format!(".text.{entry}")).ok_or_else(absent)?;
    let (start, length) = section.file_range().ok_or_else(absent)?;
    let mut copy = cubin.to_vec();
    for (offset, edit) in edits {
        let at = (start + offset) as usize;
        let word = copy.get_mut(at..at + 16).filter(|_| offset + 16 <= length).ok_or_else(absent)?;
        edit.apply(word);
    }
    Ok(copy)
}

/// Bytes of the machine code of all functions that are not kernels.
///
/// # Errors
/// The cubin is damaged.
pub fn function_bytes(cubin: &[u8]) -> Result<u64, CubinError> {
    /// The flag of a kernel's symbol.
    const ENTRY: u8 = 0x10;
    let elf = Elf::parse(cubin).map_err(damaged)?;
    let is_kernel =
        |flags: SymbolFlags<_, _>| matches!(flags, SymbolFlags::Elf { st_other, .. } if st_other.0 & ENTRY > 0);
    let kernels: Vec<&str> =
        elf.symbols().filter(|symbol| is_kernel(symbol.flags())).filter_map(|symbol| symbol.name().ok()).collect();
    let functions = elf.sections().filter(|section| {
        let name = section.name().ok().and_then(|name| name.strip_prefix(".text."));
        name.is_some_and(|name| !kernels.contains(&name))
    });
    Ok(functions.map(|section| section.size()).fold(0, u64::saturating_add))
}

/// Index of a kernel in the cubin's table of symbols, by its symbol; none if the cubin has no such kernel.
///
/// # Errors
/// The cubin is damaged.
pub fn symbol_index(cubin: &[u8], entry: &str) -> Result<Option<usize>, CubinError> {
    let elf = Elf::parse(cubin).map_err(damaged)?;
    let found = elf.symbols().find(|symbol| symbol.kind() == SymbolKind::Text && symbol.name() == Ok(entry));
    Ok(found.map(|symbol| symbol.index().0))
}

fn damaged(error: object::Error) -> CubinError {
    CubinError::Damaged { reason: error.to_string() }
}

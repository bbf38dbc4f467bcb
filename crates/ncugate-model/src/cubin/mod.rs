//! Cubins, and the files that hold them: kernels with their resources, variables and source lines, read from ELF.
//!
//! Nothing is compiled, loaded or launched here. Files can be damaged: every length is checked.

mod entry;
mod fatbin;
mod feature;
mod lines;
mod nvinfo;
mod variable;

pub use entry::{Entry, Traffic, parameters, symbol, symbol_among};
pub use fatbin::{DeviceCode, FatbinError, device_code, is_binary};
pub use feature::CodeFeature;
pub use lines::{CodePlace, LineTable};
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
    Damaged {
        /// The defect.
        reason: String,
    },
    /// Several kernels match the name.
    #[error("`{entry}` matches {} kernels of the cubin: {}; hint: add namespaces and template arguments, or use the mangled name", .fitting.len(), .fitting.join(", "))]
    Ambiguous {
        /// The requested name.
        entry: String,
        /// The matching kernels.
        fitting: Vec<String>,
    },
    /// It calls functions that another object file defines.
    #[error("the machine code is not linked: {} not defined; link it (`nvcc -dlink -cubin`), or give its sources as a list", .undefined.join(", "))]
    Unlinked {
        /// The undefined functions and variables.
        undefined: Vec<String>,
    },
    /// It has no such entry.
    #[error("no kernel `{entry}` in the cubin; kernels: {present}{hint}")]
    NoEntry {
        /// The requested name.
        entry: String,
        /// The entries of the cubin.
        present: String,
        /// The suggested name, or empty.
        hint: String,
    },
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

//! PTX of a compilation, and the symbols that the compiler gave to the entries.

use super::nvcc::TABLE;
use ncugate_model::cubin::{CubinError, symbol_among};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

/// PTX without the table of entries and constants that was added to its source.
#[derive(Debug)]
pub(super) struct PtxModule {
    pub text: String,
    /// Symbols of the entries, and values of the constants, that the table named.
    asked: BTreeMap<String, String>,
    /// Symbols of all kernels.
    kernels: Vec<String>,
    pub includes: Vec<PathBuf>,
    /// As in the output of a compiler.
    pub absent: Option<BTreeSet<PathBuf>>,
    pub log: String,
    pub started: SystemTime,
}

impl PtxModule {
    /// Reads the table for `entries` and constants, which numbers them by their position, and removes it.
    pub fn of(
        ptx: &str,
        entries: &[String],
        (includes, absent): (Vec<PathBuf>, Option<BTreeSet<PathBuf>>),
        log: String,
        started: SystemTime,
    ) -> Self {
        let (table, rest): (Vec<&str>, Vec<&str>) = ptx.lines().partition(|line| row(line).is_some());
        let asked = table
            .into_iter()
            .filter_map(row)
            .filter_map(|(at, symbol)| Some((entries.get(at)?.clone(), symbol.to_owned())));
        // A kernel whose address the table takes is declared first and defined later.
        let kernels: BTreeSet<&str> = rest.iter().filter_map(|line| kernel(line)).collect();
        let kernels = kernels.into_iter().map(str::to_owned).collect();
        // Debug information refers to the table; then it stays.
        let is_free = !rest.iter().any(|line| line.contains(TABLE));
        let text = if is_free { rest.join("\n") + "\n" } else { ptx.to_owned() };
        Self { text, asked: asked.collect(), kernels, includes, absent, log, started }
    }

    /// The symbol of an entry.
    ///
    /// # Errors
    /// The table does not name it, and no kernel, or several, has its name.
    pub fn symbol(&self, entry: &str) -> Result<String, CubinError> {
        self.asked.get(entry).cloned().map_or_else(|| symbol_among(&self.kernels, entry), Ok)
    }

    /// The value of a constant.
    ///
    /// # Errors
    /// The table does not name it, or it has more than 31 bits.
    pub fn constant(&self, constant: &str) -> Result<u32, String> {
        let value = self.asked.get(constant).and_then(|value| value.parse::<u32>().ok()?.checked_sub(1));
        value
            .filter(|value| i32::try_from(*value).is_ok())
            .ok_or_else(|| format!("`{constant}` is no size of shared memory; name a constant from 0 to {}", i32::MAX))
    }
}

/// Position and symbol in `.global .align 8 .u64 ncugate_entry_0 = _Z1kPf;`.
fn row(line: &str) -> Option<(usize, &str)> {
    // A comment or an inline instruction of the source is no declaration.
    let (declaration, rest) = line.split_once(TABLE)?;
    let words = declaration.split_whitespace().filter(|word| *word != ".visible");
    let is_table = words.eq([".global", ".align", "8", ".u64"]);
    let rest = is_table.then_some(rest)?;
    let (at, symbol) = rest.split_once(" = ")?;
    let symbol = symbol.strip_suffix(';')?;
    let symbol = symbol.strip_prefix("generic(").and_then(|inner| inner.strip_suffix(')')).unwrap_or(symbol);
    Some((at.parse().ok()?, symbol))
}

/// The symbol in `.visible .entry _Z1kPf(`.
fn kernel(line: &str) -> Option<&str> {
    let (linkage, rest) = line.split_once(".entry ")?;
    let is_linkage = linkage.split_whitespace().all(|word| [".visible", ".weak", ".extern", ".common"].contains(&word));
    let symbol = rest.split(['(', ' ']).next()?;
    (is_linkage && !symbol.is_empty()).then_some(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 9.0
.visible .global .align 8 .u64 ncugate_entry_0 = _Z1kIfEvPT_;
.visible .global .align 8 .u64 ncugate_entry_2 = _Z4overPfi;
.visible .entry _Z1kIfEvPT_(
);
.visible .entry _Z1kIfEvPT_(
\t.param .u64 .ptr .align 1 _Z1kIfEvPT__param_0
)
.entry plain()
;
.entry plain()
.visible .entry _Z4overPfi(
.visible .entry _Z4overPf(
";

    fn module(ptx: &str) -> PtxModule {
        let entries = ["k<scalar>", "plain", "over(float*, int)"].map(str::to_owned);
        PtxModule::of(ptx, &entries, (Vec::new(), None), String::new(), SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn the_table_names_symbols_and_is_removed() {
        let read = module(PTX);
        for (entry, symbol) in [
            ("k<scalar>", "_Z1kIfEvPT_"),
            ("k", "_Z1kIfEvPT_"),
            ("plain", "plain"),
            ("over(float*, int)", "_Z4overPfi"),
        ] {
            assert_eq!(read.symbol(entry).as_deref(), Ok(symbol));
        }
        assert!(!read.text.contains(TABLE) && read.text.contains(".entry plain()"));
        assert!(read.symbol("over").is_err() && read.symbol("k<int>").is_err());
    }

    /// A source cannot name another kernel by a comment in an inline instruction.
    #[test]
    fn only_a_declaration_is_a_row() {
        for line in
            ["// ncugate_entry_0 = _Z5otherv;", "\t// .visible .global .align 8 .u64 ncugate_entry_0 = _Z5otherv;"]
        {
            assert_eq!(module(&format!("{PTX}{line}\n")).symbol("k<scalar>").as_deref(), Ok("_Z1kIfEvPT_"), "{line}");
        }
    }

    #[test]
    fn a_table_that_debug_information_names_stays() {
        let ptx = format!("{PTX}.b64 ncugate_entry_0\n");
        assert_eq!(module(&ptx).text, ptx);
    }
}

//! The listing of a kernel's sampled and executed instructions, as a run stores it.

use super::{ListingError, SourceTexts, UserSources};
use ncugate_model::cubin::{CodePlace, LineTable, machine_code};
use ncugate_model::{Instruction, Line, Listing};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Machine code of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    pub cubin: &'a [u8],
    /// The kernel's symbol.
    pub entry: &'a str,
    /// Start offsets of the functions of the launch; empty if unknown.
    pub functions: &'a [u64],
}

impl<'a> Code<'a> {
    /// Its instructions.
    ///
    /// # Errors
    /// The cubin is damaged or has no such kernel.
    pub fn bytes(&self) -> Result<&'a [u8], ListingError> {
        machine_code(self.cubin, self.entry)?.ok_or_else(|| ListingError::NoCode { kernel: self.entry.to_owned() })
    }

    /// The offset of the kernel among its functions: the only function whose length matches its code. Functions follow each
    /// other, each padded by less than `PADDING`.
    ///
    /// # Errors
    /// The cubin is damaged or has no such kernel, or several functions fit.
    pub fn base(&self) -> Result<u64, ListingError> {
        let [first, .., last] = self.functions else { return Ok(self.functions.first().copied().unwrap_or(0)) };
        let size = self.bytes()?.len() as u64;
        let long = |pair: &[u64]| (size..size.saturating_add(PADDING)).contains(&pair[1].saturating_sub(pair[0]));
        let mut fitting = self.functions.windows(2).filter(|pair| long(pair)).map(|pair| pair[0]);
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(ListingError::Ambiguous { functions: self.functions.len(), span: last - first }),
        }
    }
}

/// Upper bound of the bytes between the code of a function and the next one; 0x900 were seen on an H200.
const PADDING: u64 = 4096;

/// The instructions at `offsets`: lines from the cubin, their text from `texts`, and the text of instructions if a
/// disassembler could provide it. Missing information is listed in [`Listing::lacks`].
pub fn listing(
    code: Code<'_>,
    offsets: impl Iterator<Item = u64>,
    texts: &SourceTexts,
    own: &UserSources,
    disassembly: Result<BTreeMap<u64, String>, ListingError>,
) -> Listing {
    let mut listing = Listing::default();
    let table = LineTable::read(code.cubin, code.entry).unwrap_or_else(|error| {
        listing.lacks.push(error.to_string());
        LineTable::default()
    });
    if table.is_empty() && listing.lacks.is_empty() {
        listing.lacks.push("no source lines: the kernel was compiled without -lineinfo".to_owned());
    }
    let instructions = disassembly.unwrap_or_else(|error| {
        listing.lacks.push(error.to_string());
        BTreeMap::new()
    });
    let base = code.base().unwrap_or_else(|error| {
        listing.lacks.push(error.to_string());
        u64::MAX
    });
    let end = code.bytes().map_or(u64::MAX, |bytes| bytes.len() as u64);
    let (mut all, mut called) = (0, 0);
    let mut lines = Lines { known: BTreeMap::new(), kept: Vec::new(), texts, own };
    for offset in offsets {
        let within = offset.checked_sub(base).filter(|within| *within < end);
        all += 1;
        called += usize::from(within.is_none());
        let chain = within.map_or_else(Vec::new, |within| table.at(within));
        let inner = chain.first();
        let ours = chain.iter().find(|place| own.path(&place.file).is_some()).or_else(|| innermost(&chain));
        let line = ours.map(|place| lines.index(place));
        let inlined = inner.filter(|inner| ours != Some(*inner)).map(|place| lines.index(place));
        let text = within.and_then(|within| instructions.get(&within)).cloned();
        listing.instructions.push(Instruction { offset, text, line, inlined });
    }
    listing.lines = lines.kept;
    if called > 0 && base < u64::MAX {
        listing.lacks.push(format!(
            "{called} of {all} counted instructions are in functions that the kernel calls: they are shown without text and line"
        ));
    }
    listing
}

/// The innermost of inlined lines whose file is in the folder of the kernel's own, or below: the files of a report of
/// another program are on no disk, and headers of a toolkit are elsewhere.
fn innermost(chain: &[CodePlace]) -> Option<&CodePlace> {
    let clean = |place: &CodePlace| -> PathBuf {
        Path::new(&place.file).components().filter(|part| !matches!(part, Component::CurDir)).collect()
    };
    let kernel = chain.last()?;
    let folder = clean(kernel).parent().map(Path::to_owned)?;
    let is_beside = |place: &CodePlace| !folder.as_os_str().is_empty() && clean(place).starts_with(&folder);
    chain.iter().find(|place| place.file == kernel.file || is_beside(place))
}

/// Lines under construction.
struct Lines<'a> {
    known: BTreeMap<CodePlace, usize>,
    kept: Vec<Line>,
    texts: &'a SourceTexts,
    own: &'a UserSources,
}

impl Lines<'_> {
    fn index(&mut self, place: &CodePlace) -> usize {
        if let Some(&index) = self.known.get(place) {
            return index;
        }
        let text = self.texts.line(place, self.own);
        self.kept.push(Line { file: self.own.name(&place.file), line: place.line, text });
        self.known.insert(place.clone(), self.kept.len() - 1);
        self.kept.len() - 1
    }
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

    fn listed(functions: &[u64], offsets: &[u64]) -> Listing {
        let cubin = cubin();
        let code = Code { cubin: &cubin, entry: "sdpa_scalar", functions };
        let none = Err(ListingError::NotAsked);
        listing(code, offsets.iter().copied(), &SourceTexts::default(), &UserSources::default(), none)
    }

    fn line(listing: &Listing, offset: u64) -> Option<u32> {
        listing.line(listing.at(offset).and_then(|i| i.line)).map(|line| line.line)
    }

    #[test]
    fn the_kernel_is_found_among_the_functions_it_calls() {
        let size = machine_code(&cubin(), "sdpa_scalar").unwrap().unwrap().len() as u64;
        let alone = listed(&[0], &[0x1060]);
        assert_eq!(line(&alone, 0x1060), Some(141));
        let behind = listed(&[0, 0x200, 0x200 + size + 0x900], &[0x10, 0x200 + 0x1060]);
        assert_eq!((line(&behind, 0x10), line(&behind, 0x1260)), (None, Some(141)));
        assert!(behind.lacks.iter().any(|lack| lack.starts_with("1 of 2 counted instructions")), "{:?}", behind.lacks);
        let alike = listed(&[0, size, 2 * size], &[0x1060]);
        assert_eq!(line(&alike, 0x1060), None);
        assert!(alike.lacks.iter().any(|lack| lack.contains("one of 3 functions")), "{:?}", alike.lacks);
    }

    #[test]
    fn the_line_of_a_report_is_the_innermost_beside_the_kernel() {
        let place = |file: &str, line: u32| CodePlace { file: file.to_owned(), line };
        let chain = [
            place("/usr/local/cuda/include/cooperative_groups.h", 447),
            place("/home/a/scan/parts/block.cuh", 20),
            place("/home/a/scan/./scan.cu", 61),
        ];
        assert_eq!(innermost(&chain).map(|place| place.line), Some(20));
        assert_eq!(innermost(&chain[2..]).map(|place| place.line), Some(61));
        let elsewhere = [place("/opt/cub/block_scan.cuh", 9), place("scan.cu", 61)];
        assert_eq!(innermost(&elsewhere).map(|place| place.line), Some(61));
        assert_eq!(innermost(&[]), None);
    }

    #[test]
    fn a_damaged_cubin_is_recorded_as_the_reason() {
        let code = Code { cubin: b"no ELF", entry: "k", functions: &[] };
        let listing =
            listing(code, [0].into_iter(), &SourceTexts::default(), &UserSources::default(), Ok(BTreeMap::new()));
        assert!(listing.lacks[0].starts_with("cannot read the cubin"), "{:?}", listing.lacks);
        assert_eq!(listing.instructions.len(), 1);
    }
}

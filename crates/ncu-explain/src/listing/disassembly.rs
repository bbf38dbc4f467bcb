//! Reads the text of instructions from CUDA's `nvdisasm`.

use super::ListingError;
use ncugate_model::cubin::symbol_index;
use ncugate_model::disk::scratch_folder;
use ncugate_model::process;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A module of a library takes seconds; a longer run is a hang.
const LIMIT: Duration = Duration::from_secs(60);
/// The program's name.
const NAME: &str = "nvdisasm";

/// A disassembler of CUDA's machine code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disassembler {
    path: PathBuf,
}

impl Disassembler {
    /// The disassembler next to `nvcc` (by default that of `PATH`), else the first on `PATH`, else the toolkit's usual
    /// location. A relative path of nvcc counts for nothing: a tool of the working directory is never executed.
    ///
    /// # Errors
    /// None of these exists.
    pub fn find(nvcc: Option<&Path>) -> Result<Self, ListingError> {
        let nvcc = nvcc.map(Path::to_owned).or_else(|| which::which("nvcc").ok());
        let nvcc = nvcc.filter(|nvcc| nvcc.is_absolute());
        let real = nvcc.as_deref().and_then(|nvcc| nvcc.canonicalize().ok());
        let beside = [nvcc.as_deref(), real.as_deref()].into_iter().flatten().filter_map(Path::parent);
        let beside: Vec<PathBuf> = beside.map(|folder| folder.join(NAME)).collect();
        let usual = PathBuf::from("/usr/local/cuda/bin").join(NAME);
        let mut candidates = beside.into_iter().chain([PathBuf::from(NAME), usual]);
        candidates.find_map(|candidate| which::which(candidate).ok()).map(|path| Self { path }).ok_or_else(|| {
            ListingError::NoDisassembler { looked: "looked beside nvcc, on PATH and in CUDA's folder".to_owned() }
        })
    }

    /// The instructions of `entry` in a cubin: text by bytes from its first instruction.
    ///
    /// # Errors
    /// The cubin cannot be written to a temporary folder, has no such kernel, or the program fails.
    pub fn of_code(&self, cubin: &[u8], entry: &str) -> Result<BTreeMap<u64, String>, ListingError> {
        let unwritten = |error: std::io::Error| ListingError::Disassembler { reason: format!("has no input: {error}") };
        let path = scratch_folder(None).map_err(unwritten)?.join(format!("module-{}.cubin", std::process::id()));
        std::fs::write(&path, cubin).map_err(unwritten)?;
        let instructions = self.instructions(&path, cubin, entry);
        // The folder is private to this user, so a leftover copy is harmless.
        let _ = std::fs::remove_file(&path);
        instructions
    }

    /// The instructions of `entry` in the cubin at `path`, which holds `bytes`: text by bytes from its first instruction.
    ///
    /// # Errors
    /// The cubin has no such kernel, or the program fails.
    pub fn instructions(&self, path: &Path, bytes: &[u8], entry: &str) -> Result<BTreeMap<u64, String>, ListingError> {
        let none = || ListingError::NoCode { kernel: entry.to_owned() };
        let symbol = symbol_index(bytes, entry)?.ok_or_else(none)?;
        let mut command = Command::new(&self.path);
        command.args(["-c", "-fun", &symbol.to_string()]).arg(path);
        let output = process::run_whole(&mut command, LIMIT)
            .map_err(|error| ListingError::Disassembler { reason: format!("cannot be started: {error}") })?;
        if !output.ending.completed() {
            let said = output.stderr.lines().chain(output.stdout.lines()).find(|line| !line.trim().is_empty());
            let reason = format!("{}: {}", output.ending, said.unwrap_or("it printed nothing"));
            return Err(ListingError::Disassembler { reason });
        }
        let instructions = parse(&output.stdout, entry);
        match instructions.is_empty() {
            true => Err(ListingError::Disassembler { reason: format!("printed no instruction of `{entry}`") }),
            false => Ok(instructions),
        }
    }
}

/// Instructions of the section of `entry`, one line each: `/*0180*/  @P4 LDG.E R17, desc[UR8][R4.64] ;`. Labels become the
/// offsets of their instructions: `BRA 0x7bf0`.
fn parse(text: &str, entry: &str) -> BTreeMap<u64, String> {
    let section = format!(".text.{entry}");
    let mut inside = false;
    let mut found: BTreeMap<u64, String> = BTreeMap::new();
    let mut labels: Vec<(String, Option<u64>)> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix(".section") {
            inside = rest.trim_start().split(',').next().is_some_and(|name| name.trim().trim_matches('"') == section);
        }
        let instruction = line.strip_prefix("/*").and_then(|rest| rest.split_once("*/")).filter(|_| inside);
        if let Some((offset, text)) = instruction
            && let Ok(offset) = u64::from_str_radix(offset, 16)
        {
            let text = text.split("/*").next().unwrap_or_default();
            found.insert(offset, text.trim().trim_end_matches(';').trim_end().to_owned());
            labels.iter_mut().filter(|(_, at)| at.is_none()).for_each(|(_, at)| *at = Some(offset));
        } else if let Some(label) = line.strip_suffix(':').filter(|label| inside && label.starts_with(".L")) {
            labels.push((format!("`({label})"), None));
        }
    }
    let labels: HashMap<String, Option<u64>> = labels.into_iter().collect();
    for text in found.values_mut().filter(|text| text.contains("`(.L")) {
        let label = text.split_whitespace().find(|word| word.starts_with("`(")).map(str::to_owned);
        let target = label.and_then(|label| Some((labels.get(&label).copied().flatten()?, label)));
        if let Some((offset, label)) = target {
            *text = text.replace(&label, &format!("{offset:#x}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Output of nvdisasm 12.8 for a kernel of a capture, shortened.
    const PRINTED: &str = "\t.target\tsm_90\n\n//--------------------- .text.other                --------------------------\n\
        \t.section\t.text.other,\"ax\",@progbits\nother:\n        /*0000*/                   EXIT ;\n\
        \t.section\t.text.attn,\"ax\",@progbits\n\t.align\t128\n        .global         attn\nattn:\n.text.attn:\n\
        \x20       /*0000*/                   LDC R1, c[0x0][0x28] ;\n\
        \x20       /*0010*/               @P4 LDG.E.U16.CONSTANT R17, desc[UR8][R4.64] ;\n\
        .L_x_4:\n        /*7bf0*/                   BRA `(.L_x_4);\n";

    #[test]
    fn the_instructions_of_one_section_are_read() {
        let found = parse(PRINTED, "attn");
        let texts: Vec<_> = found.iter().map(|(offset, text)| (*offset, text.as_str())).collect();
        let expected = [
            (0, "LDC R1, c[0x0][0x28]"),
            (0x10, "@P4 LDG.E.U16.CONSTANT R17, desc[UR8][R4.64]"),
            (0x7bf0, "BRA 0x7bf0"),
        ];
        assert_eq!(texts, expected);
        assert_eq!(parse(PRINTED, "att").len(), 0);
    }

    #[test]
    fn nvdisasm_beside_nvcc_comes_first_and_a_missing_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(NAME);
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let found = Disassembler::find(Some(&folder.path().join("nvcc"))).unwrap();
        assert_eq!(found.path, program);
        let missing = ListingError::NoDisassembler { looked: "looked".to_owned() }.to_string();
        assert!(missing.starts_with("nvdisasm was not found"), "{missing}");
    }
}

//! `ncugate check LIBRARY`: the resource use of a built file's kernels, compared with a baseline. Needs neither a GPU nor CUDA.

use super::{CommandError, print, refuse};
use crate::cli::{CheckArgs, RowFormat};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use memmap2::Mmap;
use ncugate_cuda::build::Arch;
use ncugate_judge::architectures::{by_kernel, gaps};
use ncugate_judge::kernel_ratchet::{Baseline, BaselineError, LibraryResources, library_use, ratchet};
use ncugate_model::cubin::{device_code, is_binary};
use ncugate_model::disk::open;
use ncugate_model::{ComputeCapability, demangled};
use ncugate_report::library_check;
use ncugate_report::write::replace;
use std::io::{ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};

/// Maximum length of a baseline, in bytes.
const LONGEST: u64 = 256 << 20;

/// Whether a file begins like one with machine code.
pub fn is_library(path: &Path) -> bool {
    let mut beginning = [0; 8];
    let file = path.canonicalize().and_then(|path| open::regular(&path, u64::MAX));
    file.and_then(|mut file| file.read_exact(&mut beginning)).is_ok() && is_binary(&beginning)
}

/// Reads the files, and compares the resource use of their kernels with the baseline.
pub fn check(args: &CheckArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let archs = args.arch.iter().map(|arch| Ok(arch.parse::<Arch>()?.capability()));
    let archs = archs.collect::<Result<Vec<_>, CommandError>>()?;
    let library = read(&args.configs, &archs)?;
    for (arch, chip) in args.arch.iter().zip(&archs) {
        let sm = format!("sm_{}{}", chip.major, chip.minor);
        if !library.kernels.iter().any(|kernel| kernel.arch == sm) {
            warn(&format!("no machine code for {arch}: leave out --arch to see which architectures are there"));
        }
    }
    refuse(args.format == RowFormat::Csv && !args.update, "--format csv is only for phases")?;
    let Some(path) = args.baseline.as_deref() else {
        let gaps = gaps(&library);
        let (archs, _) = by_kernel(&library);
        match args.format {
            RowFormat::Json => print::json_text(&library_check::json(&library, &gaps)?, out)?,
            RowFormat::Csv | RowFormat::Text if archs.len() > 1 => {
                print::blocks(&library_check::by_architecture(&library, &gaps, demangled), out)?;
                writeln!(out, "{}", library_check::unjudged(&library))?;
            }
            RowFormat::Csv | RowFormat::Text => print::blocks(&library_check::kernels(&library), out)?,
        }
        // Without a baseline, only architectures are compared, and only a loss is a verdict.
        return Ok(if gaps.is_empty() { Outcome::Inconclusive } else { Outcome::Failed });
    };
    if args.update {
        refuse(library.kernels.is_empty(), "no machine code to write a baseline from")?;
        prove_baseline(path)?;
        replace(path, &Baseline::write(&library))?;
        writeln!(out, "baseline: {}, {}", path.display(), library_check::summary(&library))?;
        return Ok(Outcome::Passed);
    }
    let result = ratchet(&library, &Baseline::parse(&text(path)?)?);
    match args.format {
        RowFormat::Json => print::json_text(&library_check::result_json(&result)?, out)?,
        RowFormat::Csv | RowFormat::Text => print::blocks(&library_check::result(&library, &result, path), out)?,
    }
    Ok(result.verdict.into())
}

/// Resource use of all kernels of these files.
fn read(paths: &[PathBuf], archs: &[ComputeCapability]) -> Result<LibraryResources, CommandError> {
    let mut all = LibraryResources::default();
    for path in paths {
        let unread = |source| CommandError::Input { path: path.clone(), source };
        let file = path.canonicalize().and_then(|path| open::regular(&path, u64::MAX)).map_err(unread)?;
        // Libraries have gigabytes, of which only sections are read.
        // SAFETY: the map is only read. If another program shortens the file meanwhile, this one ends without output and without a
        // verdict.
        let map = unsafe { Mmap::map(&file) }.map_err(unread)?;
        let code = device_code(&map).map_err(|error| CommandError::of_file(path, error))?;
        all.add(library_use(&code, archs).map_err(|error| CommandError::of_file(path, error))?);
    }
    Ok(all)
}

/// Proves that `--update` overwrites only a baseline of any format, or creates a new file.
fn prove_baseline(path: &Path) -> Result<(), CommandError> {
    if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(());
    }
    let text = text(path)?;
    match Baseline::parse(&text) {
        Err(BaselineError::Damaged(_)) if !text.trim().is_empty() => Err(CommandError::Usage(format!(
            "{} is not a baseline, and --update overwrites only baselines; name another file, or remove this one",
            path.display()
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The text of the baseline.
fn text(path: &Path) -> Result<String, CommandError> {
    let unread = |source| CommandError::Input { path: path.to_path_buf(), source };
    let bytes = path.canonicalize().and_then(|path| open::bytes(&path, LONGEST)).map_err(unread)?;
    String::from_utf8(bytes).map_err(|e| unread(std::io::Error::other(format!("it is not UTF-8 text: {e}"))))
}

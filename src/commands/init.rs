//! `ncugate init`: a phase drafted from the source of a kernel.

use super::{CommandError, print};
use crate::cli::{InitArgs, OutputFormat};
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_model::number::counted;
use ncugate_phase::config::{Project, is_name};
use ncugate_phase::draft::{DraftNames, KernelFile, draft, kernel_name};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes the phase, and its reference where that is a function to look at; says which places are guesses.
pub fn init(args: &InitArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let unread = |source| CommandError::Input { path: args.source.clone(), source };
    let whole = args.source.canonicalize().map_err(unread)?;
    let source = KernelFile::read(&whole).map_err(unread)?;
    let usage =
        |error: ncugate_phase::draft::DraftError| CommandError::Usage(format!("{}: {error}", args.source.display()));
    let entry = kernel_name(&source, args.entry.as_deref()).map_err(usage)?;
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{entry}.toml")));
    let root = Project::of(&std::path::absolute(&output).map_err(unread)?)?.root;
    let stem = output.file_stem().map_or_else(|| entry.clone(), |stem| stem.to_string_lossy().into_owned());
    let function = output.with_file_name(format!("{stem}_reference.py"));
    let names = DraftNames {
        phase: if is_name(&stem) { &stem } else { &entry },
        file: &output.display().to_string(),
        source: &from_root(&whole, &root),
        reference: &from_root(&std::path::absolute(&function).map_err(unread)?, &root),
    };
    let drafted = draft(&source, Some(&entry), names).map_err(usage)?;
    let mut files = vec![(output.as_path(), drafted.text.as_str())];
    files.extend(drafted.reference.as_deref().map(|text| (function.as_path(), text)));
    if let Some((there, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        let message = format!("{} is there already; name another file with --output", there.display());
        return Err(CommandError::Usage(message));
    }
    let mut written = Vec::new();
    for (path, text) in &files {
        create(path, text)?;
        if args.format == OutputFormat::Json {
            let marked = |(at, line): (usize, &str)| {
                let said = line.split_once("# ").map_or(line, |(_, said)| said);
                let is_marked = line.contains("CHECK:") || line.contains("FILL:");
                is_marked.then(|| json!({ "line": at + 1, "says": said }))
            };
            let places: Vec<_> = text.lines().enumerate().filter_map(marked).collect();
            written.push(json!({ "file": path, "places": places }));
            continue;
        }
        let places = |mark: &str| counted(text.lines().filter(|line| line.contains(mark)).count(), "place");
        let (check, fill) = (places("CHECK:"), places("FILL:"));
        writeln!(out, "{}: {check} to check, {fill} to fill in", path.display())?;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| line.contains("CHECK:") || line.contains("FILL:"))
        {
            let said = line.split_once("# ").map_or(line, |(_, said)| said);
            writeln!(out, "  {:>3}  {said}", at + 1)?;
        }
    }
    let next = format!("ncugate check {} --arch sm_90", output.display());
    match args.format {
        OutputFormat::Json => print::json(&json!({ "files": written, "next": next }), out)?,
        OutputFormat::Text => writeln!(out, "next: {next}")?,
    }
    Ok(Outcome::Passed)
}

/// A path as the phase writes it: from its root, where it lies there.
fn from_root(path: &Path, root: &Path) -> String {
    let real = root.canonicalize();
    let inner = path.strip_prefix(root).ok().or_else(|| path.strip_prefix(real.as_ref().ok()?).ok());
    inner.unwrap_or(path).display().to_string()
}

/// Writes a file that is not there yet.
fn create(path: &Path, text: &str) -> Result<(), CommandError> {
    let failed = |source| CommandError::Output { path: path.to_owned(), source };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

//! `ncugate init`, and `ncugate run KERNEL.cu`: a phase drafted from the source of a kernel or from a PyTorch function.

use super::{CommandError, print};
use crate::cli::{InitArgs, OutputFormat};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_exchange::run_package;
use ncugate_model::number::counted;
use ncugate_phase::config::{self, Project, is_name};
use ncugate_phase::draft::{DraftError, DraftNames, draft, kernel_name, read_texts};
use ncugate_phase::plan::{Method, unroll};
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes the phase, and its reference if that is a function to review; lists the guesses.
pub fn init(args: &InitArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let name = args.source.to_string_lossy();
    let module = name.rsplit_once(':').filter(|_| !args.source.exists()).map(|(module, _)| module);
    let draft = match (module, args.shapes.is_empty()) {
        (Some(_), false) => PhaseFiles::of_package("ncugate._torch_function", args)?,
        (None, false) => {
            let why = format!("--shape describes an input of a PyTorch function; `{name}` is not MODULE:FUNCTION");
            return Err(CommandError::Usage(why));
        }
        (module, true) if module.unwrap_or(&name).ends_with(".py") => {
            PhaseFiles::of_package("ncugate._kernel_draft", args)?
        }
        (Some(_), true) => {
            let why = "name the extents of the function's inputs, such as --shape 4096x8192";
            return Err(CommandError::Usage(why.to_owned()));
        }
        (None, true) => PhaseFiles::draft(&args.source, args.entry.as_deref(), args.output.as_deref())?,
    };
    draft.write()?;
    let next = format!("ncugate check {} --arch sm_90", draft.phase().display());
    if args.format == OutputFormat::Json {
        let file = |(path, text): &(PathBuf, String)| {
            let places: Vec<_> = marks(text).map(|(line, says)| json!({ "line": line, "says": says })).collect();
            json!({ "file": path, "places": places })
        };
        let files: Vec<_> = draft.files.iter().map(file).collect();
        print::json(&json!({ "files": files, "next": next }), out)?;
        return Ok(Outcome::Passed);
    }
    draft.describe(out)?;
    writeln!(out, "next: {next}")?;
    Ok(Outcome::Passed)
}

/// The phase of a kernel's source: the existing draft, or a new one, which is kept.
///
/// # Errors
/// The draft has places to fill in, which the error lists; or its file exists with a phase of another source.
pub fn phase_of_source(source: &Path, entry: Option<&str>, invocation: &Invocation) -> Result<PathBuf, CommandError> {
    let draft = PhaseFiles::draft(source, entry, None)?;
    let phase = draft.phase();
    if phase.symlink_metadata().is_ok() {
        let written = config::load(phase, &invocation.here, invocation.today())?;
        let (plan, own) = (unroll(&written)?, source.canonicalize().ok());
        let sources = plan.variants.iter().filter_map(|variant| match &variant.method {
            Method::Kernel(kernel) => written.root.join(&kernel.source).canonicalize().ok(),
            Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
        });
        if !sources.into_iter().any(|source| Some(source) == own) {
            return Err(CommandError::Usage(format!(
                "{} exists and is not a phase of {}: draft one with `ncugate init {} -o FILE`",
                phase.display(),
                source.display(),
                source.display()
            )));
        }
        warn(&format!("using {}, which was drafted before", phase.display()));
        return Ok(phase.to_owned());
    }
    draft.write()?;
    for (path, text) in &draft.files {
        warn(&format!("drafted {}: {} to check", path.display(), places(text, "CHECK:")));
    }
    let open: Vec<String> = draft
        .files
        .iter()
        .flat_map(|(path, text)| marks(text).map(move |(line, says)| (path, line, says)))
        .filter(|(.., says)| says.starts_with("FILL:"))
        .map(|(path, line, says)| format!("\n  {}:{line} {says}", path.display()))
        .collect();
    match open.is_empty() {
        true => Ok(phase.to_owned()),
        false => Err(CommandError::Usage(format!(
            "fill in the values that the source does not determine, then `ncugate run {}`:{}",
            phase.display(),
            open.concat()
        ))),
    }
}

/// The files of a drafted phase and their texts; the first is the phase.
struct PhaseFiles {
    files: Vec<(PathBuf, String)>,
}

impl PhaseFiles {
    fn draft(path: &Path, entry: Option<&str>, output: Option<&Path>) -> Result<Self, CommandError> {
        let unread = |source| CommandError::Input { path: path.to_owned(), source };
        let whole = path.canonicalize().map_err(unread)?;
        let source = read_texts(&whole).map_err(unread)?;
        let usage = |error: DraftError| CommandError::Usage(format!("{}: {error}", path.display()));
        let entry = kernel_name(&source, entry).map_err(usage)?;
        let output = output.map_or_else(|| PathBuf::from(format!("{entry}.toml")), Path::to_owned);
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
        let mut files = vec![(output, drafted.text)];
        files.extend(drafted.reference.map(|text| (function, text)));
        Ok(Self { files })
    }

    /// The files of a module of the Python package, which calls a PyTorch function, or parses a kernel in Python.
    fn of_package(module: &str, args: &InitArgs) -> Result<Self, CommandError> {
        let option = |name: &str, value: &OsStr| {
            let mut word = OsString::from(format!("--{name}="));
            word.push(value);
            word
        };
        let is_function = !args.shapes.is_empty();
        let mut words: Vec<OsString> = args.entry.iter().map(|name| option("kernel", name.as_ref())).collect();
        words.extend(is_function.then(|| option("dtype", args.dtype.name().as_ref())));
        words.extend(args.backward.then(|| OsString::from("--backward")));
        words.extend(args.output.iter().map(|path| option("output", path.as_ref())));
        words.extend(args.python.iter().map(|path| option("python", path.as_ref())));
        words.extend(args.shapes.iter().map(|shape| option("shape", shape.as_ref())));
        words.extend(args.arguments.iter().map(|argument| option("arg", argument.as_ref())));
        words.extend([OsString::from("--"), args.source.clone().into()]);
        let printed = run_package(module, &words)?.stdout;
        let files: Vec<(PathBuf, String)> = serde_json::from_str(&printed).map_err(io::Error::from)?;
        if let (true, Some((phase, text))) = (is_function, files.first()) {
            config::parse(phase, text)?;
        }
        Ok(Self { files })
    }

    fn phase(&self) -> &Path {
        &self.files[0].0
    }

    /// Writes the files; nothing if one of them exists.
    fn write(&self) -> Result<(), CommandError> {
        if let Some((path, _)) = self.files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
            let message = format!("{} exists; name another file with --output", path.display());
            return Err(CommandError::Usage(message));
        }
        self.files.iter().try_for_each(|(path, text)| create(path, text))
    }

    /// Lists the guesses.
    fn describe(&self, out: &mut Output) -> Result<(), CommandError> {
        for (path, text) in &self.files {
            let (check, fill) = (places(text, "CHECK:"), places(text, "FILL:"));
            writeln!(out, "{}: {check} to check, {fill} to fill in", path.display())?;
            marks(text).try_for_each(|(line, says)| writeln!(out, "  {line:>3}  {says}"))?;
        }
        Ok(())
    }
}

/// The number of lines with this mark.
fn places(text: &str, mark: &str) -> String {
    counted(text.lines().filter(|line| line.contains(mark)).count(), "place")
}

/// Lines with a mark: number and text.
fn marks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let marked = text.lines().enumerate().filter(|(_, line)| line.contains("CHECK:") || line.contains("FILL:"));
    marked.map(|(at, line)| {
        (at + 1, line.split_once("# ").or_else(|| line.split_once("// ")).map_or(line, |(_, says)| says))
    })
}

/// A path as the phase writes it: relative to its root if it is inside.
fn from_root(path: &Path, root: &Path) -> String {
    let real = root.canonicalize();
    let inner = path.strip_prefix(root).ok().or_else(|| path.strip_prefix(real.as_ref().ok()?).ok());
    inner.unwrap_or(path).display().to_string()
}

/// Writes a file that does not exist yet.
fn create(path: &Path, text: &str) -> Result<(), CommandError> {
    let failed = |source| CommandError::Output { path: path.to_owned(), source };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

//! Finds missing files and programs of a phase before anything is built.

use ncugate_phase::config::{KeyPlaces, Phase};
use ncugate_phase::plan::{Faults, NamedFile, Plan, PlanErrors, named_files};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Checks that every file that the phase names is readable.
///
/// # Errors
/// Each unreadable file, at its place in the phase.
pub fn prove_files(phase: &Phase, plan: &Plan) -> Result<(), PlanErrors> {
    let flaws: Vec<(NamedFile, String)> = named_files(phase, plan)
        .into_iter()
        .filter_map(|file| flaw(&phase.root.join(&file.path)).map(|flaw| (file, flaw)))
        .collect();
    let is_absent = |folder: &&PathBuf| !phase.root.join(folder).is_dir();
    let absent: Vec<&PathBuf> = phase.build.pythonpath.iter().filter(is_absent).collect();
    if flaws.is_empty() && absent.is_empty() {
        return Ok(());
    }
    let places = KeyPlaces::of(&phase.text);
    let help = format!("relative paths start at the project's root, {}", phase.root.display());
    let mut faults = Faults::default();
    for (file, flaw) in flaws {
        let key = file.keys.iter().find(|key| places.locate(key).is_some()).or(file.keys.last());
        let key = key.map(String::as_str).unwrap_or_default();
        faults.add(key, format!("is `{}`, which {flaw}", file.path.display()), &help, &file.of);
    }
    for folder in absent {
        faults.add("build.pythonpath", format!("has `{}`, which is not a folder", folder.display()), &help, "");
    }
    Err(faults.into_errors(phase))
}

/// Why a file cannot be read. Only regular files are opened: opening a pipe would block.
fn flaw(path: &Path) -> Option<String> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some("does not exist".to_owned()),
        Err(error) => Some(format!("is not accessible: {error}")),
        Ok(found) if found.is_dir() => Some("is a folder, not a regular file".to_owned()),
        Ok(found) if !found.is_file() => Some("is not a regular file".to_owned()),
        Ok(_) => File::open(path).err().map(|error| format!("cannot be read: {error}")),
    }
}

/// Programs of external commands that are missing from `PATH`, a sentence each.
pub fn absent_programs(phase: &Phase, plan: &Plan) -> Vec<String> {
    let root = phase.root.display();
    let absent = plan.commands().filter_map(|(variant, command)| {
        let name = command.argv.first().filter(|name| which::which(name).is_err())?;
        Some(format!("{variant}: program `{name}` not found (searched on PATH, or relative to {root})"))
    });
    absent.collect()
}

/// Missing files and tools that a run can do without, or that another machine may have, a sentence each: tools, a
/// recording that does not exist yet.
pub fn absent_aids(phase: &Phase) -> Vec<String> {
    let tools =
        [("build.nvcc", &phase.build.nvcc), ("build.python", &phase.build.python), ("profile.ncu", &phase.profile.ncu)];
    let tool = |(key, path): (&str, &Option<PathBuf>)| {
        let path = path.as_ref().filter(|path| which::which(path).is_err())?;
        Some(format!("`{key}` is `{}`, which was not found on this machine", path.display()))
    };
    let is_run = |path: &&PathBuf| path.join("manifest.json").is_file();
    let recording = phase.recording.iter().filter(|path| !is_run(path)).map(|path| {
        format!("`phase.recording` is `{}`, which has no run yet; add one with `ncugate tools record`", path.display())
    });
    tools.into_iter().filter_map(tool).chain(recording).collect()
}

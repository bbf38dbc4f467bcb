//! The phase file of a recording: the one in its project that names it.

use super::Manifest;
use jiff::civil::Date;
use ncugate_model::disk::open;
use ncugate_phase::config::{self, ConfigErrors, MAX_BYTES, PROJECT_FILE, Phase, Project};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of phase files, relative to the root of a project.
const FOLDERS: [&str; 2] = ["configs", ""];

/// A phase file that names a recording.
#[derive(Debug)]
pub struct PhaseFile {
    /// Relative to the root.
    pub file: PathBuf,
    pub root: PathBuf,
    pub text: String,
    /// Its phase, or why the file is none.
    pub phase: Result<Phase, ConfigErrors>,
}

impl PhaseFile {
    /// The file that names a run as its `recording`; `None` if there is none, or the run is not a recording.
    pub fn of(folder: &Path, manifest: &Manifest, today: Date) -> Option<Self> {
        if !manifest.redacted {
            return None;
        }
        let folder = folder.canonicalize().ok()?;
        let name = folder.file_name()?.to_str()?;
        let root = Project::of(&folder.join("phase.toml")).ok()?.root;
        let files = FOLDERS.iter().flat_map(|place| toml_files(&root, place));
        let path = folder.strip_prefix(&root).ok()?.to_str()?;
        let named = files.filter_map(|file| {
            let text = text_of(&root.join(&file))?;
            (text.contains("recording") && text.contains(name)).then(|| {
                let phase = config::load(&file, &root, today);
                Self { file, root: root.clone(), text, phase }
            })
        });
        let mut damaged = None;
        for file in named {
            match &file.phase {
                Ok(phase) => {
                    let recording = phase.recording.as_ref().filter(|_| phase.name == manifest.phase);
                    if recording.and_then(|path| root.join(path).canonicalize().ok()).is_some_and(|path| path == folder)
                    {
                        return Some(file);
                    }
                }
                // Its text names the recording, so it is not ignored.
                Err(_) if file.text.contains(path) => damaged = damaged.or(Some(file)),
                Err(_) => {}
            }
        }
        damaged
    }
}

/// The TOML files of a folder except a project's, sorted.
fn toml_files(root: &Path, place: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join(place)) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    let is_phase =
        |name: &PathBuf| name.extension().is_some_and(|end| end == "toml") && *name != Path::new(PROJECT_FILE);
    let mut files: Vec<PathBuf> = names.map(PathBuf::from).filter(is_phase).collect();
    files.sort();
    files.into_iter().map(|name| Path::new(place).join(name)).collect()
}

fn text_of(path: &Path) -> Option<String> {
    String::from_utf8(open::bytes(&path.canonicalize().ok()?, MAX_BYTES).ok()?).ok()
}

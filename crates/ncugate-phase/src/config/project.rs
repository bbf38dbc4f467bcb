//! The folder that paths of a phase are relative to, and the defaults for all phases below it.

use super::error::{ConfigError, ConfigErrors};
use ncugate_model::disk::open;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// Maximum size of a phase's file in bytes: the copy in a run has the same limit.
pub const MAX_BYTES: u64 = 4 << 20;

/// The file that marks the root of a project.
pub const PROJECT_FILE: &str = "ncugate.toml";

/// The root of a phase's paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The nearest folder above the phase's file that has an `ncugate.toml`, else the folder of the file; absolute.
    pub root: PathBuf,
    /// The text of that `ncugate.toml`; none if no folder has one.
    pub text: Option<String>,
}

impl Project {
    /// The project of a phase's file, which is an absolute path.
    ///
    /// # Errors
    /// An existing `ncugate.toml` cannot be read.
    pub fn of(phase: &Path) -> Result<Self, ConfigErrors> {
        // A link counts at its own location, not at its target; only the system can resolve `..`.
        let folder = phase.parent().unwrap_or(Path::new("/"));
        let goes_up = folder.components().any(|part| part == Component::ParentDir);
        let folder = folder.canonicalize().ok().filter(|_| goes_up).unwrap_or_else(|| folder.to_owned());
        for root in folder.ancestors() {
            let path = root.join(PROJECT_FILE);
            match text_of(&path) {
                Ok(text) => return Ok(Self { root: root.to_owned(), text: Some(text) }),
                Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(e) => {
                    let message = format!("cannot read the project's defaults: {e}");
                    return Err(ConfigErrors::new(&path, "", vec![ConfigError { place: None, message, help: None }]));
                }
            }
        }
        Ok(Self { root: folder, text: None })
    }

    /// The file of the defaults.
    pub fn file(&self) -> PathBuf {
        self.root.join(PROJECT_FILE)
    }
}

/// The text of a regular file within the size limit of a phase; a link to one is followed.
pub(in crate::config) fn text_of(path: &Path) -> io::Result<String> {
    let bytes = open::bytes(&path.canonicalize()?, MAX_BYTES)?;
    String::from_utf8(bytes).map_err(|error| io::Error::other(format!("it is not UTF-8 text: {error}")))
}

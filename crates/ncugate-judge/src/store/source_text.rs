//! The text of a kernel source at the time of a run, from the file or from git, if its hash matches the run's.

use ncugate_model::digest::sha256;
use ncugate_model::disk::open;
use ncugate_model::process;
use std::path::Path;
use std::time::Duration;

/// Maximum size of a source in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// git usually answers within milliseconds.
const GIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The text with SHA-256 `hash`: from the file at `path`, else from `path` at a commit; `None` if neither matches.
pub fn source_text(path: &str, hash: &str, commit: Option<&str>) -> Option<String> {
    let is_it = |bytes: &Vec<u8>| sha256(bytes) == hash;
    let of_file = open::named(Path::new(path), MAX_BYTES).ok().filter(is_it);
    let of_git = || commit.and_then(|commit| at_commit(path, commit)).filter(is_it);
    String::from_utf8(of_file.or_else(of_git)?).ok()
}

/// Whether a text is a commit hash, so that it is safe in a command.
pub fn is_commit(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit())
}

fn at_commit(path: &str, commit: &str) -> Option<Vec<u8>> {
    if !is_commit(commit) || path.starts_with('/') {
        return None;
    }
    let mut command = process::git();
    command.args(["--no-pager", "show", &format!("{commit}:./{path}")]);
    let output = process::run_whole(&mut command, GIT_TIMEOUT).ok()?;
    output.ending.completed().then(|| output.stdout.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_of_that_hash_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.cu");
        std::fs::write(&path, "kernel").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(source_text(path, &sha256(b"kernel"), None).as_deref(), Some("kernel"));
        assert_eq!(source_text(path, &sha256(b"another"), None), None);
        assert_eq!(source_text(path, &sha256(b"another"), Some("--output=x")), None, "a commit is a number");
        assert_eq!(source_text("/nowhere", &sha256(b"kernel"), Some("abc")), None);
    }
}

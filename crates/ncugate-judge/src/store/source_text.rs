//! The text of a kernel source at the time of a run, from its file, if its hash matches the run's.

use ncugate_model::digest::sha256;
use ncugate_model::disk::open;
use std::path::Path;

/// Maximum size of a source in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The text of the file at `path`; `None` if its SHA-256 is not `hash`.
pub fn source_text(path: &str, hash: &str) -> Option<String> {
    let bytes = open::named(Path::new(path), MAX_BYTES).ok().filter(|bytes| sha256(bytes) == hash)?;
    String::from_utf8(bytes).ok()
}

/// Whether a text is a commit hash, so that it is safe in a command.
pub fn is_commit(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit())
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
        assert_eq!(source_text(path, &sha256(b"kernel")).as_deref(), Some("kernel"));
        assert_eq!(source_text(path, &sha256(b"another")), None);
        assert_eq!(source_text("/nowhere", &sha256(b"kernel")), None);
    }
}

//! The recording embedded in the program, for use without the repository.

use ncugate_judge::store::{StoreError, write_atomically};
use ncugate_model::disk::open;
use std::path::Path;

/// Its files: path in the recording, and bytes.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/demo.rs"));

/// Writes the embedded recording into `folder`. An existing file stays, and must have the same bytes.
///
/// # Errors
/// `folder` has a file of one of its names with other bytes, or cannot be written to.
pub fn write_embedded(folder: &Path) -> Result<(), StoreError> {
    FILES.iter().try_for_each(|(name, bytes)| write(&folder.join(name), bytes))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    match path.symlink_metadata() {
        Ok(_) => match open::bytes(path, bytes.len() as u64) {
            Ok(there) if there == bytes => Ok(()),
            Ok(_) | Err(_) => Err(StoreError::Occupied { path: path.to_owned() }),
        },
        Err(_) => {
            let failed = |source| StoreError::Write { path: path.to_owned(), source };
            path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
            write_atomically(path, bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_judge::store::Run;

    #[test]
    fn the_recording_is_whole_and_takes_little_of_the_program() {
        let folder = tempfile::tempdir().unwrap();
        write_embedded(folder.path()).unwrap();
        write_embedded(folder.path()).unwrap();
        assert!(Run::load(folder.path()).unwrap().is_sealed());
        let bytes: usize = FILES.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(bytes < 300_000, "{bytes}");
    }

    #[test]
    fn a_file_of_somebody_else_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("manifest.json"), "mine").unwrap();
        assert!(matches!(write_embedded(folder.path()), Err(StoreError::Occupied { .. })));
        assert_eq!(std::fs::read_to_string(folder.path().join("manifest.json")).unwrap(), "mine");
    }
}

//! Files that compiler flags name: like the flags, their content determines the compiled code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Number of bytes of an options file that are searched for further files.
const OPTIONS: usize = 1 << 20;

/// Existing files that flags name, as paths relative to `root`: a separate word (`-include x.h`), after `=` or `@`
/// (`--options-file=x`), or in a list (`-Xcompiler -include,x.h`). An options file is searched for further files.
pub fn flag_files(root: &Path, flags: &[String]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    collect(root, flags.iter().map(String::as_str), &mut found);
    found
}

fn collect<'a>(root: &Path, words: impl Iterator<Item = &'a str>, found: &mut BTreeSet<PathBuf>) {
    let parts = words.flat_map(|word| word.split([',', '=', '@', '"', '\'']).chain([word]));
    let files: Vec<PathBuf> =
        parts.filter(|part| !part.is_empty() && root.join(part).is_file()).map(PathBuf::from).collect();
    for file in files {
        if found.insert(file.clone())
            && let Ok(text) = std::fs::read_to_string(root.join(&file))
            && text.len() <= OPTIONS
            && is_options(&file)
        {
            collect(root, text.split_whitespace(), found);
        }
    }
}

/// Whether a file can hold options: sources and headers are full of unrelated words.
fn is_options(file: &Path) -> bool {
    let code = ["cu", "cuh", "c", "cc", "cpp", "h", "hpp"];
    !file.extension().is_some_and(|extension| code.iter().any(|known| extension == *known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_however_a_flag_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for name in ["pre.h", "inner.h", "plain"] {
            std::fs::write(path(name), "x").unwrap();
        }
        std::fs::write(path("options"), format!("-O3 -include {}", path("inner.h"))).unwrap();
        let of = |flags: &[String]| -> Vec<String> {
            flag_files(Path::new("/"), flags)
                .iter()
                .map(|file| file.file_name().unwrap().to_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(of(&[format!("--options-file={}", path("options"))]), ["inner.h", "options"]);
        assert_eq!(of(&["-include".to_owned(), path("pre.h")]), ["pre.h"]);
        assert_eq!(of(&["-Xcompiler".to_owned(), format!("-include,{}", path("pre.h"))]), ["pre.h"]);
        assert_eq!(of(&[format!("@{}", path("plain"))]), ["plain"]);
        assert_eq!(of(&["-O3".to_owned(), "-DX=1".to_owned(), "-Isrc".to_owned()]), Vec::<String>::new());
    }
}

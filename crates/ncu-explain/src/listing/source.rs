//! Sources of the text of a source line: the files in a report, and the run's own kernel sources.

use ncugate_model::cubin::CodePlace;
use std::collections::HashMap;

/// Longest stored text of a line, in characters.
const LONGEST: usize = 400;

/// Identifies the user's source files: the kernel sources of a run, and all files in its working folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserSources {
    paths: Vec<String>,
    folder: Option<String>,
}

impl UserSources {
    /// From the run's paths, which are relative to its working folder, and that folder.
    pub fn new(paths: impl IntoIterator<Item = String>, folder: Option<&str>) -> Self {
        let paths = paths.into_iter().map(|path| plain(&path)).collect();
        let folder = folder.map(|folder| format!("{}/", plain(folder).trim_end_matches('/')));
        Self { paths, folder: folder.filter(|folder| folder.len() > 1) }
    }

    /// The user's notation for a path from the compiler, if the file is the user's.
    pub fn path(&self, written: &str) -> Option<String> {
        let written = plain(written);
        let same = |own: &&String| {
            written == **own || written.strip_suffix(own.as_str()).is_some_and(|folder| folder.ends_with('/'))
        };
        let inside = || self.folder.as_ref().and_then(|folder| written.strip_prefix(folder.as_str()));
        self.paths.iter().find(same).cloned().or_else(|| inside().map(str::to_owned))
    }

    /// The name of a file in a report: in the user's notation, else only the file name.
    pub fn name(&self, written: &str) -> String {
        let named = self.path(written).filter(|path| !path.starts_with('/'));
        named.unwrap_or_else(|| written.rsplit(['/', '\\']).next().unwrap_or(written).to_owned())
    }
}

/// A path without `.` and `..`, resolved textually: ncu and nvcc write the same file differently.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    format!("{}{}", if path.starts_with('/') { "/" } else { "" }, parts.join("/"))
}

/// Texts of source files, by the compiler's path.
#[derive(Debug, Clone, Default)]
pub struct SourceTexts {
    files: HashMap<String, Vec<String>>,
}

impl SourceTexts {
    /// Adds a file; for duplicate paths the first one is kept.
    pub fn add(&mut self, path: &str, content: &[u8]) {
        let lines = || String::from_utf8_lossy(content).lines().map(clipped).collect();
        self.files.entry(plain(path)).or_insert_with(lines);
    }

    /// The text of a line without its indentation; none for an unknown file.
    pub fn line(&self, place: &CodePlace, own: &UserSources) -> Option<String> {
        let by_path = self.files.get(&plain(&place.file));
        let ours = || own.path(&place.file).and_then(|path| self.files.get(&path));
        // A redacted report keeps the names of its files without their folders.
        let by_name = || self.files.get(place.file.rsplit('/').next()?);
        let lines = by_path.or_else(ours).or_else(by_name)?;
        let line = lines.get(usize::try_from(place.line).ok()?.checked_sub(1)?)?;
        Some(line.clone())
    }
}

fn clipped(line: &str) -> String {
    line.trim().chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str, line: u32) -> CodePlace {
        CodePlace { file: file.to_owned(), line }
    }

    #[test]
    fn a_source_of_the_user_is_known_wherever_it_was_compiled() {
        let own = UserSources::new(["kernels/a/a.cu".to_owned(), "./b.cuh".to_owned()], Some("/srv/checkout"));
        assert_eq!(own.name("/home/ada/x/kernels/a/a.cu"), "kernels/a/a.cu");
        assert_eq!(own.name("/srv/b.cuh"), "b.cuh");
        assert_eq!(own.name("/srv/checkout/kernels/a/../c/c.cuh"), "kernels/c/c.cuh");
        assert_eq!(own.name("/usr/local/cuda/bin/../include/cuda_fp16.hpp"), "cuda_fp16.hpp");
        assert_eq!(own.path("/x/akernels/a/a.cu"), None);
        assert_eq!(own.path("/srv/checkouts/c.cu"), None);
        assert_eq!(UserSources::default().path("/srv/c.cu"), None);
    }

    #[test]
    fn paths_are_made_plain_by_their_text() {
        for (path, plainly) in [("/a/./b/../c", "/a/c"), ("a//b", "a/b"), ("../x", "../x"), ("../../x/..", "../..")] {
            assert_eq!(plain(path), plainly);
        }
    }

    #[test]
    fn a_line_comes_from_the_report_or_from_the_runs_own_file_and_from_nowhere_else() {
        let own = UserSources::new(["a.cu".to_owned()], None);
        let mut texts = SourceTexts::default();
        texts.add("/tmp/inc/h.cuh", b"one\n  two();\n");
        texts.add("a.cu", b"kernel\n");
        assert_eq!(texts.line(&place("/tmp/inc/h.cuh", 2), &own).unwrap(), "two();");
        assert_eq!(texts.line(&place("/srv/a.cu", 1), &own).unwrap(), "kernel");
        for lost in [place("/tmp/inc/h.cuh", 3), place("/tmp/inc/h.cuh", 0), place("/etc/hostname", 1)] {
            assert_eq!(texts.line(&lost, &own), None);
        }
    }
}

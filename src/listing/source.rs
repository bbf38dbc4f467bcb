//! Where the text of a source line comes from: the files that a report holds, and the run's own kernel sources.

use super::Place;
use std::collections::HashMap;

/// Longest text kept of a line, in characters.
const LONGEST: usize = 400;

/// The kernel sources of a run, by the paths it hashed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own(Vec<String>);

impl Own {
    /// From the run's paths, relative to the folder it was started in.
    pub fn new(paths: impl IntoIterator<Item = String>) -> Self {
        Self(paths.into_iter().collect())
    }

    /// The run's path for a path that the compiler wrote, where it is one of its sources.
    pub fn path(&self, written: &str) -> Option<&str> {
        let same = |own: &&String| {
            let own = own.strip_prefix("./").unwrap_or(own);
            written == own || written.strip_suffix(own).is_some_and(|folder| folder.ends_with('/'))
        };
        self.0.iter().find(same).map(String::as_str)
    }

    /// How a file is called in a report: by the run's path, else by its name alone.
    pub fn name(&self, written: &str) -> String {
        let named = self.path(written).filter(|path| !path.starts_with('/'));
        named.unwrap_or_else(|| written.rsplit(['/', '\\']).next().unwrap_or(written)).to_owned()
    }
}

/// Texts of source files, by the path that the compiler wrote.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    files: HashMap<String, Vec<String>>,
}

impl Texts {
    /// Adds a file; the first of a path counts.
    pub fn add(&mut self, path: &str, content: &[u8]) {
        let lines = || String::from_utf8_lossy(content).lines().map(clipped).collect();
        self.files.entry(path.to_owned()).or_insert_with(lines);
    }

    /// The text of a line without its indentation; none for a file that is not here.
    pub fn line(&self, place: &Place, own: &Own) -> Option<String> {
        let by_path = self.files.get(&place.file);
        let ours = || own.path(&place.file).and_then(|path| self.files.get(path));
        // A redacted report keeps the names of its files and loses their folders.
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn place(file: &str, line: u32) -> Place {
        Place { file: file.to_owned(), line }
    }

    #[test]
    fn a_source_of_the_run_is_known_wherever_it_was_compiled() {
        let own = Own::new(["kernels/a/a.cu".to_owned(), "./b.cuh".to_owned()]);
        assert_eq!(own.name("/home/ada/x/kernels/a/a.cu"), "kernels/a/a.cu");
        assert_eq!(own.name("/srv/b.cuh"), "./b.cuh");
        assert_eq!(own.name("/usr/local/cuda/include/cuda_fp16.hpp"), "cuda_fp16.hpp");
        assert_eq!(own.path("/x/akernels/a/a.cu"), None);
    }

    #[test]
    fn a_line_comes_from_the_report_or_from_the_runs_own_file_and_from_nowhere_else() {
        let own = Own::new(["a.cu".to_owned()]);
        let mut texts = Texts::default();
        texts.add("/tmp/inc/h.cuh", b"one\n  two();\n");
        texts.add("a.cu", b"kernel\n");
        assert_eq!(texts.line(&place("/tmp/inc/h.cuh", 2), &own).unwrap(), "two();");
        assert_eq!(texts.line(&place("/work/a.cu", 1), &own).unwrap(), "kernel");
        for lost in [place("/tmp/inc/h.cuh", 3), place("/tmp/inc/h.cuh", 0), place("/etc/hostname", 1)] {
            assert_eq!(texts.line(&lost, &own), None);
        }
    }
}

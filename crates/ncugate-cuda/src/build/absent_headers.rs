//! Headers that a compiler looked for and did not find before the one that it read: files that would change a compilation if
//! they were added.
//!
//! The sources are searched for `#include` and `__has_include`, in every branch. Where the order of the folders is not known, a
//! folder counts as an earlier one.

use super::compiler_environment;
use super::nvcc::{CompileUnit, Nvcc};
use ncugate_phase::plan::flag_files;
use std::collections::{BTreeSet, HashMap};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The header that nvcc includes before every source.
const FIRST: &str = "cuda_runtime.h";
/// Flags of a folder that all includes are searched in, before those of variables.
const FOLDER: [&str; 3] = ["--include-path", "-I", "-include-path"];
/// Flags of a folder that is searched after those.
const SYSTEM_FOLDER: [&str; 4] = ["--system-include", "-isystem", "-idirafter", "-cxx-isystem"];
/// Flags of a header that is included before a source.
const PRE_INCLUDE: [&str; 3] = ["--pre-include", "-include", "-imacros"];

/// Extensions of files that hold code and no flags.
const CODE: [&str; 7] = ["cu", "cuh", "c", "cc", "cpp", "h", "hpp"];

/// The folders that a compilation searches for headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SearchFolders {
    /// For quoted includes only, after the folder of the file.
    quoted: Vec<PathBuf>,
    /// For all includes, in order.
    all: Vec<PathBuf>,
    /// Folders that flags name in another way.
    unordered: Vec<PathBuf>,
    /// Headers that flags include.
    included: Vec<String>,
}

/// Headers that a compilation looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SoughtHeaders {
    /// Paths without a file that the compiler would have read instead of another, or whose absence a source tests.
    pub absent: BTreeSet<PathBuf>,
    /// Files whose existence a source tests.
    pub tested: BTreeSet<PathBuf>,
}

/// What a file includes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Directives {
    /// Names, and whether they are quoted.
    names: BTreeSet<(String, bool)>,
    /// The same for tests of existence.
    tested: BTreeSet<(String, bool)>,
    /// Whether it asks for a header whose name only the preprocessor knows.
    has_computed_test: bool,
}

/// The directives of files that were read before.
#[derive(Debug, Default)]
pub(super) struct KnownDirectives(Mutex<HashMap<PathBuf, Arc<Directives>>>);

impl SearchFolders {
    /// The folders of a unit: by flags, by variables, and of packages.
    pub(super) fn of(unit: &CompileUnit, nvcc: &Nvcc) -> Self {
        let is_code = |file: &PathBuf| file.extension().is_some_and(|ending| CODE.iter().any(|code| ending == *code));
        let options = flag_files(Path::new(""), &unit.flags).into_iter().filter(|file| !is_code(file));
        let options = options.filter_map(|file| fs::read_to_string(file).ok()).map(|text| (false, text));
        let added = compiler_environment::added_flags().map(|(name, flags)| (name.contains("APPEND"), flags));
        let (last, first): (Vec<_>, Vec<_>) = added.chain(options).partition(|(is_last, _)| *is_last);
        let words = |texts: Vec<(bool, String)>| {
            texts.iter().flat_map(|(_, text)| text.split_whitespace()).map(str::to_owned).collect::<Vec<_>>()
        };
        let flags = [words(first), unit.flags.clone(), words(last)].concat();
        let listed = |name: &str| -> Vec<PathBuf> {
            env::var_os(name)
                .iter()
                .flat_map(|value| env::split_paths(value).map(or_here).collect::<Vec<_>>())
                .collect()
        };
        let late = [nvcc.header_folders(), &listed("CPLUS_INCLUDE_PATH")].concat();
        Self::by_flags(&flags, &listed("CPATH"), &late)
    }

    /// The folders of flags; `early` come after those of `-I`, and `late` after those of `-isystem`.
    fn by_flags(flags: &[String], early: &[PathBuf], late: &[PathBuf]) -> Self {
        let (mut found, mut system) = (Self::default(), Vec::new());
        let mut words = flags.iter().flat_map(|flag| flag.split(',')).flat_map(|word| {
            let inner =
                word.strip_prefix("-Xcompiler=").or_else(|| word.strip_prefix("--compiler-options=")).unwrap_or(word);
            inner.split_whitespace()
        });
        let mut last = None;
        while let Some(word) = words.next() {
            let kinds = [&FOLDER[..], &SYSTEM_FOLDER, &["-iquote"], &PRE_INCLUDE];
            let kind = kinds.iter().enumerate().find_map(|(kind, flags)| {
                let value = flags.iter().find_map(|flag| word.strip_prefix(flag))?;
                Some((kind, value.strip_prefix('=').unwrap_or(value)))
            });
            let (kind, value) = match kind {
                Some((kind, "")) => match words.next() {
                    Some("-Xcompiler" | "--compiler-options") => (kind, words.next().unwrap_or_default()),
                    value => (kind, value.unwrap_or_default()),
                },
                Some((kind, value)) => {
                    last = Some(kind);
                    (kind, value)
                }
                // A list: `-Ia,b`.
                None if !word.starts_with('-') => (last.filter(|kind| *kind < 2).unwrap_or(usize::MAX), word),
                None => {
                    last = None;
                    continue;
                }
            };
            match kind {
                0 => found.all.push(value.into()),
                1 => system.push(value.into()),
                2 => found.quoted.push(value.into()),
                3 => found.included.push(value.to_owned()),
                _ => {
                    let folders = value.split('=').map(PathBuf::from).filter(|folder| folder.is_dir());
                    found.unordered.extend(folders);
                }
            }
        }
        found.all.extend(early.iter().cloned().chain(system).chain(late.iter().cloned()));
        found
    }

    /// The headers that a compilation which read `files` looked for, in the compiler's working folder; `None` if they cannot be
    /// known. `is_ours` is whether a file belongs to the project.
    pub(super) fn sought(
        &self,
        files: &[PathBuf],
        known: &KnownDirectives,
        is_ours: impl Fn(&Path) -> bool,
    ) -> Option<SoughtHeaders> {
        let mut asked: BTreeSet<(Option<&Path>, String, bool)> = BTreeSet::new();
        let first = self.included.iter().map(String::as_str).chain([FIRST]);
        asked.extend(first.map(|name| (Some(Path::new("")), name.to_owned(), false)));
        for file in files {
            let directives = known.of(file);
            if directives.has_computed_test && is_ours(file) {
                return None;
            }
            let own = file.parent().unwrap_or(Path::new(""));
            for (names, is_test) in [(&directives.names, false), (&directives.tested, true)] {
                let names = names.iter().map(|(name, is_quoted)| (is_quoted.then_some(own), name.clone(), is_test));
                asked.extend(names);
            }
        }
        let mut sought = SoughtHeaders::default();
        for (folder, name, is_test) in asked {
            let found = self.seek(folder, &name, &mut sought.absent);
            sought.tested.extend(found.filter(|path| is_test && is_ours(path)));
        }
        // Names that a macro gives, and those behind comments.
        for file in files {
            for (at, folder) in self.all.iter().enumerate() {
                let Ok(name) = file.strip_prefix(folder) else { continue };
                let earlier = self.all[..at].iter().map(|folder| folder.join(name));
                sought.absent.extend(earlier.filter(|path| !path.is_file()));
            }
        }
        Some(sought)
    }

    /// Looks for a header as the compiler does, and notes where it is not.
    fn seek(&self, folder: Option<&Path>, name: &str, absent: &mut BTreeSet<PathBuf>) -> Option<PathBuf> {
        let folder = if Path::new(name).is_absolute() { Some(Path::new("")) } else { folder };
        let own = folder.map(|own| std::iter::once(own).chain(self.quoted.iter().map(PathBuf::as_path)));
        absent.extend(self.unordered.iter().map(|folder| folder.join(name)).filter(|path| !path.is_file()));
        for folder in own.into_iter().flatten().chain(self.all.iter().map(PathBuf::as_path)) {
            let path = folder.join(name);
            if path.is_file() {
                return Some(path);
            }
            absent.insert(path);
        }
        None
    }
}

/// An empty element of a list of folders is the working folder.
fn or_here(folder: PathBuf) -> PathBuf {
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }
}

impl KnownDirectives {
    fn of(&self, file: &Path) -> Arc<Directives> {
        let locked = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = locked().get(file) {
            return Arc::clone(known);
        }
        let found = fs::read(file).map(|bytes| Directives::of(&String::from_utf8_lossy(&bytes))).unwrap_or_default();
        let found = Arc::new(found);
        locked().insert(file.to_owned(), Arc::clone(&found));
        found
    }
}

impl Directives {
    fn of(text: &str) -> Self {
        let mut found = Self::default();
        let joined = text.contains("\\\n").then(|| text.replace("\\\n", ""));
        for line in joined.as_deref().unwrap_or(text).lines().filter(|line| line.contains("include")) {
            let start = skipped(line);
            if let Some(directive) = start.strip_prefix('#').or_else(|| start.strip_prefix("%:"))
                && let Some(name) = skipped(directive).strip_prefix("include")
            {
                found.names.extend(name_of(skipped(name.strip_prefix("_next").unwrap_or(name))));
            }
            for test in line.split("__has_include").skip(1) {
                let Some(name) = skipped(test.strip_prefix("_next").unwrap_or(test)).strip_prefix('(') else {
                    continue;
                };
                match name_of(skipped(name)) {
                    Some(name) => drop(found.tested.insert(name)),
                    None => found.has_computed_test = true,
                }
            }
        }
        found
    }
}

/// The text after blanks and comments.
fn skipped(text: &str) -> &str {
    let mut text = text.trim_start();
    while let Some(comment) = text.strip_prefix("/*") {
        text = comment.split_once("*/").map_or("", |(_, rest)| rest.trim_start());
    }
    text
}

/// The name at the start of a text, and whether it is quoted.
fn name_of(text: &str) -> Option<(String, bool)> {
    let (rest, end, is_quoted) = match text.strip_prefix('"') {
        Some(rest) => (rest, '"', true),
        None => (text.strip_prefix('<')?, '>', false),
    };
    rest.split_once(end).map(|(name, _)| (name.to_owned(), is_quoted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> (Vec<(String, bool)>, bool) {
        let found = Directives::of(text);
        (found.names.into_iter().chain(found.tested).collect(), found.has_computed_test)
    }

    #[test]
    fn every_way_to_include_is_found() {
        let text = "#include \"a.h\"\n  # /* x */ include <b/c.h> // d\n%:include \"e.h\"\n#include_next <f.h>\n\
                    #if defined(__has_include) && __has_include(\"g.h\") || __has_include ( <h.h> )\n#in\\\nclude \"i.h\"\n\
                    #ifdef __has_include\n// includes nothing\n#include MACRO\n";
        let expected = [("a.h", true), ("b/c.h", false), ("e.h", true), ("f.h", false), ("i.h", true)];
        let tested = [("g.h", true), ("h.h", false)];
        let expected = expected.into_iter().chain(tested).map(|(name, is_quoted)| (name.to_owned(), is_quoted));
        assert_eq!(names(text), (expected.collect(), false));
        assert!(names("#define HAS(x) __has_include(x)\n").1);
    }

    fn by_flags(flags: &[&str]) -> SearchFolders {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        SearchFolders::by_flags(&flags, &["early".into()], &["late".into()])
    }

    #[test]
    fn folders_are_in_the_order_in_which_the_compiler_searches_them() {
        let folders =
            by_flags(&["-isystem=s", "-Ia,b", "-I", "c", "-O3", "-Xcompiler=-I,d", "-isystem", "t", "-iquote=q"]);
        assert_eq!(folders.all, ["a", "b", "c", "d", "early", "s", "t", "late"].map(PathBuf::from));
        assert_eq!(folders.quoted, [PathBuf::from("q")]);
        let folders = by_flags(&["-Xcompiler", "-I", "-Xcompiler", "e", "-include", "x.h", "-maxrregcount=64"]);
        assert_eq!(folders.all, ["e", "early", "late"].map(PathBuf::from));
        assert_eq!((folders.included, folders.unordered), (vec!["x.h".to_owned()], Vec::new()));
    }

    #[test]
    fn a_header_is_absent_where_it_would_have_been_found_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["src", "a", "b/lib", "c"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::write(path("src/k.cu"), "#include \"lib/x.h\"\n#include <y.h>\n#if __has_include(\"z.h\")\n#endif\n")
            .unwrap();
        fs::write(path("b/lib/x.h"), "#include \"w.h\"\n").unwrap();
        fs::write(path("b/lib/w.h"), "").unwrap();
        fs::write(path("c/y.h"), "").unwrap();
        let all = ["a", "b", "c"].map(path).to_vec();
        let folders = SearchFolders { all, ..SearchFolders::default() };
        let files = ["src/k.cu", "b/lib/x.h", "b/lib/w.h", "c/y.h"].map(path);
        let SoughtHeaders { absent, tested } = folders.sought(&files, &KnownDirectives::default(), |_| true).unwrap();
        let first = ["a", "b", "c"].map(|folder| path(folder).join(FIRST));
        let expected =
            ["src/lib/x.h", "a/lib/x.h", "a/y.h", "b/y.h", "src/z.h", "a/z.h", "b/z.h", "c/z.h", "a/lib/w.h"];
        let expected = expected.map(path).into_iter().chain(first).chain([PathBuf::from(FIRST)]);
        assert_eq!((absent, tested.len()), (expected.collect(), 0));
        fs::write(path("b/z.h"), "").unwrap();
        let found = folders.sought(&files, &KnownDirectives::default(), |_| true).unwrap();
        assert_eq!(found.tested, BTreeSet::from([path("b/z.h")]), "its removal is a change too");
        assert!(!found.absent.contains(&path("c/z.h")));

        fs::write(path("src/k.cu"), "#define HAS(x) __has_include(x)\n").unwrap();
        let known = KnownDirectives::default();
        assert_eq!(folders.sought(&files, &known, |_| true), None, "it can ask for any header");
        assert!(
            folders.sought(&files, &known, |_| false).is_some(),
            "the version of the toolkit stands for its headers"
        );
    }
}

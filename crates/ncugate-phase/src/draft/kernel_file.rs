//! A kernel's file, with the files that it includes by path.

use super::token::Tokens;
use ncugate_model::disk::open;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum size of a file in bytes.
const LONGEST: u64 = 16 << 20;
/// Maximum number of included files.
const MOST_INCLUDED: usize = 64;

/// The name of the kernel's file in the input and the output of the preprocessor.
const MARKER: &str = "\"ncugate-kernel\"";

/// The text of a kernel's file and of its quoted includes, which define types and constants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelFile {
    pub text: String,
    /// Included files that exist.
    pub included: Vec<String>,
    /// The text with expanded macros, if there is one.
    expanded: Option<String>,
}

impl KernelFile {
    /// Reads a file and its includes. An included file that is missing or unreadable is skipped: the compiler can
    /// find it elsewhere.
    ///
    /// # Errors
    /// The file itself cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut file = Self { text: text_of(path)?, ..Self::default() };
        let mut waiting = paths(path, &file.text);
        let mut met = BTreeSet::new();
        while let Some(path) = waiting.pop() {
            let Ok(path) = path.canonicalize() else { continue };
            if met.len() == MOST_INCLUDED || !met.insert(path.clone()) {
                continue;
            }
            if let Ok(text) = text_of(&path) {
                waiting.extend(paths(&path, &text));
                file.included.push(text);
            }
        }
        Ok(file)
    }

    /// The input of a C++ preprocessor that expands its macros: the included files and the file, without `#include`.
    /// None if no macro has parameters.
    pub fn preprocessor_input(&self) -> Option<String> {
        if self.tokens().function_macros.is_empty() {
            return None;
        }
        let is_include =
            |line: &str| line.trim_start().strip_prefix('#').is_some_and(|r| r.trim_start().starts_with("include"));
        // Files that are included by others come first.
        let plain = |text: &String| {
            text.lines()
                .map(|line| if is_include(line) { "\n".to_owned() } else { format!("{line}\n") })
                .collect::<String>()
        };
        let included: String = self.included.iter().rev().map(plain).collect();
        Some(format!("{included}#line 1 {MARKER}\n{}", plain(&self.text)))
    }

    /// The same file with the preprocessor's output.
    #[must_use]
    pub fn with_expansion(mut self, output: &str) -> Self {
        self.expanded = output.find(&format!("# 1 {MARKER}")).map(|start| output[start..].to_owned());
        self
    }

    /// Its tokens, with the names that included files define.
    pub(super) fn tokens(&self) -> Tokens<'_> {
        let included = self.included.iter().map(|text| Tokens::of(text));
        included.fold(Tokens::of(&self.text), Tokens::with_names_of)
    }

    /// The tokens of the text with expanded macros, with the names of the text itself.
    pub(super) fn expanded_tokens(&self) -> Option<Tokens<'_>> {
        let expanded = Tokens::of(self.expanded.as_ref()?);
        Some(expanded.with_names_of(self.tokens()))
    }
}

fn text_of(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&open::named(path, LONGEST)?).into_owned())
}

/// Expected paths of the files that a text includes.
fn paths(of: &Path, text: &str) -> Vec<PathBuf> {
    let folder = of.parent().unwrap_or(Path::new(""));
    Tokens::of(text).includes.iter().map(|name| folder.join(name)).collect()
}

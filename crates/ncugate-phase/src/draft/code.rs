//! CUDA source as tokens, without comments and preprocessor lines, and the constants and types that it names.

use super::types::{ElementType, element_type};
use ncugate_model::disk::open;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// Maximum size of a file in bytes.
const LONGEST: u64 = 16 << 20;
/// Maximum number of included files.
const MOST_INCLUDED: usize = 64;

/// The texts of a kernel's file and of the files that it includes from its folder. An included file that is missing or unreadable is skipped: the
/// compiler can find it elsewhere.
///
/// # Errors
/// The file itself cannot be read.
pub fn read_texts(path: &Path) -> io::Result<Vec<String>> {
    let read = |path: &Path| Ok::<_, io::Error>(String::from_utf8_lossy(&open::named(path, LONGEST)?).into_owned());
    let include = pattern(r#"(?m)^\s*#\s*include\s*["<]([^">]+)[">]"#);
    let included = |of: &Path, text: &str| {
        let folder = of.parent().unwrap_or(Path::new(""));
        // A build often searches the folder above: `#include "math/types.h"` in a file of `math`.
        let place =
            |name: &str| folder.ancestors().take(SEARCHED).map(|one| one.join(name)).find(|file| file.is_file());
        include.captures_iter(text).filter_map(|found| place(&found[1])).collect::<Vec<_>>()
    };
    let mut texts = vec![read(path)?];
    let (mut waiting, mut met) = (included(path, &texts[0]), BTreeSet::new());
    while let Some(path) = waiting.pop() {
        let Ok(path) = path.canonicalize() else { continue };
        if met.len() < MOST_INCLUDED
            && met.insert(path.clone())
            && let Ok(text) = read(&path)
        {
            waiting.extend(included(&path, &text));
            texts.push(text);
        }
    }
    Ok(texts)
}

/// Number of folders in which included files are searched: that of the file, and those above it.
const SEARCHED: usize = 4;

/// The tokens of a kernel's file and of the files that it includes.
#[derive(Debug, Default)]
pub struct CudaCode<'s> {
    pub tokens: Vec<&'s str>,
    /// The number of those of the kernel's file, which come first.
    pub own: usize,
    /// What a name stands for: an object-like macro, a type alias, a constant. Empty for a constant with several values.
    names: BTreeMap<&'s str, String>,
    /// Macros that the compiler's `-D` overrides, with their defaults, in the order of the file.
    pub guarded: Vec<(&'s str, i64)>,
}

/// Comments, preprocessor lines, strings, words, numbers and marks. `<<` and `>>` are two marks each, since templates end in them.
const TOKEN: &str = r#"(?xs) //[^\n]* | /\*.*?(?:\*/|\z) | \#(?:\\.|[^\\\n])* | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'?
    | [\p{L}_]\w* | \d[\w.']* | <<< | [-=!<>+*/%|&^]= | \+\+ | -- | :: | -> | && | \|\| | \S"#;

impl<'s> CudaCode<'s> {
    /// Splits the texts into tokens; names of the first take precedence. Text that is not CUDA is accepted.
    pub fn of(texts: &'s [String]) -> Self {
        let mut code = Self::default();
        let token = pattern(TOKEN);
        let define = pattern(r"^#\s*define\s+(\w+)(?:\s+(.*))?$");
        let guard = pattern(r"^#\s*(?:ifndef\s+|if\s.*!\s*defined\s*\(?\s*)(\w+)");
        for text in texts {
            let (start, mut own, mut guards) = (code.tokens.len(), BTreeMap::new(), BTreeSet::new());
            for found in token.find_iter(text).map(|found| found.as_str()) {
                if let Some(found) = guard.captures(found).and_then(|found| found.get(1)) {
                    guards.insert(found.as_str());
                } else if let Some(found) = define.captures(found) {
                    let value = found.get(2).map_or("", |value| value.as_str());
                    let value = value.split("//").next().unwrap_or_default().split("/*").next().unwrap_or_default();
                    let name = found.get(1).map_or("", |name| name.as_str());
                    let value = value.trim().trim_start_matches('(').trim_end_matches(')').replace("\\\n", " ");
                    code.guarded.extend(integer(&value).filter(|_| guards.contains(name)).map(|value| (name, value)));
                    own.insert(name, value);
                } else if !found.starts_with(['#']) && !found.starts_with("//") && !found.starts_with("/*") {
                    code.tokens.push(found);
                }
            }
            collect_names(&code.tokens[start..], &mut own);
            code.own = if start == 0 { code.tokens.len() } else { code.own };
            own.append(&mut code.names);
            code.names = own;
        }
        code
    }

    /// The text that a name stands for, if it is one.
    pub fn meaning<'a>(&'a self, name: &'a str) -> &'a str {
        let mut text = name;
        for _ in 0..8 {
            match self.names.get(text.trim_start_matches("std::").trim_start_matches("cuda::")) {
                Some(meaning) if !meaning.is_empty() => text = meaning,
                _ => break,
            }
        }
        text
    }

    /// A whole number, or the value of a constant.
    pub fn number(&self, text: &str) -> Option<i64> {
        integer(self.meaning(text))
    }

    /// The element type of a C type; none if it is not a number or a vector of numbers.
    pub fn element(&self, text: &str) -> Option<ElementType> {
        element_type(self.meaning(text))
    }
}

/// `typedef float real;`, `using real = float;`, `const int W = 32;`.
fn collect_names<'s>(list: &[&'s str], names: &mut BTreeMap<&'s str, String>) {
    let (mut constants, mut start) = (BTreeMap::<&str, BTreeSet<&str>>::new(), 0);
    for (end, _) in list.iter().enumerate().filter(|(_, mark)| matches!(**mark, ";" | "{" | "}")) {
        match &list[start..end] {
            ["typedef", of @ .., name] | ["using", name, "=", of @ ..] if !of.is_empty() => {
                names.insert(name, joined(of));
            }
            [declared @ .., name, "=", value] if declared.iter().any(|word| matches!(*word, "const" | "constexpr")) => {
                constants.entry(name).or_default().insert(value);
            }
            _ => {}
        }
        start = end + 1;
    }
    let only = |values: BTreeSet<&str>| if values.len() == 1 { values.into_iter().collect() } else { String::new() };
    names.extend(constants.into_iter().map(|(name, values)| (name, only(values))));
}

pub fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// A whole number of C, without suffix.
pub fn integer(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// The mark that closes the one at `open`; none if it is not closed, or no mark opens there. `<` may also compare.
pub fn closing(list: &[&str], open: usize) -> Option<usize> {
    let mark = *list.get(open)?;
    let close = [("(", ")"), ("[", "]"), ("{", "}"), ("<", ">")].into_iter().find(|(one, _)| *one == mark)?.1;
    let mut depth = 0_usize;
    for (at, token) in list.iter().enumerate().skip(open) {
        if *token == mark {
            depth += 1;
        } else if *token == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        } else if mark == "<" && matches!(*token, ";" | "{" | "}" | "&&" | "||") {
            return None;
        }
    }
    None
}

/// The parts of a list between its commas.
pub fn parts<'t, 's>(list: &'t [&'s str]) -> Vec<&'t [&'s str]> {
    let mut depth = 0_i32;
    list.split(|token| {
        depth +=
            i32::from(matches!(*token, "(" | "[" | "{" | "<")) - i32::from(matches!(*token, ")" | "]" | "}" | ">"));
        depth == 0 && *token == ","
    })
    .collect()
}

/// Tokens as text.
pub fn joined(tokens: &[&str]) -> String {
    let mut text = String::new();
    for token in tokens {
        let is_wordy = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if is_wordy(text.chars().last()) && is_wordy(token.chars().next()) {
            text.push(' ');
        }
        text.push_str(token);
    }
    text
}

/// A pattern of this file; the tests compile each.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_directives_and_texts_are_not_code() {
        let source = "// __global__\n#include <x>\n/* a\n b */ int f('\"', \"__global__ // \\\" x\") /* open";
        let texts = [source.to_owned()];
        assert_eq!(CudaCode::of(&texts).tokens, ["int", "f", "(", "'\"'", ",", "\"__global__ // \\\" x\"", ")"]);
    }

    #[test]
    fn an_included_file_is_found_from_the_folders_above_too() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, kernel) = (folder.path().join("math"), folder.path().join("math/k.cu"));
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(&kernel, "#include \"math/types.h\"\n#include <absent.h>\n").unwrap();
        std::fs::write(inner.join("types.h"), "struct Size { int rows; };").unwrap();
        assert_eq!(read_texts(&kernel).unwrap()[1..], ["struct Size { int rows; };"]);
    }

    #[test]
    fn macros_constants_and_other_names_of_types_are_known() {
        let source = "#ifndef THREADS\n#define THREADS 256 // threads\n#endif\n#define BS (16)\n#define real float\n\
            typedef unsigned int u;\nusing vec = float4;\nconstexpr int W = 32;\nstatic const int H = 8;\n\
            void f() { const int V = 1; } void g() { const int V = 2; }";
        let texts = [source.to_owned(), "#define BS 32\nconst int D = W;".to_owned()];
        let code = CudaCode::of(&texts);
        assert_eq!(code.guarded, [("THREADS", 256)]);
        assert_eq!((code.meaning("real"), code.meaning("u"), code.meaning("vec")), ("float", "unsigned int", "float4"));
        let numbers = ["W", "H", "BS", "D", "V", "0x10"].map(|name| code.number(name));
        assert_eq!(numbers, [Some(32), Some(8), Some(16), Some(32), None, Some(16)]);
    }
}

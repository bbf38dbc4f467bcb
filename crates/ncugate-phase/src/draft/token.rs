//! CUDA source as tokens, without comments and preprocessor lines; the macros and constants of the file are kept.

use std::collections::BTreeMap;

/// A word, a number, a string or a punctuation mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CudaToken<'s> {
    /// Its text as written.
    pub text: &'s str,
    /// Line of the file, from 1.
    pub line: usize,
}

impl CudaToken<'_> {
    /// Whether it is an identifier or a keyword.
    pub fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    }
}

/// A macro that expands to a whole number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberMacro {
    pub name: String,
    pub value: i64,
    /// Whether it is inside `#ifndef`, so that the compiler's `-D` overrides it.
    pub is_guarded: bool,
}

/// A tokenised source file.
#[derive(Debug, Default)]
pub struct Tokens<'s> {
    /// Everything but comments and preprocessor lines.
    pub list: Vec<CudaToken<'s>>,
    /// Macros with a whole number, in the order of the file.
    pub macros: Vec<NumberMacro>,
    /// Type aliases: from `typedef`, `using` and macros.
    pub aliases: BTreeMap<String, String>,
    /// Quoted includes.
    pub includes: Vec<&'s str>,
    /// Tokens of included files, searched for constants, variables and functions.
    pub included: Vec<CudaToken<'s>>,
    /// Names of macros with parameters.
    pub function_macros: Vec<String>,
}

/// Multi-character marks. `<<` and `>>` are two marks each, since templates end in them.
const MARKS: [&str; 20] = [
    "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "++", "--", "::", "->", "&&", "||", "[[",
    "]]",
];

impl<'s> Tokens<'s> {
    /// Splits a source into tokens. Text that is not CUDA is accepted.
    pub fn of(source: &'s str) -> Self {
        let mut tokens = Self::default();
        let (mut rest, mut line, mut guards) = (source, 1, Vec::new());
        let mut at_start = true;
        while let Some(first) = rest.chars().next() {
            let length = if first == '#' && at_start {
                let length = directive_length(rest);
                let text = &rest[1..length];
                tokens.directive(text, &mut guards);
                // The newline after a line marker of a preprocessor (`# 12 "FILE"`) begins line 12.
                let marked = text.split_whitespace().next().and_then(|number| number.parse::<usize>().ok());
                line = marked.map_or(line, |number| number.saturating_sub(1));
                length
            } else if first.is_whitespace() {
                first.len_utf8()
            } else {
                match comment_length(rest) {
                    Some(length) => length,
                    None => {
                        let length = token_length(rest, first);
                        tokens.list.push(CudaToken { text: &rest[..length], line });
                        length
                    }
                }
            };
            let (done, left) = rest.split_at(length);
            at_start = if first.is_whitespace() { at_start || first == '\n' } else { done.ends_with('\n') };
            line += done.matches('\n').count();
            rest = left;
        }
        tokens.collect_aliases();
        tokens
    }

    /// Adds the types, macros and constants of `included`; existing names take precedence.
    #[must_use]
    pub fn with_names_of(mut self, included: Self) -> Self {
        for (name, of) in included.aliases {
            self.aliases.entry(name).or_insert(of);
        }
        for known in included.macros {
            if !self.macros.iter().any(|own| own.name == known.name) {
                self.macros.push(known);
            }
        }
        self.included.extend(included.list);
        self.included.extend(included.included);
        self.function_macros.extend(included.function_macros);
        self
    }

    /// Records `#define`, its guard, and `#include "FILE"`.
    fn directive(&mut self, text: &'s str, guards: &mut Vec<String>) {
        if let Some(name) = text.trim_start().strip_prefix("include").and_then(|rest| rest.trim().strip_prefix('"')) {
            self.includes.extend(name.split_once('"').map(|(name, _)| name));
        }
        let text = text.replace("\\\n", " ");
        let text = text.split("//").next().unwrap_or_default().split("/*").next().unwrap_or_default();
        let mut words = text.split_whitespace();
        match (words.next(), words.next()) {
            (Some("ifndef"), Some(name)) => guards.push(name.to_owned()),
            (Some("if"), Some(name)) => guards.push(not_defined(text).unwrap_or(name).to_owned()),
            (Some("ifdef"), Some(_)) => guards.push(String::new()),
            (Some("endif"), _) => drop(guards.pop()),
            (Some("define"), Some(name)) => {
                if let Some((name, _)) = name.split_once('(') {
                    self.function_macros.push(name.to_owned());
                }
                let value = words.collect::<Vec<_>>().join(" ");
                let is_guarded = guards.iter().any(|guard| guard == name);
                match integer(value.trim_start_matches('(').trim_end_matches(')')) {
                    Some(value) => self.macros.push(NumberMacro { name: name.to_owned(), value, is_guarded }),
                    None if !value.is_empty() && !name.contains('(') => {
                        self.aliases.insert(name.to_owned(), value);
                    }
                    None => {}
                }
            }
            _ => {}
        }
    }

    /// `typedef float real;` and `using real = float;`.
    fn collect_aliases(&mut self) {
        let texts: Vec<&str> = self.list.iter().map(|token| token.text).collect();
        for (at, word) in texts.iter().enumerate() {
            let Some(length) = texts[at..].iter().take(10).position(|text| *text == ";") else { continue };
            let statement = &texts[at + 1..at + length.max(1)];
            match (*word, statement) {
                ("typedef", [of @ .., name]) if !of.is_empty() => {
                    self.aliases.insert((*name).to_owned(), of.join(" "));
                }
                ("using", [name, "=", of @ ..]) if !of.is_empty() => {
                    self.aliases.insert((*name).to_owned(), of.join(" "));
                }
                _ => {}
            }
        }
    }

    /// A whole number, or the value of a constant of the file.
    pub fn number(&self, text: &str) -> Option<i64> {
        integer(text).or_else(|| self.constant(text))
    }

    /// The value of a constant of the file: a macro, or `const int NAME = 32;`.
    pub fn constant(&self, name: &str) -> Option<i64> {
        let of_macro = self.macros.iter().find(|known| known.name == name).map(|known| known.value);
        of_macro.or_else(|| {
            let declared = self.list.windows(6).chain(self.included.windows(6)).find(|window| {
                let is_constant = window[..3].iter().any(|token| matches!(token.text, "const" | "constexpr"));
                is_constant && [2, 3, 5].map(|at| window[at].text) == [name, "=", ";"]
            });
            integer(declared?[4].text)
        })
    }

    /// The text of the constant's value that is declared last before a position: `constexpr static bool CAUSAL = true;`.
    pub fn declared_before(&self, at: usize, name: &str) -> Option<&'s str> {
        let texts = |place: usize| self.list.get(place).map(|token| token.text);
        let is_constant = |place: usize| {
            let before = &self.list[place.saturating_sub(4)..place];
            before.iter().any(|token| matches!(token.text, "const" | "constexpr"))
        };
        (0..at).rev().find_map(|place| {
            let declared = [texts(place), texts(place + 1), texts(place + 3)] == [Some(name), Some("="), Some(";")];
            (declared && is_constant(place)).then(|| texts(place + 2)).flatten()
        })
    }
}

/// `NAME` of `!defined(NAME)`.
fn not_defined(text: &str) -> Option<&str> {
    let inside = text.split_once("!defined")?.1.trim().trim_start_matches('(');
    inside.split([')', ' ']).next()
}

/// A whole number of C, without suffix.
pub fn integer(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// Length in bytes of a preprocessor line with its continuation lines, without the final newline.
fn directive_length(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end().ends_with('\\') {
            return length - usize::from(line.ends_with('\n'));
        }
    }
    length
}

fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let inside = text.strip_prefix("/*")?;
    Some(inside.find("*/").map_or(text.len(), |end| end + 4))
}

fn token_length(text: &str, first: char) -> usize {
    let while_of = |holds: fn(char) -> bool| text.find(|c: char| !holds(c)).unwrap_or(text.len());
    match first {
        '"' | '\'' => quoted_length(text, first),
        c if c.is_alphabetic() || c == '_' => while_of(|c| c.is_alphanumeric() || c == '_'),
        c if c.is_ascii_digit() => while_of(|c| c.is_alphanumeric() || matches!(c, '.' | '\'')),
        c => MARKS.iter().find(|mark| text.starts_with(**mark)).map_or(c.len_utf8(), |mark| mark.len()),
    }
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote || c == '\n' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Position of the mark that closes the one at `at`; none if it is not closed.
pub fn closing(tokens: &[CudaToken<'_>], at: usize, open: &str, close: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        if token.text == open {
            depth += 1;
        } else if token.text == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(place);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_directives_and_texts_are_not_code() {
        let source = "// __global__\n#include <x>\n/* a\n b */ int f('\"', \"__global__ // \\\" x\") /* open";
        let tokens = Tokens::of(source);
        let texts: Vec<&str> = tokens.list.iter().map(|token| token.text).collect();
        assert_eq!(texts, ["int", "f", "(", "'\"'", ",", "\"__global__ // \\\" x\"", ")"]);
        assert_eq!(tokens.list[0].line, 4);
    }

    #[test]
    fn line_markers_of_a_preprocessor_count() {
        let tokens = Tokens::of("# 40 \"kernel.cu\"\nint a;\n\n# 7 \"kernel.cu\"\nint b;");
        let lines: Vec<usize> = tokens.list.iter().map(|token| token.line).collect();
        assert_eq!(lines, [40, 40, 40, 7, 7, 7]);
    }

    #[test]
    fn macros_constants_and_other_names_of_types_are_known() {
        let source = "#ifndef THREADS\n#define THREADS 256 // threads\n#endif\n#define BS (16)\n#define real float\n\
            typedef unsigned int u;\nusing vec = float4;\nconstexpr int W = 32;\nstatic const int H = 8;";
        let tokens = Tokens::of(source);
        assert_eq!(tokens.macros[0], NumberMacro { name: "THREADS".to_owned(), value: 256, is_guarded: true });
        assert_eq!(tokens.macros[1], NumberMacro { name: "BS".to_owned(), value: 16, is_guarded: false });
        let alias = |name: &str| tokens.aliases[name].as_str();
        assert_eq!((alias("real"), alias("u"), alias("vec")), ("float", "unsigned int", "float4"));
        assert_eq!((tokens.constant("W"), tokens.constant("H"), tokens.constant("BS")), (Some(32), Some(8), Some(16)));
    }
}

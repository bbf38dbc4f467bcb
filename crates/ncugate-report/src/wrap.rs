//! Paragraphs for a terminal. Lines break at spaces; words and commands stay whole.

use std::fmt::Write as _;

/// Lines of at most `columns` characters, broken at spaces outside of backticks. A longer word has its own line.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Writes a paragraph with `indent` blanks before each line.
pub fn paragraph(out: &mut String, indent: usize, text: &str, columns: usize) {
    let blanks = " ".repeat(indent);
    for line in wrapped(text, columns.saturating_sub(indent)) {
        let _ = writeln!(out, "{blanks}{line}");
    }
}

/// Units stay with their number.
const UNITS: [&str; 8] = ["%", "pp", "ns", "µs", "ms", "s", "KiB", "MiB"];

/// The words of a text. A command in backticks is one word, so that it can be copied; a backtick alone is no command.
fn words(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split_whitespace().collect();
    let is_end = |part: &&str| part.matches('`').count() % 2 == 1;
    let mut words: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        let rest = parts.get(at + 1..).unwrap_or_default();
        let length = if is_end(part) { rest.iter().position(is_end).map_or(1, |end| end + 2) } else { 1 };
        let word = parts.get(at..at + length).unwrap_or_default().join(" ");
        at += length;
        match words.last_mut().filter(|_| is_unit(&word)) {
            Some(number) => {
                number.push(' ');
                number.push_str(&word);
            }
            None => words.push(word),
        }
    }
    words
}

fn is_unit(word: &str) -> bool {
    UNITS.contains(&word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrap_at_spaces_and_words_and_commands_stay_whole() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("overlongword x", 6), ["overlongword", "x"]);
        assert_eq!(wrapped("run `ncu --set full` again", 10), ["run", "`ncu --set full`", "again"]);
        assert_eq!(wrapped("a ` alone is no command", 10), ["a ` alone", "is no", "command"]);
        assert_eq!(wrapped("at most 52 %, in 3 ms", 12), ["at most", "52 %, in", "3 ms"]);
        let mut out = String::new();
        paragraph(&mut out, 2, "one two three", 10);
        assert_eq!(out, "  one two\n  three\n");
    }
}

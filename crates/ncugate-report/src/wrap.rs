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
const UNITS: [&str; 7] = ["%", "ns", "µs", "ms", "s", "KiB", "MiB"];

/// The words of a text. A command in backticks is one word, so that it can be copied.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for part in text.split_whitespace() {
        let is_unit =
            UNITS.iter().any(|unit| part.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%') == *unit);
        match words.last_mut().filter(|_| is_open || is_unit) {
            Some(command) => {
                command.push(' ');
                command.push_str(part);
            }
            None => words.push(part.to_owned()),
        }
        is_open ^= part.matches('`').count() % 2 == 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrap_at_spaces_and_words_and_commands_stay_whole() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("overlongword x", 6), ["overlongword", "x"]);
        assert_eq!(wrapped("run `ncu --set full` again", 10), ["run", "`ncu --set full`", "again"]);
        assert_eq!(wrapped("at most 52 %, in 3 ms", 12), ["at most", "52 %, in", "3 ms"]);
        let mut out = String::new();
        paragraph(&mut out, 2, "one two three", 10);
        assert_eq!(out, "  one two\n  three\n");
    }
}

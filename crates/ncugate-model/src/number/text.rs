//! Text from outside (kernel names, file names, compiler output) made safe to show.
//!
//! Each renderer escapes for its own format; this module removes text that is unsafe in every format: control
//! characters, marks that change the direction of the following text, and lengths that bury the page.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

/// Maximum length of a name or message, in characters.
pub const LONGEST: usize = 2_000;
/// Maximum length of a label in a table or a chart, in characters.
pub const LABEL: usize = 72;

/// `text` with control and direction characters written as `⟨U+202E⟩`, at most [`LONGEST`] characters; idempotent.
pub fn clean(text: &str) -> String {
    let shown = visible(text, LONGEST + 1);
    if text.len() <= LONGEST && shown.len() <= LONGEST {
        return shown;
    }
    let all = text.chars().count();
    if all <= LONGEST && shown.chars().count() <= LONGEST {
        return shown;
    }
    let length = format!("… ({} characters)", super::plain(all as f64));
    shown.chars().take(LONGEST - length.chars().count()).chain(length.chars()).collect()
}

/// A whole file, cleaned and never truncated.
pub fn clean_file(text: &str) -> String {
    visible(text, usize::MAX)
}

/// A whole text for a terminal or a log: cleaned, and without CI runner commands: `::error::` at the beginning of a
/// line, `##[error]` (GitHub's older form) and `##vso[` (Azure's) anywhere in it.
pub fn logged(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace("##[", "## [").replace("##vso[", "## vso[").replace("##teamcity[", "## teamcity[");
        // Runners ignore leading blanks; invisible characters count as blanks.
        let is_blank =
            |c: char| c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{180e}' | '\u{ad}');
        if line.trim_start_matches(is_blank).starts_with("::") { format!("'{line}") } else { line }
    };
    clean_file(text).split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A cell of a text file for programs (CSV): [`logged`], on one line. A text that a spreadsheet would calculate begins
/// with `'`.
pub fn cell(text: &str) -> Cow<'_, str> {
    if text.trim_start().starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err() {
        return Cow::Owned(format!("'{}", logged(text).replace('\n', "⟨U+000A⟩")));
    }
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'#') && !text.trim_start().starts_with("::") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(logged(text).replace('\n', "⟨U+000A⟩"))
}

/// JSON whose texts contain no terminal control character and no CI runner command. Escapes preserve every value.
pub fn escaped_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut previous = ' ';
    for c in json.chars() {
        if c != '\n' && c.is_control() || is_direction(c) || c == '#' && previous == '#' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
        previous = c;
    }
    out
}

fn visible(text: &str, longest: usize) -> String {
    let mut out = String::with_capacity(text.len().min(longest.saturating_mul(4)));
    for c in text.chars().take(longest) {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if c.is_control() || is_direction(c) => {
                let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// [`clean`] on one line.
pub fn line(text: &str) -> String {
    joined(clean(text))
}

/// The lines of a text as one.
pub(super) fn joined(text: String) -> String {
    if text.contains(['\n', '\t']) { text.split_whitespace().collect::<Vec<_>>().join(" ") } else { text }
}

/// [`line()`] of at most `longest` characters.
pub fn clip(text: &str, longest: usize) -> String {
    let line = line(text);
    if line.chars().nth(longest).is_none() {
        return line;
    }
    line.chars().take(longest.saturating_sub(1)).chain(['…']).collect()
}

/// The first `most` items, and how many more there are: `a, b and 3 more`.
pub fn listed<T: Display>(items: impl IntoIterator<Item = T>, most: usize, between: &str) -> String {
    let mut items = items.into_iter();
    let first: Vec<String> = items.by_ref().take(most).map(|item| item.to_string()).collect();
    match items.count() {
        0 => first.join(between),
        more => format!("{} and {} more", first.join(between), super::plain(more as f64)),
    }
}

/// `text` left-aligned in a column of `width` characters. The width in a format string has 16 bits and panics beyond.
pub fn left(text: &str, width: usize) -> String {
    format!("{text}{}", blanks(text, width))
}

/// `text` right-aligned in a column of `width` characters.
pub fn right(text: &str, width: usize) -> String {
    format!("{}{text}", blanks(text, width))
}

fn blanks(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.chars().count()))
}

/// A title inside a sentence: `Latency p50` is `latency p50`, `DRAM bytes` stays.
pub fn inside(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => first.to_lowercase().chain(letters).collect(),
        _ => title.to_owned(),
    }
}

/// Adds a capital and a full stop.
pub fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first: String = letters.next().map_or_else(String::new, |c| c.to_uppercase().collect());
    let stop = if words.ends_with(['.', '!', '?']) || words.is_empty() { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}'
        | '\u{2028}' | '\u{2029}' | '\u{FFFE}' | '\u{FFFF}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_logged_is_no_command_of_a_runner() {
        assert_eq!(
            logged("a\n::error::x\n  ::stop-commands::y\n##[error]z"),
            "a\n'::error::x\n'  ::stop-commands::y\n## [error]z"
        );
        assert_eq!(logged("x\u{1b}]52;c\u{7}"), "x⟨U+001B⟩]52;c⟨U+0007⟩");
        assert_eq!(logged("\u{200b}\u{a0}::error::x ##vso[task]"), "'\u{200b}\u{a0}::error::x ## vso[task]");
        assert_eq!((&*cell("a\n::b"), &*cell("k<int>")), ("a⟨U+000A⟩'::b", "k<int>"));
        for formula in ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1"] {
            assert!(cell(formula).starts_with('\''), "{formula}");
        }
        for number in ["-3.5", "+inf", "-1e-9", "7"] {
            assert_eq!(cell(number), number);
        }
    }

    #[test]
    fn json_keeps_its_values_and_loses_what_terminals_and_runners_act_on() {
        let text = "a\u{7f}\u{9b}\u{202e}\u{e0041}##[error]###\n::x\u{1b}größe";
        let json = escaped_json(&serde_json::to_string_pretty(&[text]).unwrap());
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [text]);
        assert!(!json.contains("##") && json.chars().all(|c| c == '\n' || !c.is_control()), "{json}");
    }

    #[test]
    fn control_and_direction_characters_become_visible() {
        assert_eq!(clean("a\0b\u{202E}c\u{1b}[31m"), "a⟨U+0000⟩b⟨U+202E⟩c⟨U+001B⟩[31m");
        assert_eq!(line("two\nlines\r\n"), "two lines");
        assert_eq!(clean("שלום"), "שלום");
    }

    #[test]
    fn words_become_sentences_and_titles_go_inside_them() {
        assert_eq!(sentence("schedulers issue in 47 % of cycles"), "Schedulers issue in 47 % of cycles.");
        assert_eq!((sentence("Held.").as_str(), sentence("").as_str()), ("Held.", ""));
        assert_eq!((inside("Latency p50").as_str(), inside("DRAM bytes").as_str()), ("latency p50", "DRAM bytes"));
    }

    #[test]
    fn columns_are_as_wide_as_any_cell() {
        assert_eq!((left("größe", 7), right("größe", 7)), ("größe  ".to_owned(), "  größe".to_owned()));
        assert_eq!((left("größe", 3), right("", 0)), ("größe".to_owned(), String::new()));
        assert_eq!(left("k", 200_000).len() + right("k", 200_000).len(), 400_000);
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        let long = "k".repeat(20_000);
        assert!(clean(&long).ends_with("… (20,000 characters)"));
        assert_eq!(clip(&long, 10), "kkkkkkkkk…");
        assert_eq!(clip("short", 10), "short");
    }
}

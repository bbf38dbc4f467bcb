//! The project's own words: no page, message, help text or comment has a phrase that CONTRIBUTING.md rules out.

use crate::command::root;
use crate::docs::pages;
use crate::sources::product_files;
use std::fs;

/// Phrases that readers stumble over. A standard term, a noun or an actor replaces each of them.
const PHRASES: &str = include_str!("../data/phrases.txt");

/// Places of the phrases in a text: line and phrase. A phrase may continue on the next line.
fn found(prose: &str) -> Vec<(usize, &'static str)> {
    let text = prose.to_ascii_lowercase().replace('\n', " ");
    let is_word = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut places = Vec::new();
    for phrase in PHRASES.lines() {
        for (at, _) in text.match_indices(phrase) {
            let (before, after) = (&text[..at], &text[at + phrase.len()..]);
            if !is_word(before.chars().next_back()) && !is_word(after.chars().next()) {
                places.push((prose[..at].matches('\n').count() + 1, phrase));
            }
        }
    }
    places
}

/// The prose of a page, line by line: no code blocks, no text in backticks.
fn of_page(text: &str) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence && !line.starts_with("    ") {
            prose.push_str(&line.split('`').step_by(2).collect::<Vec<_>>().join("|"));
        }
        prose.push('\n');
    }
    prose
}

/// Comments and string literals of a source file, line by line. A bar separates neighbours on a line.
fn of_source(text: &str) -> String {
    let mut prose = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            prose.push_str(rest[..end].trim_start_matches(['/', '!']).trim_start());
            end
        } else if let Some((start, end)) = literal(rest) {
            for (at, line) in rest[start..end].split('\n').enumerate() {
                prose.push_str(if at == 0 { "|" } else { "\n" });
                prose.push_str(&line.trim().trim_end_matches('\\').trim_end().replace("\\n", "  "));
            }
            prose.push('|');
            (end + 1).min(rest.len())
        } else if let Some(end) = character_literal(rest) {
            end
        } else {
            if character == '\n' {
                prose.push('\n');
            }
            character.len_utf8()
        };
        rest = &rest[length..];
    }
    prose
}

/// Begin and end of the content of a string literal at the start of a text.
fn literal(text: &str) -> Option<(usize, usize)> {
    let hashes = text.strip_prefix('r').map(|raw| raw.len() - raw.trim_start_matches('#').len());
    if let Some(hashes) = hashes.filter(|hashes| text[1 + hashes..].starts_with('"')) {
        let start = hashes + 2;
        let end = text[start..].find(&format!("\"{}", "#".repeat(hashes))).map_or(text.len(), |at| start + at);
        return Some((start, end));
    }
    let mut escaped = false;
    text.starts_with('"').then(|| {
        let closing = text[1..].char_indices().find(|(_, character)| {
            let is_end = *character == '"' && !escaped;
            escaped = *character == '\\' && !escaped;
            is_end
        });
        (1, closing.map_or(text.len(), |(at, _)| at + 1))
    })
}

/// The length of a character literal at the start of a text. A lifetime is none.
fn character_literal(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    let skipped = if inner.starts_with('\\') { 2 } else { inner.chars().next()?.len_utf8() };
    inner.get(skipped..)?.find('\'').filter(|at| *at == 0 || inner.starts_with('\\')).map(|at| 2 + skipped + at)
}

fn listed(file: &str, prose: &str) -> Vec<String> {
    found(prose).into_iter().map(|(line, phrase)| format!("{file}:{line}: '{phrase}'")).collect()
}

#[test]
fn no_page_has_a_phrase_that_readers_stumble_over() {
    let mut places = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        places.extend(listed(&page.strip_prefix(root()).unwrap().display().to_string(), &of_page(&text)));
    }
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn no_message_and_no_comment_has_a_phrase_that_readers_stumble_over() {
    let mut places = Vec::new();
    for (file, text) in product_files() {
        places.extend(listed(&file, &of_source(&text)));
    }
    for entry in fs::read_dir(root().join("templates")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = fs::read_to_string(&path).unwrap();
            places.extend(listed(&path.strip_prefix(root()).unwrap().display().to_string(), &text));
        }
    }
    assert_eq!(places, Vec::<String>::new());
}

#[test]
fn a_planted_phrase_is_found_in_its_line() {
    let page = "# Title\n\nRuns are timed anew.\n`anew`\n```sh\nanew\n```\nKeys of\ntheir own, wholly owned.\n";
    assert_eq!(listed("page.md", &of_page(page)), ["page.md:3: 'anew'", "page.md:8: 'of their own'"]);
    let source = "//! Limits are held\n//! against counters.\nfn a<'a>(text: &'a str) -> char {\n    let quote = '\"';\n    \
        println!(\"it \\\"is\\\" told {text}\");\n    println!(\n        \"a file of \\\n         its own\"\n    );\n    \
        let raw = r#\"whom \"x\"#; // Samples are timed anew.\n    quote\n}\n";
    assert_eq!(
        listed("a.rs", &of_source(source)),
        ["a.rs:10: 'anew'", "a.rs:1: 'held against'", "a.rs:7: 'of its own'", "a.rs:10: 'whom'"]
    );
}

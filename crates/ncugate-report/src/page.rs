//! Shared parts of all pages: the base template, the style, and a content security policy that blocks everything else.
//!
//! A page is one file that opens from disk and makes no network requests. Its content security policy names style and
//! script by their hash, so that no text in the data can become either.

use super::error::RenderError;
use crate::chart::palette;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, HtmlEscape, UndefinedBehavior, Value};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Templates by name; each page extends `base.html`.
const TEMPLATES: [(&str, &str); 5] = [
    ("base.html", include_str!("../templates/base.html")),
    ("macros.html", include_str!("../templates/macros.html")),
    ("report.html", include_str!("../templates/report.html")),
    ("document.html", include_str!("../templates/document.html")),
    ("document_macros.html", include_str!("../templates/document_macros.html")),
];

/// The style sheet, from general rules to rules for print.
const STYLE: &str = concat!(
    include_str!("../templates/style/theme.css"),
    include_str!("../templates/style/page.css"),
    include_str!("../templates/style/sections.css"),
    include_str!("../templates/style/charts.css"),
    include_str!("../templates/style/table.css"),
    include_str!("../templates/style/first_screen.css"),
    include_str!("../templates/style/kernels.css"),
    include_str!("../templates/style/narrow.css"),
    include_str!("../templates/style/print.css"),
);

/// The words that every page defines.
const GLOSSARY: &str = include_str!("../glossary.md");

/// A word of the glossary.
#[derive(Debug, Serialize)]
struct GlossaryEntry<'a> {
    word: &'a str,
    meaning: &'a str,
}

/// The rows of the glossary's table.
fn glossary() -> Vec<GlossaryEntry<'static>> {
    let rows = GLOSSARY.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.filter_map(|line| line.trim_matches(['|', ' ']).split_once(" | "))
        .map(|(word, meaning)| GlossaryEntry { word, meaning })
        .collect()
}

/// The data of a template: its context, style and script.
#[derive(Serialize)]
struct Page<'a, T> {
    style: String,
    style_hash: String,
    script: Option<&'a str>,
    script_hash: Option<String>,
    glossary: Vec<GlossaryEntry<'static>>,
    #[serde(flatten)]
    context: T,
}

/// Renders a page.
///
/// # Errors
/// A template that fails.
pub fn render(template: &str, context: impl Serialize, script: Option<&str>) -> Result<String, RenderError> {
    let style = style();
    let (style_hash, script_hash) = (hash(&style), script.map(hash));
    let page = Page { style, style_hash, script, script_hash, glossary: glossary(), context };
    Ok(environment()?.get_template(template)?.render(Serde(page))?)
}

/// HTML of a sentence: what stands between two backticks is code. A single backtick stays, as in machine code.
fn code(text: Option<&str>) -> Value {
    let parts: Vec<&str> = text.unwrap_or_default().split('`').collect();
    if parts.len().is_multiple_of(2) {
        return id(Some(&parts.join("`")));
    }
    let part = |(at, part): (usize, &&str)| match at % 2 {
        0 => breakable(part),
        _ => format!("<code>{}</code>", breakable(part)),
    };
    Value::from_safe_string(parts.iter().enumerate().map(part).collect())
}

/// HTML of a text whose lines can also end between the parameters of an id.
fn id(text: Option<&str>) -> Value {
    Value::from_safe_string(breakable(text.unwrap_or_default()))
}

fn breakable(text: &str) -> String {
    let mut parts = text.split(',').map(|part| HtmlEscape(part).to_string());
    let mut html = parts.next().unwrap_or_default();
    for part in parts {
        // Not in `1,024`, and a space ends a line anyway.
        let is_name = part.starts_with(|first: char| first.is_alphabetic() || first == '_');
        html += if is_name { ",<wbr>" } else { "," };
        html += &part;
    }
    html
}

/// The templates with their filters.
fn environment() -> Result<Environment<'static>, RenderError> {
    let mut env = Environment::new();
    // A page without a value that its template names could lack a gate, so that is an error.
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.add_filter("code", code);
    env.add_filter("id", id);
    for (name, text) in TEMPLATES {
        env.add_template(name, text)?;
    }
    Ok(env)
}

/// The style sheet with the colours of verdicts and charts.
fn style() -> String {
    format!("{STYLE}:root{{{}}}{}", palette::properties(), palette::rules())
}

/// `sha256-...` of an inline style or script, as a content security policy names it.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

/// RFC 4648 base64 with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, b| (bits << 8) | u32::from(*b)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_template_is_not_given_is_an_error() {
        let env = environment().unwrap();
        let context = minijinja::context! { report => minijinja::context! { title => "t" } };
        assert_eq!(env.render_str("{{ report.title }}", &context).unwrap(), "t");
        for text in ["{{ absent }}", "{{ report.absent }}", "{% if report.absent %}{% endif %}"] {
            assert!(env.render_str(text, &context).is_err(), "{text}");
        }
        assert!(render("report.html", context, None).is_err());
    }

    #[test]
    fn the_glossary_is_the_table_of_the_documentation() {
        let words: Vec<&str> = glossary().iter().map(|entry| entry.word).collect();
        assert_eq!((words.first(), words.last()), (Some(&"phase"), Some(&"shard")));
        assert_eq!(words.len(), GLOSSARY.lines().filter(|line| line.starts_with('|')).count() - 2);
        let run = glossary().into_iter().find(|entry| entry.word == "run").unwrap();
        assert_eq!(run.meaning, "one execution of a phase, kept in `profiles/<phase>/<run>/`");
    }

    #[test]
    fn code_of_a_sentence_is_marked_and_what_it_says_is_no_html() {
        let written = |text| code(Some(text)).to_string();
        assert_eq!(written("add `[profile] <x>` & run"), "add <code>[profile] &lt;x&gt;</code> &amp; run");
        assert_eq!(written("BRA `(.L_x_4) <b>"), "BRA `(.L_x_4) &lt;b&gt;");
        assert_eq!(code(None).to_string(), "");
    }

    #[test]
    fn a_line_ends_between_the_parameters_of_an_id_and_in_no_number() {
        let written = |text| code(Some(text)).to_string();
        assert_eq!(written("1,024 of `A=1,B=2,_C=<3>`, b"), "1,024 of <code>A=1,<wbr>B=2,<wbr>_C=&lt;3&gt;</code>, b");
        assert_eq!(id(Some("f<int,float>")).to_string(), "f&lt;int,<wbr>float&gt;");
    }

    #[test]
    fn base64_follows_the_rfc() {
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn no_line_of_a_template_or_of_its_style_is_too_long_to_review() {
        for (name, text) in TEMPLATES.into_iter().chain([("style", STYLE), ("script", super::super::html::SCRIPT)]) {
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(longest <= 160, "{name} has a line of {longest} characters");
        }
    }
}

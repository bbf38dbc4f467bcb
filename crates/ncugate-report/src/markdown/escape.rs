//! External text in Markdown.

use ncugate_model::number::text;

/// Text that Markdown and its HTML leave unchanged: no link, no mention, and no markup but words in backticks.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        match c {
            '`' if next != '`' => match inline_code(rest.clone()) {
                Some(code) => {
                    out += &format!("`{code}`");
                    rest.nth(code.chars().count());
                }
                None => out.push_str("\\`"),
            },
            '<' if !(next == '=' || next == ' ') => out.push_str("&lt;"),
            '>' if previous != ' ' || out.is_empty() => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // A zero-width space keeps GitHub from recognising an address, a mention or an issue number in the escaped
            // text.
            '@' => out.push_str("&#64;\u{200b}"),
            ':' if next == '/' => out.push_str("&#58;\u{200b}"),
            '.' if out.get(out.len().saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("www")) => {
                out.push_str("\u{200b}.");
            }
            '#' if next.is_ascii_digit() => out.push_str("\\#\u{200b}"),
            '\n' | '\r' | '\t' => out.push(' '),
            '_' if previous.is_alphanumeric() && next.is_alphanumeric() => out.push(c),
            '*' if previous == ' ' && next == ' ' => out.push(c),
            '!' if next != '[' => out.push(c),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '!' => {
                out.push('\\');
                out.push(c);
            }
            '#' if previous == ' ' => out.push_str("\\#"),
            c => out.push(c),
        }
        previous = c;
    }
    out
}

/// What stands between a backtick and the next one. A bar would end the cell of a table.
fn inline_code(rest: impl Iterator<Item = char>) -> Option<String> {
    let mut code = String::new();
    for c in rest {
        match c {
            '`' => return (!code.is_empty() && code.trim() == code).then_some(code),
            '|' | '\n' | '\r' | '\t' => return None,
            c => code.push(c),
        }
    }
    None
}

/// Lines as code, free of markup and of commands for a CI runner.
pub fn code<'l>(lines: impl IntoIterator<Item = &'l str>) -> String {
    lines.into_iter().map(|line| format!("    {}\n", text::logged(&text::line(line)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_stays_text() {
        assert_eq!(escape("REGCAP=64,TILE_M=32"), "REGCAP=64,TILE_M=32");
        assert_eq!(escape("</script><img onerror=x>"), "&lt;/script&gt;&lt;img onerror=x&gt;");
        assert_eq!(escape("a|b `c*d*<e>` *d* [e](f)"), "a\\|b `c*d*<e>` \\*d\\* \\[e\\](f)");
        assert_eq!(escape("a `b | c` `` d"), "a \\`b \\| c\\` \\`\\` d");
        assert_eq!(escape("`a"), "\\`a");
        assert_eq!(escape("@someone https://x.y"), "&#64;\u{200b}someone https&#58;\u{200b}//x.y");
        assert_eq!(escape("www.x.y a@x.y o/r#12"), "www\u{200b}.x.y a&#64;\u{200b}x.y o/r\\#\u{200b}12");
        assert_eq!(escape("registers <= 64"), "registers <= 64");
        assert_eq!(escape("a * b != c"), "a * b != c");
    }

    #[test]
    fn a_line_of_code_is_one_line_and_no_command() {
        assert_eq!(code(["git log", "::error::x\n##[group]y"]), "    git log\n    '::error::x ## [group]y\n");
    }
}

//! Text from outside inside of Markdown.

/// Text that Markdown and the HTML within it leave as it is: no markup, no link, no mention.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        match c {
            '<' if !(next == '=' || next == ' ') => out.push_str("&lt;"),
            '>' if previous != ' ' || out.is_empty() => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            ':' if next == '/' => out.push_str("&#58;"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_stays_text() {
        assert_eq!(escape("REGCAP=64,TILE_M=32"), "REGCAP=64,TILE_M=32");
        assert_eq!(escape("</script><img onerror=x>"), "&lt;/script&gt;&lt;img onerror=x&gt;");
        assert_eq!(escape("a|b `c` *d* [e](f)"), "a\\|b \\`c\\` \\*d\\* \\[e\\](f)");
        assert_eq!(escape("@someone https://x.y"), "&#64;someone https&#58;//x.y");
        assert_eq!(escape("registers <= 64"), "registers <= 64");
        assert_eq!(escape("a * b != c"), "a * b != c");
    }
}

//! The pieces of a requirement's text: the one scanner that splitting it and finding its names share.
//!
//! It never fails: what is no name, text, number or comparison is a sign, and whether the whole is an expression is the
//! parser's to say.

use super::Comparison;

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'t> {
    /// An identifier, or several joined by dots; words such as `and` too.
    Name(&'t str),
    /// A quoted text, without its quotes.
    Quoted(&'t str),
    /// A number.
    Number,
    /// A comparison.
    Compare(Comparison),
    /// Any other character that is no space.
    Sign(char),
}

/// A token and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'t> {
    /// First byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// What it is.
    pub token: Token<'t>,
}

/// The pieces of a text in order; spaces are left out.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let (length, token) = match first {
            '"' | '\'' => {
                let length = quoted(rest, first);
                let inside = &rest[1..length];
                (length, Token::Quoted(inside.strip_suffix(first).unwrap_or(inside)))
            }
            c if c.is_ascii_digit() => (number(rest), Token::Number),
            c if is_name(c) => {
                let length = chain(rest);
                (length, Token::Name(&rest[..length]))
            }
            c => match Comparison::ALL.into_iter().find(|comparison| rest.starts_with(comparison.symbol())) {
                Some(comparison) => (comparison.symbol().len(), Token::Compare(comparison)),
                None => (c.len_utf8(), Token::Sign(c)),
            },
        };
        if !first.is_whitespace() {
            found.push(Piece { start, end: start + length, token });
        }
        start += length;
    }
    found
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes of a quoted text with its quotes; an unclosed one goes to the end.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Bytes of a number, with its exponent.
fn number(rest: &str) -> usize {
    let mut last = ' ';
    let past = |c: char| {
        let exponent = matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
        last = c;
        !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || exponent)
    };
    rest.find(past).unwrap_or(rest.len())
}

/// Bytes of names joined by dots; a dot with no name after it is not part of them.
fn chain(rest: &str) -> usize {
    let mut end = 0;
    for part in rest.split('.') {
        let name = part.find(|c| !is_name(c)).unwrap_or(part.len());
        if name == 0 {
            return end - 1;
        }
        end += name;
        if name < part.len() {
            return end;
        }
        end += 1;
    }
    end - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_texts_numbers_and_comparisons_are_told_apart() {
        let tokens: Vec<Token<'_>> = pieces("a.b<=-1e-3 'x\\'y' ==(_c. )").into_iter().map(|p| p.token).collect();
        let sign = Token::Sign;
        assert_eq!(
            tokens,
            [
                Token::Name("a.b"),
                Token::Compare(Comparison::LessOrEqual),
                sign('-'),
                Token::Number,
                Token::Quoted("x\\'y"),
                Token::Compare(Comparison::Equal),
                sign('('),
                Token::Name("_c"),
                sign('.'),
                sign(')'),
            ]
        );
    }

    #[test]
    fn pieces_cover_all_but_spaces() {
        for text in ["", ".", "a.", "a..b", "\"", "'a", "ncu(\"x\"", "é.ü < ∞", "1e+", "(a).b", "a\u{a0}b"] {
            let mut at = 0;
            for piece in pieces(text) {
                assert!(text[at..piece.start].chars().all(char::is_whitespace) && piece.end > piece.start, "{text}");
                at = piece.end;
            }
            assert!(text[at..].chars().all(char::is_whitespace), "{text}");
        }
    }
}

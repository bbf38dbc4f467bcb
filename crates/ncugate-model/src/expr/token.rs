//! A text split into tokens.

use super::ast::{Arithmetic, Comparison, Span};
use super::unit::Unit;

/// A syntax error with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    pub reason: String,
    /// The wrong bytes.
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Token<'t> {
    /// An identifier, or several joined by dots; also words such as `and`.
    Name(&'t str),
    /// A quoted text, its escapes resolved.
    Text(String),
    Int(i64),
    /// A number with a fraction or an exponent.
    Float(f64),
    Compare(Comparison),
    /// Arithmetic; `-` is also the sign of a number.
    Arithmetic(Arithmetic),
    /// A bracket or a comma.
    Mark(char),
    End,
}

/// Symbols, longer ones before their prefixes.
const SYMBOLS: [(&str, Token<'static>); 13] = [
    ("<=", Token::Compare(Comparison::LessOrEqual)),
    (">=", Token::Compare(Comparison::GreaterOrEqual)),
    ("==", Token::Compare(Comparison::Equal)),
    ("!=", Token::Compare(Comparison::NotEqual)),
    ("<", Token::Compare(Comparison::Less)),
    (">", Token::Compare(Comparison::Greater)),
    ("**", Token::Arithmetic(Arithmetic::Power)),
    ("//", Token::Arithmetic(Arithmetic::FloorDivide)),
    ("+", Token::Arithmetic(Arithmetic::Add)),
    ("-", Token::Arithmetic(Arithmetic::Subtract)),
    ("*", Token::Arithmetic(Arithmetic::Multiply)),
    ("/", Token::Arithmetic(Arithmetic::Divide)),
    ("%", Token::Arithmetic(Arithmetic::Remainder)),
];

/// The tokens of a text in order, [`Token::End`] last.
pub fn tokens(text: &str) -> Result<Vec<(Token<'_>, Span)>, SyntaxError> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        }
        let (length, token) = token(text, start, first)?;
        found.push((token, Span::new(start, start + length)));
        start += length;
    }
    found.push((Token::End, Span::new(text.len(), text.len())));
    Ok(found)
}

fn token(text: &str, start: usize, first: char) -> Result<(usize, Token<'_>), SyntaxError> {
    let rest = &text[start..];
    match first {
        '"' | '\'' => quoted(rest, start, first),
        c if c.is_ascii_digit() => number(rest, start),
        c if is_name(c) => {
            let length = chain(rest);
            Ok((length, Token::Name(&rest[..length])))
        }
        '(' | ')' | '[' | ']' | ',' => Ok((1, Token::Mark(first))),
        c => match SYMBOLS.into_iter().find(|(symbol, _)| rest.starts_with(symbol)) {
            Some((symbol, token)) => Ok((symbol.len(), token)),
            None => Err(stray(c, start)),
        },
    }
}

fn stray(c: char, start: usize) -> SyntaxError {
    let reason = match c {
        '=' => "`=` is not a comparison; write `==`".to_owned(),
        '&' | '|' | '!' | '~' => format!("`{c}` is not an operator; conditions use `and`, `or` and `not`"),
        c => format!("`{c}` is not part of an expression"),
    };
    SyntaxError { reason, span: Span::new(start, start + c.len_utf8()) }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn quoted(rest: &str, start: usize, quote: char) -> Result<(usize, Token<'static>), SyntaxError> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, escaped @ ('\\' | '"' | '\''))) => text.push(escaped),
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, other)) => {
                    let reason = format!("`\\{other}` is not an escape; write `\\\\` for a backslash");
                    return Err(SyntaxError { reason, span: span(start + at, 1 + other.len_utf8()) });
                }
                None => break,
            },
            _ if c == quote => return Ok((at + 1, Token::Text(text))),
            _ => text.push(c),
        }
    }
    Err(SyntaxError { reason: format!("the text has no closing {quote}"), span: span(start, rest.len()) })
}

fn span(start: usize, length: usize) -> Span {
    Span::new(start, start + length)
}

fn number(rest: &str, start: usize) -> Result<(usize, Token<'static>), SyntaxError> {
    let mut last = ' ';
    let past = |c: char| {
        let exponent = matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
        last = c;
        !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || exponent)
    };
    // the letters of a hexadecimal number are not an exponent
    let end = match radix(rest) {
        Some(_) => rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')),
        None => rest.find(past),
    };
    let length = end.unwrap_or(rest.len());
    let wrong = |reason: String| SyntaxError { reason, span: span(start, length) };
    let written = rest[..length].replace('_', "");
    let whole = match radix(&written) {
        Some(radix) => i64::from_str_radix(&written[2..], radix),
        None => written.parse(),
    };
    match whole {
        Ok(value) => return Ok((length, Token::Int(value))),
        Err(e) if *e.kind() == std::num::IntErrorKind::PosOverflow => {
            return Err(wrong(format!("{written} is too large for an integer; write it with an exponent")));
        }
        Err(_) => {}
    }
    let plain = written.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    match written.parse::<f64>() {
        Ok(value) if plain && value.is_finite() => Ok((length, Token::Float(value))),
        _ => {
            let digits = rest[..length].trim_end_matches(|c: char| !c.is_ascii_digit());
            let hint = Unit::of_word(&rest[digits.len()..length])
                .map_or_else(String::new, |unit| format!("; put a space before the unit: `{digits} {}`", unit.word));
            Err(wrong(format!("`{}` is not a number{hint}", &rest[..length])))
        }
    }
}

fn radix(text: &str) -> Option<u32> {
    match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => Some(16),
        [b'0', b'o' | b'O', ..] => Some(8),
        [b'0', b'b' | b'B', ..] => Some(2),
        _ => None,
    }
}

/// Length in bytes of names joined by dots; a trailing dot is excluded.
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
    fn names_texts_numbers_and_signs_are_tokens_of_their_own() {
        let found: Vec<Token<'_>> =
            tokens("a.b<=-1e-3 'x\\'y' ==(_c, 0x1F)").unwrap().into_iter().map(|(token, _)| token).collect();
        assert_eq!(
            found,
            [
                Token::Name("a.b"),
                Token::Compare(Comparison::LessOrEqual),
                Token::Arithmetic(Arithmetic::Subtract),
                Token::Float(1e-3),
                Token::Text("x'y".to_owned()),
                Token::Compare(Comparison::Equal),
                Token::Mark('('),
                Token::Name("_c"),
                Token::Mark(','),
                Token::Int(31),
                Token::Mark(')'),
                Token::End,
            ]
        );
    }

    #[test]
    fn a_character_that_is_not_a_token_is_underlined() {
        let error = |text: &str| tokens(text).map(|_| ()).map_err(|e| (e.reason, e.span.range()));
        assert_eq!(error("a = b"), Err(("`=` is not a comparison; write `==`".to_owned(), 2..3)));
        assert_eq!(error("'a"), Err(("the text has no closing '".to_owned(), 0..2)));
        assert_eq!(error("1 + 12ab").unwrap_err().1, 4..8);
        assert_eq!(error("é.ü ∞").unwrap_err().1, 6..9);
        assert!(error("99999999999999999999").unwrap_err().0.contains("too large for an integer"));
        assert!(tokens("1_000 2.5 0b11").is_ok());
    }
}

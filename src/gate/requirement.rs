//! The sentence of a gate: where it is split, and which quantities it reads.
//!
//! One comparison of two arithmetic sides is a [`Requirement::Compare`], whose margin can be told; anything with
//! `and`, `or`, `not`, `in`, `is` or a comparison inside parentheses is a [`Requirement::Condition`].
//!
//! A metric may be named as ncu writes it, bare (`sm__warps_active.avg.pct_of_peak_sustained_active`), after an owner
//! (`baseline.dram__bytes.sum`) or in a call (`ncu("...")`). minijinja would read the dots as attributes: the evaluator
//! looks whole chains up instead. Expressions are kept as written.

use super::rule::{Comparison, Requirement};
use crate::expr::{Expr, ExprError};
use crate::metric::is_verbatim;

/// Whose quantity a requirement reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The variant that is judged.
    Case,
    /// The first baseline, or the stored run compared with.
    Baseline,
    /// The last accepted stage; outside stages, the run before.
    Previous,
    /// The leaderboard's best.
    Best,
    /// A baseline, variant or stage by name.
    Named(String),
}

impl Owner {
    /// The owner that is written so before a dot or in `speedup("...")`.
    pub fn of_word(word: &str) -> Self {
        match word {
            "baseline" => Self::Baseline,
            "previous" => Self::Previous,
            "best" => Self::Best,
            name => Self::Named(name.to_owned()),
        }
    }
}

/// A named value that a requirement reads: a metric, or a dimension, parameter or scalar of the variant that is judged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    /// Whose.
    pub owner: Owner,
    /// Its name; names of ncu's with their dots.
    pub name: String,
}

/// Everything a requirement reads, each once and sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reads {
    /// Named values.
    pub quantities: Vec<Quantity>,
    /// Arguments of `speedup("...")`; `speedup()` is over the baseline.
    pub speedups: Vec<Owner>,
}

/// Why a text is not a requirement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// A side does not parse.
    #[error(transparent)]
    Expression(#[from] ExprError),
    /// `1 < x < 2`.
    #[error("requirement '{0}' chains comparisons; write two gates, or join them with 'and'")]
    Chained(String),
    /// `registers`, `2 * registers`.
    #[error("requirement '{0}' compares nothing; write for example '{0} >= 1'")]
    NoComparison(String),
    /// `1 < 2`.
    #[error("requirement '{0}' reads no measured quantity, so that it would hold or fail whatever is measured")]
    Constant(String),
    /// `speedup(x)`, `ncu(x)`, or `speedup` without a call.
    #[error("requirement '{text}' uses '{word}' without a name in quotes; write {word}(\"...\")")]
    NotLiteral {
        /// The requirement.
        text: String,
        /// The word.
        word: String,
    },
}

impl Requirement {
    /// Parses the sentence of a gate.
    pub fn parse(text: &str) -> Result<Self, RequirementError> {
        let text = text.trim();
        let tokens = tokens(text);
        let requirement = match split(text, &tokens)? {
            None => Self::Condition { condition: Expr::parse(text)? },
            Some((at, comparison)) => Self::Compare {
                left: Expr::parse(text[..at].trim())?,
                comparison,
                right: Expr::parse(text[at + comparison.symbol().len()..].trim())?,
                text: text.to_owned(),
            },
        };
        literal_calls(text, &tokens)?;
        if requirement.reads() == Reads::default() {
            return Err(RequirementError::Constant(text.to_owned()));
        }
        Ok(requirement)
    }

    /// What it reads.
    pub fn reads(&self) -> Reads {
        let mut reads = Reads::default();
        match self {
            Self::Condition { condition } => collect(condition, &mut reads),
            Self::Compare { left, right, .. } => {
                collect(left, &mut reads);
                collect(right, &mut reads);
            }
        }
        reads.quantities.sort();
        reads.quantities.dedup();
        reads.speedups.sort();
        reads.speedups.dedup();
        reads
    }
}

impl Comparison {
    /// Every comparison, two-character symbols first.
    pub const ALL: [Self; 6] =
        [Self::LessOrEqual, Self::GreaterOrEqual, Self::Equal, Self::NotEqual, Self::Less, Self::Greater];

    /// As written.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
        }
    }
}

/// A piece of a requirement's text.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'t> {
    /// An identifier, or several joined by dots.
    Path(&'t str),
    /// A quoted text, without its quotes.
    Quoted(&'t str),
    /// A comparison.
    Compare(Comparison),
    /// Any other character; digits of numbers among them.
    Other(char),
}

/// Pieces of the text with their byte offsets; white space is left out.
fn tokens(text: &str) -> Vec<(usize, Token<'_>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, token) = if c == '"' || c == '\'' {
            let end = quoted_end(rest, c);
            let inner = rest[1..end].strip_suffix(c).unwrap_or(&rest[1..end]);
            (end, Some(Token::Quoted(inner)))
        } else if c.is_ascii_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
            let path = rest[..end].trim_end_matches('.');
            (path.len(), Some(Token::Path(path)))
        } else if c.is_ascii_digit() {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
            (end, Some(Token::Other(c)))
        } else if let Some(comparison) = Comparison::ALL.into_iter().find(|c| rest.starts_with(c.symbol())) {
            (comparison.symbol().len(), Some(Token::Compare(comparison)))
        } else {
            (c.len_utf8(), (!c.is_whitespace()).then_some(Token::Other(c)))
        };
        found.extend(token.map(|token| (at, token)));
        at += length;
    }
    found
}

/// Bytes of a quoted text with its quotes; an unclosed one goes to the end.
fn quoted_end(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Where the one comparison is; none for a condition.
fn split(text: &str, tokens: &[(usize, Token<'_>)]) -> Result<Option<(usize, Comparison)>, RequirementError> {
    let mut depth = 0_usize;
    let mut logical = false;
    let mut top = None;
    let mut in_segment = 0_usize;
    for &(at, token) in tokens {
        match token {
            Token::Other('(' | '[' | '{') => depth += 1,
            Token::Other(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Token::Compare(comparison) => {
                in_segment += 1;
                if in_segment > 1 {
                    return Err(RequirementError::Chained(text.to_owned()));
                }
                logical |= depth > 0;
                top = Some((at, comparison));
            }
            _ => {}
        }
        let word = matches!(token, Token::Path("and" | "or" | "not" | "in" | "is" | "if" | "else"));
        logical |= word;
        if word || matches!(token, Token::Other('(' | ')' | '[' | ']' | '{' | '}' | ',')) {
            in_segment = 0;
        }
    }
    match (logical, top) {
        (true, _) => Ok(None),
        (false, Some(found)) => Ok(Some(found)),
        (false, None) => Err(RequirementError::NoComparison(text.to_owned())),
    }
}

/// What the call that starts at a token names: none when it is no call of `speedup` or `ncu`, or names nothing in quotes.
fn called<'t>(tokens: &[(usize, Token<'t>)]) -> Option<(&'t str, &'t str)> {
    match tokens {
        [(_, Token::Path(word)), (_, Token::Other('(')), (_, Token::Quoted(name)), (_, Token::Other(')')), ..]
            if matches!(*word, "speedup" | "ncu") =>
        {
            Some((word, name))
        }
        [(_, Token::Path("speedup")), (_, Token::Other('(')), (_, Token::Other(')')), ..] => {
            Some(("speedup", "baseline"))
        }
        _ => None,
    }
}

/// Every `speedup` and `ncu` names its subject in quotes, so that it is known before anything is measured.
fn literal_calls(text: &str, tokens: &[(usize, Token<'_>)]) -> Result<(), RequirementError> {
    for (at, (_, token)) in tokens.iter().enumerate() {
        if let Token::Path(word @ ("speedup" | "ncu")) = token
            && called(&tokens[at..]).is_none()
        {
            return Err(RequirementError::NotLiteral { text: text.to_owned(), word: (*word).to_owned() });
        }
    }
    Ok(())
}

fn collect(expr: &Expr, reads: &mut Reads) {
    let own = |name: &str| Quantity { owner: Owner::Case, name: name.to_owned() };
    for path in expr.paths() {
        match path.split_once('.') {
            None if matches!(path.as_str(), "speedup" | "ncu") => {}
            Some((owner, metric)) if !is_verbatim(&path) => {
                reads.quantities.push(Quantity { owner: Owner::of_word(owner), name: metric.to_owned() });
            }
            _ => reads.quantities.push(own(&path)),
        }
    }
    let tokens = tokens(expr.text());
    for at in 0..tokens.len() {
        match called(&tokens[at..]) {
            Some(("ncu", name)) => reads.quantities.push(own(name)),
            Some((_, name)) => reads.speedups.push(Owner::of_word(name)),
            None => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    /// `left|comparison|right`, or the condition.
    fn parts(text: &str) -> String {
        match Requirement::parse(text).unwrap_or_else(|e| panic!("{e}")) {
            Requirement::Compare { left, comparison, right, .. } => format!("{left}|{}|{right}", comparison.symbol()),
            Requirement::Condition { condition } => condition.text().to_owned(),
        }
    }

    fn reads(text: &str) -> Vec<String> {
        let reads = Requirement::parse(text).unwrap().reads();
        let named = reads.quantities.iter().map(|q| format!("{:?} {}", q.owner, q.name));
        named.chain(reads.speedups.iter().map(|owner| format!("speedup over {owner:?}"))).collect()
    }

    #[test]
    fn one_comparison_is_split() {
        assert_eq!(parts("eligible_warps >= 2"), "eligible_warps|>=|2");
        assert_eq!(parts(" registers<=64 "), "registers|<=|64");
        assert_eq!(parts("latency_p50 <= 0.98 * baseline.latency_p50"), "latency_p50|<=|0.98 * baseline.latency_p50");
        assert_eq!(parts("(registers + spills) * 2 != 7 // 2"), "(registers + spills) * 2|!=|7 // 2");
        assert_eq!(parts("speedup('a<b') > 1"), "speedup('a<b')|>|1");
    }

    #[test]
    fn logic_is_a_condition() {
        for text in [
            "not (dram_pct > 80 and tensor_pct < 40)",
            "registers < 64 or spills == 0",
            "(registers < 64) == (spills == 0)",
            "registers in [32, 64]",
        ] {
            assert_eq!(parts(text), text);
        }
    }

    #[test]
    fn names_of_ncu_keep_their_dots() {
        let text = "sm__a.avg.pct > 2 * baseline.sm__a.avg.pct";
        assert_eq!(parts(text), "sm__a.avg.pct|>|2 * baseline.sm__a.avg.pct");
        assert_eq!(reads(text), ["Case sm__a.avg.pct", "Baseline sm__a.avg.pct"]);
        assert_eq!(
            reads("not launch__waves > 1 and ncu('dram__bytes.sum') > 1"),
            ["Case dram__bytes.sum", "Case launch__waves"]
        );
    }

    #[test]
    fn what_is_read_is_known() {
        assert_eq!(reads("flash.ipc > 1"), ["Named(\"flash\") ipc"]);
        assert_eq!(reads("ipc * 2 > ipc"), ["Case ipc"]);
        assert_eq!(
            reads("dram_bytes <= 1.05 * previous.dram_bytes and best.ipc < ipc and speedup(\"flash\") > S"),
            [
                "Case S",
                "Case dram_bytes",
                "Case ipc",
                "Previous dram_bytes",
                "Best ipc",
                "speedup over Named(\"flash\")"
            ]
        );
        assert_eq!(reads("speedup() > 1"), ["speedup over Baseline"]);
    }

    #[test]
    fn what_judges_nothing_is_refused() {
        let error = |text: &str| Requirement::parse(text).unwrap_err();
        assert!(matches!(error("1 < registers < 64"), RequirementError::Chained(_)));
        assert!(matches!(error("spills == 0 and 1 < registers < 64"), RequirementError::Chained(_)));
        assert!(matches!(error("registers"), RequirementError::NoComparison(_)));
        assert!(matches!(error("1 < 2"), RequirementError::Constant(_)));
        assert!(matches!(error("true or false"), RequirementError::Constant(_)));
        assert!(matches!(error("speedup(name) > 1"), RequirementError::NotLiteral { .. }));
        assert!(matches!(error("speedup > 1"), RequirementError::NotLiteral { .. }));
        assert!(matches!(error("registers <= "), RequirementError::Expression(_)));
        assert!(matches!(error("registers => 3"), RequirementError::Expression(_)));
    }
}

//! The sentence of a gate: where it is split, and which quantities it reads.
//!
//! One comparison of two arithmetic sides is a [`Requirement::Compare`], whose margin can be told; anything with
//! `and`, `or`, `not`, `in`, `is` or a comparison inside parentheses is a [`Requirement::Condition`].
//!
//! A metric may be named as ncu writes it, bare (`sm__warps_active.avg.pct_of_peak_sustained_active`), after an owner
//! (`baseline.dram__bytes.sum`) or in a call (`ncu("...")`). Which names a text has is [`super::reference`]'s to say: what
//! is checked when a phase is read is what is looked up when it is judged. Expressions are kept as written.

use super::reference::{Reference, rewrite};
use super::token::{Piece, Token, pieces};
use super::{Expr, ExprError};
use serde::{Deserialize, Serialize};

/// How two sides are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// `<`
    #[serde(rename = "<")]
    Less,
    /// `<=`
    #[serde(rename = "<=")]
    LessOrEqual,
    /// `>`
    #[serde(rename = ">")]
    Greater,
    /// `>=`
    #[serde(rename = ">=")]
    GreaterOrEqual,
    /// `==`
    #[serde(rename = "==")]
    Equal,
    /// `!=`
    #[serde(rename = "!=")]
    NotEqual,
}

/// The sentence that has to hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Requirement {
    /// Two numeric expressions and a comparison: `eligible_warps >= 2`.
    Compare {
        /// Left side.
        left: Expr,
        /// The comparison.
        comparison: Comparison,
        /// Right side.
        right: Expr,
        /// As written.
        text: String,
    },
    /// A truth value: `not (dram_pct > 80 and tensor_pct < 40)`.
    Condition {
        /// The expression.
        condition: Expr,
    },
}

impl Requirement {
    /// As written.
    pub fn text(&self) -> &str {
        match self {
            Self::Compare { text, .. } => text,
            Self::Condition { condition } => condition.text(),
        }
    }
}

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
        let pieces = pieces(text);
        let requirement = match split(text, &pieces)? {
            None => Self::Condition { condition: Expr::parse(text)? },
            Some((at, comparison)) => Self::Compare {
                left: Expr::parse(text[..at].trim())?,
                comparison,
                right: Expr::parse(text[at + comparison.symbol().len()..].trim())?,
                text: text.to_owned(),
            },
        };
        literal_calls(text, &requirement)?;
        if requirement.reads() == Reads::default() {
            return Err(RequirementError::Constant(text.to_owned()));
        }
        Ok(requirement)
    }

    /// What it reads.
    pub fn reads(&self) -> Reads {
        let mut reads = Reads::default();
        for reference in self.references() {
            match reference {
                Reference::Own(name) => reads.quantities.push(Quantity { owner: Owner::Case, name }),
                Reference::Of { owner, metric } => {
                    reads.quantities.push(Quantity { owner: Owner::of_word(&owner), name: metric });
                }
                Reference::Speedup { over } => reads.speedups.push(Owner::of_word(&over)),
            }
        }
        reads.quantities.sort();
        reads.quantities.dedup();
        reads.speedups.sort();
        reads.speedups.dedup();
        reads
    }

    fn references(&self) -> Vec<Reference> {
        let mut references = Vec::new();
        match self {
            Self::Condition { condition } => {
                rewrite(condition.text(), &mut references);
            }
            Self::Compare { left, right, .. } => {
                rewrite(left.text(), &mut references);
                rewrite(right.text(), &mut references);
            }
        }
        references
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

/// Where the one comparison is; none for a condition.
fn split(text: &str, pieces: &[Piece<'_>]) -> Result<Option<(usize, Comparison)>, RequirementError> {
    let mut depth = 0_usize;
    let mut logical = false;
    let mut top = None;
    let mut in_segment = 0_usize;
    for piece in pieces {
        match piece.token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Token::Compare(comparison) => {
                in_segment += 1;
                if in_segment > 1 {
                    return Err(RequirementError::Chained(text.to_owned()));
                }
                logical |= depth > 0;
                top = Some((piece.start, comparison));
            }
            _ => {}
        }
        let word = matches!(piece.token, Token::Name("and" | "or" | "not" | "in" | "is" | "if" | "else"));
        logical |= word;
        if word || matches!(piece.token, Token::Sign('(' | ')' | '[' | ']' | '{' | '}' | ',')) {
            in_segment = 0;
        }
    }
    match (logical, top) {
        (true, _) => Ok(None),
        (false, Some(found)) => Ok(Some(found)),
        (false, None) => Err(RequirementError::NoComparison(text.to_owned())),
    }
}

/// Every `speedup` and `ncu` names its subject in quotes, so that it is known before anything is measured.
fn literal_calls(text: &str, requirement: &Requirement) -> Result<(), RequirementError> {
    let bare = |reference: Reference| match reference {
        Reference::Own(name) if matches!(name.as_str(), "speedup" | "ncu") => Some(name),
        Reference::Own(_) | Reference::Of { .. } | Reference::Speedup { .. } => None,
    };
    match requirement.references().into_iter().find_map(bare) {
        Some(word) => Err(RequirementError::NotLiteral { text: text.to_owned(), word }),
        None => Ok(()),
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

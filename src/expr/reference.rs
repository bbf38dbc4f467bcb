//! What an expression refers to: metrics, of its own variant or another's, by slot.
//!
//! An expression's names are replaced by slots before minijinja compiles it, so that `baseline.latency_p50`,
//! `speedup("sdpa_flash")` and `sm__warps_active.avg.per_cycle_active` are looked up the same way and only once.

use super::token::{Piece, Token, pieces};
use crate::model::is_ncu_metric;

/// A value an expression needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A metric, parameter or dimension of the variant that is judged.
    Own(String),
    /// A metric of another: `baseline`, `previous`, `best`, a stored name, a variant.
    Of {
        /// Whose.
        owner: String,
        /// The metric.
        metric: String,
    },
    /// Median latency of another over that of the variant that is judged.
    Speedup {
        /// Whose latency is the numerator.
        over: String,
    },
}

impl Reference {
    /// As a gate writes it.
    pub fn text(&self) -> String {
        match self {
            Self::Own(name) => name.clone(),
            Self::Of { owner, metric } => format!("{owner}.{metric}"),
            Self::Speedup { over } => format!("speedup(\"{over}\")"),
        }
    }

    fn of_chain(chain: &str) -> Self {
        match chain.split_once('.') {
            Some((owner, metric)) if !is_ncu_metric(chain) => {
                Self::Of { owner: owner.to_owned(), metric: metric.to_owned() }
            }
            _ => Self::Own(chain.to_owned()),
        }
    }
}

/// The name that stands for slot `index` in a rewritten expression.
pub fn slot_name(index: usize) -> String {
    format!("_slot{index}")
}

/// The slot a name stands for.
pub fn slot_index(name: &str) -> Option<usize> {
    name.strip_prefix("_slot")?.parse().ok()
}

const WORDS: [&str; 13] =
    ["and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None"];

/// Rewrites `text` with slots for its names; new references are appended to `references`.
pub fn rewrite(text: &str, references: &mut Vec<Reference>) -> String {
    let pieces = pieces(text);
    let mut out = String::with_capacity(text.len());
    let (mut at, mut copied) = (0, 0);
    while at < pieces.len() {
        let Some((reference, length)) = named(&pieces[..at], &pieces[at..]) else {
            at += 1;
            continue;
        };
        let index = references.iter().position(|known| *known == reference).unwrap_or_else(|| {
            references.push(reference);
            references.len() - 1
        });
        out.push_str(&text[copied..pieces[at].start]);
        out.push_str(&slot_name(index));
        copied = pieces[at + length - 1].end;
        at += length;
    }
    out.push_str(&text[copied..]);
    out
}

/// The reference that starts `rest`, and its pieces; words, filters, tests and attributes are none.
fn named(before: &[Piece<'_>], rest: &[Piece<'_>]) -> Option<(Reference, usize)> {
    let Token::Name(name) = rest.first()?.token else { return None };
    if WORDS.contains(&name) || is_attribute(before) {
        return None;
    }
    let after: Vec<Token<'_>> = rest.iter().skip(1).take(3).map(|piece| piece.token).collect();
    Some(match (name, after.as_slice()) {
        ("speedup", [Token::Sign('('), Token::Sign(')'), ..]) => {
            (Reference::Speedup { over: "baseline".to_owned() }, 3)
        }
        ("speedup", [Token::Sign('('), Token::Quoted(over), Token::Sign(')')]) => {
            (Reference::Speedup { over: (*over).to_owned() }, 4)
        }
        ("ncu", [Token::Sign('('), Token::Quoted(metric), Token::Sign(')')]) => {
            (Reference::Own((*metric).to_owned()), 4)
        }
        (owner, [Token::Sign('['), Token::Quoted(metric), Token::Sign(']')]) => {
            (Reference::Of { owner: owner.to_owned(), metric: (*metric).to_owned() }, 4)
        }
        _ => (Reference::of_chain(name), 1),
    })
}

/// Whether the name after these is a filter (`|abs`), a test (`is not odd`), or an attribute (`(a).b`).
fn is_attribute(before: &[Piece<'_>]) -> bool {
    matches!(
        before,
        [.., Piece { token: Token::Sign('|' | '.') | Token::Name("is"), .. }]
            | [.., Piece { token: Token::Name("is"), .. }, Piece { token: Token::Name("not"), .. }]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> (String, Vec<String>) {
        let mut references = Vec::new();
        let text = rewrite(text, &mut references);
        (text, references.iter().map(Reference::text).collect())
    }

    #[test]
    fn names_become_slots() {
        let (text, names) = rewritten("0.98 * baseline.latency_p50 + registers - registers / S");
        assert_eq!(text, "0.98 * _slot0 + _slot1 - _slot1 / _slot2");
        assert_eq!(names, ["baseline.latency_p50", "registers", "S"]);
    }

    #[test]
    fn verbatim_metrics_keep_their_dots() {
        let (text, names) = rewritten("sm__warps_active.avg.per_cycle_active*2e-3 < best.lts__t_bytes.sum");
        assert_eq!(text, "_slot0*2e-3 < _slot1");
        assert_eq!(names, ["sm__warps_active.avg.per_cycle_active", "best.lts__t_bytes.sum"]);
    }

    #[test]
    fn calls_with_a_literal_become_slots_and_others_stay() {
        let (text, names) = rewritten("speedup( \"REGCAP=64,T=1\" ) > speedup() and ncu('a__b.sum') and f(x)");
        assert_eq!(text, "_slot0 > _slot1 and _slot2 and _slot3(_slot4)");
        assert_eq!(names, ["speedup(\"REGCAP=64,T=1\")", "speedup(\"baseline\")", "a__b.sum", "f", "x"]);
    }

    #[test]
    fn items_of_an_owner_become_slots() {
        let (text, names) = rewritten("baseline[\"sm__a.avg\"] > ncu(\"sm__a.avg\") and x[1]");
        assert_eq!(text, "_slot0 > _slot1 and _slot2[1]");
        assert_eq!(names, ["baseline.sm__a.avg", "sm__a.avg", "x"]);
    }

    #[test]
    fn words_filters_tests_and_texts_stay() {
        let (text, names) = rewritten("not (a|abs > 1e-3 and b is not divisibleby(3)) or dtype == \"f16 x\"");
        assert_eq!(text, "not (_slot0|abs > 1e-3 and _slot1 is not divisibleby(3)) or _slot2 == \"f16 x\"");
        assert_eq!(names, ["a", "b", "dtype"]);
    }

    #[test]
    fn no_text_makes_it_panic() {
        for text in ["", ".", "a.", "a..b", "\"", "'a", "speedup(", "speedup('", "ncu(\"x\"", "é.ü", "1e+", "(a).b"] {
            rewritten(text);
        }
    }
}

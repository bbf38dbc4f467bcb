//! Bitwise comparisons of the outputs of a variant's launches.

use super::id::{ShapeName, VariantId};
use serde::{Deserialize, Serialize};

/// Launches whose outputs are compared bit by bit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum BitwiseComparison {
    /// Launches on equal contents.
    Repeats,
    /// A launch at a shape, and one at the largest shape that differs from it in this dimension alone, on the same rows.
    Batch { dimension: String },
}

impl BitwiseComparison {
    /// The comparison behind a metric: `deterministic`, or `batch_invariant("B")`.
    pub fn of_metric(name: &str) -> Option<Self> {
        match (name, batch_dimension(name)) {
            ("deterministic", _) => Some(Self::Repeats),
            (_, Some(dimension)) => Some(Self::Batch { dimension: dimension.to_owned() }),
            _ => None,
        }
    }
}

/// The dimension in `batch_invariant("B")`.
pub fn batch_dimension(metric: &str) -> Option<&str> {
    metric.strip_prefix("batch_invariant(\"")?.strip_suffix("\")")
}

/// Whether two shapes, by their dimensions, differ in the extent of this one alone.
pub fn differ_alone_in(dimension: &str, a: &[(String, i64)], b: &[(String, i64)]) -> bool {
    let fits = |(name, extent): &(String, i64)| {
        b.iter().any(|(other, own)| other == name && (own == extent) != (name == dimension))
    };
    a.len() == b.len() && a.iter().any(|(name, _)| name == dimension) && a.iter().all(fits)
}

/// The result of a bitwise comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BitwiseOutcome {
    /// `digest`: SHA-256 of the compared outputs.
    Equal { digest: String },
    /// `place`: the output, its first element that differs, and the launch.
    Different { place: String },
    /// Nothing was compared.
    Unknown { reason: String },
}

impl BitwiseOutcome {
    /// The outcome over this process and another one. Both must have compared, and with the same outputs.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (found @ Self::Different { .. }, _) | (_, found @ Self::Different { .. }) => found,
            (unknown @ Self::Unknown { .. }, _) | (_, unknown @ Self::Unknown { .. }) => unknown,
            (Self::Equal { digest }, Self::Equal { digest: other }) if digest != other => {
                Self::Different { place: "outputs of one process differ from those of another".to_owned() }
            }
            (equal @ Self::Equal { .. }, Self::Equal { .. }) => equal,
        }
    }
}

/// A line of `bitwise.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitwiseRecord {
    pub variant: VariantId,
    pub shape: ShapeName,
    pub comparison: BitwiseComparison,
    pub outcome: BitwiseOutcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_a_batch_differ_in_one_dimension_alone() {
        let dims = |dims: &[(&str, i64)]| dims.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>();
        let (two, four) = (dims(&[("B", 2), ("S", 8)]), dims(&[("S", 8), ("B", 4)]));
        assert!(differ_alone_in("B", &two, &four));
        let others = [dims(&[("B", 4), ("S", 9)]), dims(&[("B", 4)]), dims(&[("B", 4), ("T", 8)]), two.clone()];
        assert!(others.iter().all(|other| !differ_alone_in("B", &two, other)));
        assert!(!differ_alone_in("X", &two, &two));
    }

    #[test]
    fn two_processes_are_equal_only_if_both_compared_the_same_outputs() {
        let equal = |digest: &str| BitwiseOutcome::Equal { digest: digest.to_owned() };
        let unknown = || BitwiseOutcome::Unknown { reason: "crashed".to_owned() };
        let different = || BitwiseOutcome::Different { place: "y".to_owned() };
        assert_eq!(equal("a").and(equal("a")), equal("a"));
        assert!(matches!(equal("a").and(equal("b")), BitwiseOutcome::Different { .. }));
        assert_eq!((equal("a").and(unknown()), unknown().and(equal("a"))), (unknown(), unknown()));
        assert_eq!((unknown().and(different()), different().and(equal("a"))), (different(), different()));
    }
}

//! How the inputs of a correctness case are drawn.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A distribution of inputs. Normal inputs alone never give scores far from zero and do not reveal a softmax without
/// a maximum, an exponential in half precision or a lost carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Each buffer by its own `init`.
    Declared,
    /// Magnitudes that span many powers of two; scores of attention and softmax far apart.
    Large,
    /// One element, key or column in many stands out.
    Outlier,
    /// The same value everywhere; for attention only the values, so that weights have to add up to one.
    Constant,
    /// Few distinct values, so that many are equal.
    Ties,
    /// Zero everywhere; for attention queries and keys only, so that all weights are equal.
    Zeros,
    /// Scores that rise along the keys or the row, so that a running maximum has to rise with them.
    Growing,
    /// Scores far above zero in one row and far below in the next: an exponential without a maximum overflows.
    Shifted,
    /// Minus infinity in some places of the row, as a mask produces.
    Masked,
}

impl Law {
    /// Every law, in the order the documentation lists them.
    pub const ALL: [Self; 9] = [
        Self::Declared,
        Self::Growing,
        Self::Shifted,
        Self::Large,
        Self::Outlier,
        Self::Ties,
        Self::Constant,
        Self::Zeros,
        Self::Masked,
    ];

    /// The keyword in a phase.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Large => "large",
            Self::Outlier => "outlier",
            Self::Constant => "constant",
            Self::Ties => "ties",
            Self::Zeros => "zeros",
            Self::Growing => "growing",
            Self::Shifted => "shifted",
            Self::Masked => "masked",
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

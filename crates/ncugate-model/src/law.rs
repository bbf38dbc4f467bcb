//! How the inputs of a correctness case are drawn.

use serde::{Deserialize, Serialize};

words! {
    name;
    /// A distribution of inputs. Normal inputs alone never give scores far from zero and do not reveal a softmax without
    /// a maximum, an exponential in half precision or a lost carry.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Law {
        /// Each buffer by its own `init`.
        Declared = "declared",
        /// Magnitudes that span many powers of two; scores of attention and softmax far apart.
        Large = "large",
        /// One element, key or column in many stands out.
        Outlier = "outlier",
        /// The same value everywhere; for attention only the values, so that weights have to add up to one.
        Constant = "constant",
        /// Few distinct values, so that many are equal.
        Ties = "ties",
        /// Zero everywhere; for attention queries and keys only, so that all weights are equal.
        Zeros = "zeros",
        /// Scores that rise along the keys or the row, so that a running maximum has to rise with them.
        Growing = "growing",
        /// Scores far above zero in one row and far below in the next: an exponential without a maximum overflows.
        Shifted = "shifted",
        /// Minus infinity in some places of the row, as a mask produces.
        Masked = "masked",
    }
}

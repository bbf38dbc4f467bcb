//! The initial content of a buffer, with bounds that can depend on the dimensions.

use ncugate_model::expr::{Expr, ExprError, Names};
use serde::{Deserialize, Serialize};

/// A number of the file, or an expression over the dimensions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Amount {
    /// A number as written.
    Number(f64),
    /// Evaluated at each shape.
    Expr(Expr),
}

impl Amount {
    /// Its value at a shape.
    ///
    /// # Errors
    /// The expression cannot be evaluated, or gives no finite number.
    pub fn at(&self, scope: &Names) -> Result<f64, ExprError> {
        match self {
            Self::Number(value) => Ok(*value),
            Self::Expr(expr) => expr.eval_number(scope),
        }
    }
}

/// The content of a buffer before every case; numbers are [`Amount`]s in a phase, and evaluated for a shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Init<T = f64> {
    Normal {
        mean: T,
        /// Standard deviation.
        std: T,
    },
    /// Uniform on `[low, high)`.
    Uniform { low: T, high: T },
    /// `start + step * index`.
    Arange {
        start: T,
        /// Difference between neighbours.
        step: T,
    },
    /// The same value everywhere.
    Constant { value: T },
    /// Infinity everywhere: the start of a running minimum.
    Infinity,
    /// Minus infinity everywhere: the start of a running maximum.
    NegativeInfinity,
    /// Whole numbers from 0 to `below - 1`, uniform: valid indices.
    Indices {
        /// Exclusive upper bound.
        below: T,
    },
    /// The whole numbers from 0 to the extent of the last axis minus one, in random order: one permutation per row.
    Permutation,
    /// Uniform on `[low, high)`, ascending along the last axis.
    Sorted { low: T, high: T },
    /// Row pointers of a matrix in CSR form: ascending along the last axis from 0 to `nonzeros`, in rows of random lengths.
    RowPointers {
        /// Total number of elements in the rows.
        nonzeros: T,
    },
    /// A single 1 along the last axis, else zeros.
    OneHot,
    /// 1 with probability `density`, 0 elsewhere.
    Mask {
        /// Share of ones.
        density: T,
    },
    /// A NumPy file, whose path can contain `{{ shape }}`, `{{ seed }}`, `{{ buffer }}` and dimensions.
    Npy {
        /// The path, relative to the working directory.
        path: String,
    },
    /// Values like those of such a file; for seed 0 the file itself.
    Redrawn {
        /// The path, as of `Npy`.
        path: String,
    },
}

impl<T> Init<T> {
    /// The same with converted numbers.
    ///
    /// # Errors
    /// Those of `number`.
    pub fn with<U, E>(&self, number: impl Fn(&T) -> Result<U, E>) -> Result<Init<U>, E> {
        Ok(match self {
            Self::Normal { mean, std } => Init::Normal { mean: number(mean)?, std: number(std)? },
            Self::Uniform { low, high } => Init::Uniform { low: number(low)?, high: number(high)? },
            Self::Arange { start, step } => Init::Arange { start: number(start)?, step: number(step)? },
            Self::Constant { value } => Init::Constant { value: number(value)? },
            Self::Infinity => Init::Infinity,
            Self::NegativeInfinity => Init::NegativeInfinity,
            Self::Indices { below } => Init::Indices { below: number(below)? },
            Self::Permutation => Init::Permutation,
            Self::Sorted { low, high } => Init::Sorted { low: number(low)?, high: number(high)? },
            Self::RowPointers { nonzeros } => Init::RowPointers { nonzeros: number(nonzeros)? },
            Self::OneHot => Init::OneHot,
            Self::Mask { density } => Init::Mask { density: number(density)? },
            Self::Npy { path } => Init::Npy { path: path.clone() },
            Self::Redrawn { path } => Init::Redrawn { path: path.clone() },
        })
    }

    /// Whether every seed gives the same values.
    pub fn is_fixed(&self) -> bool {
        match self {
            Self::Arange { .. } | Self::Constant { .. } | Self::Infinity | Self::NegativeInfinity => true,
            Self::Npy { path } => !path.contains("seed"),
            Self::Normal { .. }
            | Self::Uniform { .. }
            | Self::Indices { .. }
            | Self::Permutation
            | Self::Sorted { .. }
            | Self::RowPointers { .. }
            | Self::OneHot
            | Self::Mask { .. }
            | Self::Redrawn { .. } => false,
        }
    }

    /// Whether its values are in one file per seed, so that they exist only for the seeds of the phase.
    pub fn is_of_seed_files(&self) -> bool {
        matches!(self, Self::Npy { .. }) && !self.is_fixed()
    }
}

/// Largest number that float64 represents exactly, as an index or a row pointer.
const MOST: f64 = 9_007_199_254_740_992.0;

impl Init {
    /// Why its numbers are invalid in a buffer of these extents, if they are.
    pub fn problem(&self, extents: &[usize]) -> Option<String> {
        let whole = |name: &str, value: f64, least: f64| {
            let fits = value.fract() == 0.0 && (least..=MOST).contains(&value);
            (!fits).then(|| format!("{name} is {value}; it must be a whole number of at least {least}"))
        };
        match *self {
            Self::Normal { std, .. } => (std < 0.0).then(|| format!("std is {std}; it must be at least 0")),
            Self::Uniform { low, high } | Self::Sorted { low, high } => {
                (low >= high).then(|| format!("low is {low} and high is {high}; low must be below high"))
            }
            Self::Indices { below } => whole("below", below, 1.0),
            Self::RowPointers { nonzeros } => whole("nonzeros", nonzeros, 0.0).or_else(|| {
                let rows = extents.last().copied().unwrap_or(0);
                (rows < 2).then(|| {
                    "the last axis is empty; it must have one element more than the matrix has rows".to_owned()
                })
            }),
            Self::Mask { density } => {
                (!(0.0..=1.0).contains(&density)).then(|| format!("density is {density}; it must be from 0 to 1"))
            }
            Self::Arange { .. }
            | Self::Constant { .. }
            | Self::Infinity
            | Self::NegativeInfinity
            | Self::Permutation
            | Self::OneHot
            | Self::Npy { .. }
            | Self::Redrawn { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_always_were() {
        let init: Init<Amount> = Init::Uniform { low: Amount::Number(0.0), high: Amount::Number(1.5) };
        assert_eq!(serde_json::to_string(&init).unwrap(), r#"{"kind":"uniform","low":0.0,"high":1.5}"#);
        let init: Init<Amount> = Init::Indices { below: Amount::Expr(Expr::parse("V - 1").unwrap()) };
        assert_eq!(serde_json::to_string(&init).unwrap(), r#"{"kind":"indices","below":"V - 1"}"#);
    }

    #[test]
    fn numbers_that_mean_nothing_are_named() {
        let refused = |init: Init, extents: &[usize]| init.problem(extents).is_some();
        assert!(refused(Init::Uniform { low: 2.0, high: 2.0 }, &[4]));
        assert!(refused(Init::Indices { below: 0.0 }, &[4]) && refused(Init::Indices { below: 1.5 }, &[4]));
        assert!(
            refused(Init::RowPointers { nonzeros: 4.0 }, &[1]) && !refused(Init::RowPointers { nonzeros: 0.0 }, &[2])
        );
        assert!(refused(Init::Mask { density: 1.5 }, &[4]) && refused(Init::Mask { density: f64::NAN }, &[4]));
        assert!(refused(Init::Normal { mean: 0.0, std: -1.0 }, &[4]));
    }
}

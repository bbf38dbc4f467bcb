//! The direction in which a metric improves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Higher values are better.
    Higher,
    /// Lower values are better.
    #[default]
    Lower,
    /// Neither direction is better in itself.
    Context,
}

impl Better {
    /// Whether `after` improved on `before`; none if they are equal, if neither direction is better, or if one is not a number.
    pub fn improved(self, before: f64, after: f64) -> Option<bool> {
        let order = after.partial_cmp(&before).filter(|order| order.is_ne())?;
        match self {
            Self::Higher => Some(order.is_gt()),
            Self::Lower => Some(order.is_lt()),
            Self::Context => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Better;

    #[test]
    fn equal_values_and_metrics_without_a_direction_do_not_improve() {
        assert_eq!(Better::Lower.improved(2.0, 1.0), Some(true));
        assert_eq!(Better::Higher.improved(2.0, 1.0), Some(false));
        assert_eq!(Better::Higher.improved(1.0, 1.0), None);
        assert_eq!(Better::Context.improved(1.0, 2.0), None);
        assert_eq!(Better::Lower.improved(1.0, f64::NAN), None);
    }
}

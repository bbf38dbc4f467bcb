//! Which variants get a deep profile in addition to the selected one.

use ncugate_model::{VariantId, nearest};
use ncugate_phase::plan::Plan;
use std::convert::Infallible;
use std::str::FromStr;

/// A request for deep profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeepChoice {
    Variant(VariantId),
    /// The best N by the objective.
    Top(usize),
    /// Every correct kernel.
    Each,
}

/// A variant that is not in the plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the phase has no variant `{variant}`{hint}; write an id, `top:N` or `each`")]
pub struct UnknownChoice {
    variant: String,
    hint: String,
}

impl FromStr for DeepChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let top = text.strip_prefix("top:").and_then(|n| n.parse().ok()).filter(|n| *n > 0);
        Ok(match (text, top) {
            ("each", _) => Self::Each,
            (_, Some(n)) => Self::Top(n),
            (id, None) => Self::Variant(VariantId(id.into())),
        })
    }
}

impl DeepChoice {
    /// Checks that the plan has the requested variants.
    ///
    /// # Errors
    /// The first variant that is missing from the plan.
    pub fn validate(&self, plan: &Plan) -> Result<(), UnknownChoice> {
        match self {
            Self::Variant(id) if plan.variant(id).is_none() => {
                let near = nearest(&id.0, plan.variants.iter().map(|variant| variant.id.0.as_str()));
                let hint = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
                Err(UnknownChoice { variant: id.0.to_string(), hint })
            }
            Self::Variant(_) | Self::Top(_) | Self::Each => Ok(()),
        }
    }

    /// The requested variants; `ranked` are the selectable ones, best first.
    pub fn variants(&self, plan: &Plan, ranked: &[VariantId]) -> Vec<VariantId> {
        match self {
            Self::Variant(id) => vec![id.clone()],
            Self::Top(n) => ranked.iter().take(*n).cloned().collect(),
            Self::Each => plan.variants.iter().map(|variant| variant.id.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_variant_the_best_or_each() {
        let parsed = |text: &str| text.parse::<DeepChoice>();
        assert_eq!(parsed("top:3"), Ok(DeepChoice::Top(3)));
        assert_eq!(parsed("each"), Ok(DeepChoice::Each));
        for id in ["A=1,B=2", "top:0", "top:x"] {
            assert_eq!(parsed(id), Ok(DeepChoice::Variant(VariantId(id.into()))));
        }
    }

    #[test]
    fn what_the_plan_lacks_is_refused() {
        let none = Plan { variants: Vec::new() };
        let error = DeepChoice::Variant(VariantId("x".into())).validate(&none).map_err(|e| e.to_string());
        assert_eq!(error, Err("the phase has no variant `x`; write an id, `top:N` or `each`".to_owned()));
        let ranked = ["a", "b", "c"].map(|id| VariantId(id.into()));
        assert_eq!(DeepChoice::Top(2).variants(&none, &ranked), ranked[..2]);
    }
}

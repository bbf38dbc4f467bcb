//! Defines each form of scope: the variants that it picks, and how their verdicts are combined.

use ncugate_model::{Scope, Verdict};

/// The rule of a form of scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeRule<'g> {
    /// Glob that limits the candidates; `None` for all candidates.
    pub glob: Option<&'g str>,
    pub picks: Picks,
    /// How the verdicts are combined.
    pub combine: Combine,
}

/// The candidates to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picks {
    All,
    /// The selected one: the best proven correct candidate by the objective, or the one that a staged plan kept.
    Selected,
    /// The best candidate of the glob by the objective, which must be proven correct.
    Best,
}

/// How verdicts of several variants are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// All must hold.
    All,
    /// One must hold.
    Any,
}

impl<'g> ScopeRule<'g> {
    pub fn of(scope: &'g Scope) -> Self {
        let (picks, combine) = match scope {
            Scope::Selected => (Picks::Selected, Combine::All),
            Scope::Best(_) => (Picks::Best, Combine::All),
            Scope::Each | Scope::Matching(_) => (Picks::All, Combine::All),
            Scope::Any => (Picks::All, Combine::Any),
        };
        Self { glob: scope.glob(), picks, combine }
    }

    /// The rule before anything is measured, when no candidate is the best yet: if no candidate can hold a gate,
    /// neither can the best one.
    #[must_use]
    pub fn before_measuring(self) -> Self {
        match self.picks {
            Picks::All => self,
            Picks::Selected | Picks::Best => Self { picks: Picks::All, combine: Combine::Any, ..self },
        }
    }
}

impl Combine {
    /// Combines verdicts; without verdicts the result is inconclusive.
    pub fn verdict(self, verdicts: impl Iterator<Item = Verdict>) -> Verdict {
        match self {
            Self::All => Verdict::all(verdicts),
            Self::Any => Verdict::any(verdicts),
        }
    }
}

//! What each form of scope means: whom it picks, and how their verdicts make one.

use ncugate_model::{Scope, Verdict};

/// What a form of scope means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeRule<'g> {
    /// Glob of the candidates that it is about; all where there is none.
    pub glob: Option<&'g str>,
    pub picks: Picks,
    /// How their verdicts make one.
    pub combine: Combine,
}

/// Which candidates are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picks {
    All,
    /// The selected one: the best by the objective that is proven correct, in a staged plan the one that it kept.
    Selected,
    /// The best by the objective of the glob, which has to be proven correct.
    Best,
}

/// How verdicts of variants make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// All have to hold.
    All,
    /// One has to hold.
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

    /// The rule before anything is measured, when no candidate is the best yet: if no candidate can hold a gate, the best one
    /// will not.
    #[must_use]
    pub fn before_measuring(self) -> Self {
        match self.picks {
            Picks::All => self,
            Picks::Selected | Picks::Best => Self { picks: Picks::All, combine: Combine::Any, ..self },
        }
    }
}

impl Combine {
    /// One verdict of many; of none it is inconclusive.
    pub fn verdict(self, verdicts: impl Iterator<Item = Verdict>) -> Verdict {
        match self {
            Self::All => Verdict::all(verdicts),
            Self::Any => Verdict::any(verdicts),
        }
    }
}

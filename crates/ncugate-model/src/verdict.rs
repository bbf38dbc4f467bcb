//! Verdicts: their order, their combination, and their words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    word;
    /// Pass, fail, or inconclusive. If several verdicts combine, the most severe one counts: the last in this order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// The requirement holds.
        Pass = "pass",
        /// The requirement cannot be decided, for the given reason.
        Inconclusive = "inconclusive",
        /// The requirement does not hold.
        Fail = "fail",
    }
}

impl Verdict {
    /// Both must hold: fail over inconclusive over pass.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }

    /// All must hold. An empty check is inconclusive, not a pass.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().reduce(Self::and).unwrap_or(Self::Inconclusive)
    }

    /// One must hold: pass over inconclusive over fail. An empty check is inconclusive.
    pub fn any(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let weight = |verdict: &Self| match verdict {
            Self::Fail => 0,
            Self::Inconclusive => 1,
            Self::Pass => 2,
        };
        verdicts.into_iter().max_by_key(weight).unwrap_or(Self::Inconclusive)
    }

    /// At least `needed` must hold, and at least one: inconclusive while the undecided ones could still reach the
    /// number. An empty check is inconclusive.
    pub fn at_least(needed: usize, verdicts: impl IntoIterator<Item = Self>) -> Self {
        let (mut all, mut passed, mut open) = (0, 0, 0);
        for verdict in verdicts {
            all += 1;
            passed += usize::from(verdict == Self::Pass);
            open += usize::from(verdict == Self::Inconclusive);
        }
        let needed = needed.max(1);
        match all {
            0 => Self::Inconclusive,
            _ if passed >= needed => Self::Pass,
            _ if passed + open >= needed => Self::Inconclusive,
            _ => Self::Fail,
        }
    }

    /// The word at the start of a line.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Fail => "FAIL",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{self, Fail, Inconclusive, Pass};

    #[test]
    fn fail_weighs_more_than_inconclusive_and_that_more_than_pass() {
        assert_eq!(Verdict::all([Pass, Inconclusive, Fail]), Fail);
        assert_eq!(Verdict::all([Pass, Inconclusive]), Inconclusive);
        assert_eq!(Verdict::all([Pass, Pass]), Pass);
        assert_eq!(Verdict::any([Fail, Inconclusive]), Inconclusive);
        assert_eq!(Verdict::any([Fail, Inconclusive, Pass]), Pass);
        assert_eq!(Verdict::any([Fail, Fail]), Fail);
    }

    #[test]
    fn a_check_over_nothing_is_not_a_pass() {
        assert_eq!(Verdict::all([]), Inconclusive);
        assert_eq!(Verdict::any([]), Inconclusive);
        assert_eq!(Verdict::at_least(0, []), Inconclusive);
    }

    #[test]
    fn at_least_waits_for_what_is_undecided() {
        assert_eq!(Verdict::at_least(2, [Pass, Fail, Pass]), Pass);
        assert_eq!(Verdict::at_least(2, [Pass, Fail, Inconclusive]), Inconclusive);
        assert_eq!(Verdict::at_least(2, [Pass, Fail, Fail]), Fail);
        assert_eq!(Verdict::at_least(0, [Fail]), Fail, "at least one in any case");
    }
}

//! The outcome of one gate for one variant at one shape, before it is formatted.

use super::context::Doubt;
use super::results::{InconclusiveKind, SampleOrigin};
use ncugate_model::Verdict;
use ncugate_model::expr::Comparison;

#[derive(Debug, Clone, PartialEq)]
pub struct CaseOutcome {
    pub verdict: Verdict,
    /// Why the case is inconclusive.
    pub inconclusive: Option<InconclusiveKind>,
    /// The verdict of the measured values, if noise leaves the case open.
    pub estimate: Option<Verdict>,
    pub measured: Option<f64>,
    pub limit: Option<f64>,
    /// Distance from the limit; positive inside.
    pub margin: Option<f64>,
    /// Interval in the unit of `measured`.
    pub interval: Option<(f64, f64)>,
    pub samples: usize,
    /// Which samples of the run were used.
    pub origin: Option<SampleOrigin>,
    /// The reason, if the numbers do not show it.
    pub note: Option<Box<str>>,
}

impl CaseOutcome {
    /// An inconclusive case with a missing value.
    pub fn missing(reason: impl Into<Box<str>>) -> Self {
        Self { inconclusive: Some(InconclusiveKind::Missing), ..Self::bare(Verdict::Inconclusive, Some(reason.into())) }
    }

    /// A case that noise leaves open.
    pub fn noisy(reason: &str) -> Self {
        Self {
            inconclusive: Some(InconclusiveKind::Noise),
            ..Self::bare(Verdict::Inconclusive, Some(format!("noise: {reason}").into()))
        }
    }

    /// The variant is wrong, so its measurements are rejected.
    pub fn wrong(reason: impl Into<Box<str>>) -> Self {
        Self::bare(Verdict::Fail, Some(reason.into()))
    }

    /// A verdict without numbers.
    pub fn bare(verdict: Verdict, note: Option<Box<str>>) -> Self {
        Self {
            verdict,
            inconclusive: None,
            estimate: None,
            measured: None,
            limit: None,
            margin: None,
            interval: None,
            samples: 1,
            origin: None,
            note,
        }
    }

    /// Rejects a pass, or noise that might become one, if it rests on the samples that selected the variant.
    #[must_use]
    pub fn unless_unconfirmed(self) -> Self {
        let open = self.verdict == Verdict::Pass || self.inconclusive == Some(InconclusiveKind::Noise);
        match self.origin {
            Some(SampleOrigin::Sweep) if open => Self {
                verdict: Verdict::Inconclusive,
                inconclusive: Some(InconclusiveKind::Unconfirmed),
                note: Some("not confirmed on fresh samples: these samples selected it".into()),
                ..self
            },
            Some(_) | None => self,
        }
    }

    /// Rejects a pass, or noise that might become one, if the variant is not proven correct. Other verdicts stay.
    #[must_use]
    pub fn unless_unproven(self, reason: &str) -> Self {
        match (self.verdict, self.inconclusive) {
            (Verdict::Pass, _)
            | (Verdict::Inconclusive, Some(InconclusiveKind::Noise | InconclusiveKind::Unconfirmed)) => Self {
                verdict: Verdict::Inconclusive,
                inconclusive: Some(InconclusiveKind::Missing),
                note: Some(format!("not proven correct: {reason}").into()),
                ..self
            },
            (Verdict::Fail | Verdict::Inconclusive, _) => self,
        }
    }

    /// Rejects a pass or a fail on measurements that do not count. A duration that was perhaps edited still fails.
    #[must_use]
    pub fn unless_doubted(self, doubt: Doubt<'_>) -> Self {
        match (self.verdict, self.inconclusive) {
            (Verdict::Inconclusive, Some(InconclusiveKind::Missing)) => self,
            (Verdict::Fail, _) if matches!(doubt, Doubt::Duration(_)) => self,
            (Verdict::Pass | Verdict::Fail | Verdict::Inconclusive, _) => Self {
                verdict: Verdict::Inconclusive,
                inconclusive: Some(InconclusiveKind::Missing),
                note: Some(doubt.sentence("").into()),
                ..self
            },
        }
    }

    /// Rejects a pass if a variant is compared with itself.
    #[must_use]
    pub fn unless_compared_with(self, itself: Option<&str>) -> Self {
        match itself.filter(|_| self.verdict != Verdict::Fail) {
            Some(id) => Self {
                verdict: Verdict::Inconclusive,
                inconclusive: Some(InconclusiveKind::Missing),
                note: Some(format!("it compares '{id}' with itself").into()),
                ..self
            },
            None => self,
        }
    }

    /// The reason for a pair that is not launched; a wrong variant stays wrong.
    #[must_use]
    pub fn unless_launched(self, reason: &str) -> Self {
        match self.verdict {
            Verdict::Fail => self,
            Verdict::Pass | Verdict::Inconclusive => Self::missing(match &self.note {
                Some(note) => format!("{reason}; {note}"),
                None => reason.to_owned(),
            }),
        }
    }

    /// Distance outside the limit, relative to it; infinite without a margin.
    pub fn severity(&self) -> f64 {
        match (self.margin, self.limit) {
            (Some(margin), Some(limit)) if limit != 0.0 => -margin / limit.abs(),
            (Some(margin), _) => -margin,
            (None, _) => f64::INFINITY,
        }
    }
}

/// Compares two finite numbers.
pub fn holds(comparison: Comparison, left: f64, right: f64) -> bool {
    comparison.holds(left, right)
}

/// Distance inside the limit; negative outside. For `==` it is minus the difference, for `!=` the difference.
pub fn margin(comparison: Comparison, left: f64, right: f64) -> f64 {
    match comparison {
        Comparison::Less | Comparison::LessOrEqual => right - left,
        Comparison::Greater | Comparison::GreaterOrEqual => left - right,
        Comparison::Equal => -(left - right).abs() + 0.0,
        Comparison::NotEqual => (left - right).abs(),
    }
}

/// The verdict when both sides vary within ranges; `None` if the ranges allow both verdicts.
pub fn certain(comparison: Comparison, left: (f64, f64), right: (f64, f64)) -> Option<Verdict> {
    let corners = [(left.0, right.1), (left.1, right.0)];
    let verdict = |all: bool, none: bool| match (all, none) {
        (true, _) => Some(Verdict::Pass),
        (_, true) => Some(Verdict::Fail),
        _ => None,
    };
    let apart = left.1 < right.0 || left.0 > right.1;
    match comparison {
        Comparison::Equal => verdict(false, apart),
        Comparison::NotEqual => verdict(apart, false),
        _ => {
            let held = corners.map(|(l, r)| holds(comparison, l, r));
            verdict(held[0] && held[1], !held[0] && !held[1])
        }
    }
}

/// The verdict for an interval of `left - right`; `None` if the interval allows both verdicts.
pub fn of_difference(comparison: Comparison, low: f64, high: f64) -> Option<Verdict> {
    let all = holds(comparison, low, 0.0) && holds(comparison, high, 0.0);
    let none = !holds(comparison, low, 0.0) && !holds(comparison, high, 0.0);
    let around = low <= 0.0 && high >= 0.0;
    match comparison {
        Comparison::Equal if low == 0.0 && high == 0.0 => Some(Verdict::Pass),
        Comparison::NotEqual if low == 0.0 && high == 0.0 => Some(Verdict::Fail),
        Comparison::Equal => (!around).then_some(Verdict::Fail),
        Comparison::NotEqual => (!around).then_some(Verdict::Pass),
        _ if all => Some(Verdict::Pass),
        _ if none => Some(Verdict::Fail),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_positive_inside() {
        assert_eq!(margin(Comparison::LessOrEqual, 70.0, 64.0), -6.0);
        assert_eq!(margin(Comparison::GreaterOrEqual, 3.0, 2.0), 1.0);
        assert_eq!(margin(Comparison::Equal, 3.0, 0.0), -3.0);
    }

    #[test]
    fn ranges_decide_only_when_they_do_not_touch_the_limit() {
        use Comparison::{Equal, Less, LessOrEqual};
        assert_eq!(certain(LessOrEqual, (1.0, 2.0), (2.0, 3.0)), Some(Verdict::Pass));
        assert_eq!(certain(Less, (1.0, 2.0), (2.0, 3.0)), None);
        assert_eq!(certain(Less, (2.0, 4.0), (1.0, 2.0)), Some(Verdict::Fail));
        assert_eq!(certain(LessOrEqual, (1.0, 2.0), (1.5, 1.5)), None);
        assert_eq!(certain(Equal, (1.0, 2.0), (3.0, 3.0)), Some(Verdict::Fail));
    }

    #[test]
    fn intervals_decide_only_when_the_limit_is_outside() {
        use Comparison::{Greater, GreaterOrEqual, NotEqual};
        assert_eq!(of_difference(GreaterOrEqual, 0.0, 1.0), Some(Verdict::Pass));
        assert_eq!(of_difference(Greater, 0.0, 1.0), None);
        assert_eq!(of_difference(Greater, -1.0, 0.0), Some(Verdict::Fail));
        assert_eq!(of_difference(NotEqual, -1.0, 1.0), None);
    }
}

//! Outcomes and the exit statuses a merge depends on. The only place that knows the numbers.

use ncugate_model::Verdict;
use std::ffi::OsString;
use std::process::ExitCode;

/// The statuses of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusScheme {
    /// Those of [`Outcome::status`].
    Own,
    /// Those of `git bisect run`: it takes 1 to 124, 126 and 127 as bad, and skips a commit at 125.
    GitBisect,
}

impl StatusScheme {
    /// The scheme of a command line, also of a wrong one.
    pub fn of(arguments: impl Iterator<Item = OsString>) -> Self {
        let mut arguments = arguments;
        if arguments.any(|argument| argument == "--bisect-status") { Self::GitBisect } else { Self::Own }
    }

    /// The status of an outcome.
    pub fn code(self, outcome: Outcome) -> ExitCode {
        match (self, outcome) {
            (Self::Own, _) | (Self::GitBisect, Outcome::Passed | Outcome::Failed) => outcome.into(),
            (Self::GitBisect, Outcome::Usage | Outcome::Environment | Outcome::Inconclusive) => ExitCode::from(125),
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All required gates passed, or the command succeeded.
    Passed,
    /// A required gate failed.
    Failed,
    /// The command line or the config is wrong.
    Usage,
    /// The environment or a tool failed: no GPU, no nvcc, no ncu, permission, device lost, bad report.
    Environment,
    /// Nothing was judged, or the noise is larger than the gate can resolve.
    Inconclusive,
}

impl Outcome {
    /// The status: 0, 1, 2, 3 or 4.
    pub const fn status(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Inconclusive => 4,
        }
    }

    /// The outcome of another process of this program by its status; `None` for other numbers.
    pub fn of_status(status: u8) -> Option<Self> {
        let all = [Self::Passed, Self::Failed, Self::Usage, Self::Environment, Self::Inconclusive];
        all.into_iter().find(|outcome| outcome.status() == status)
    }

    /// The outcome in one word, as in reports.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::Failed => "fail",
            Self::Usage => "wrong usage",
            Self::Environment => "error",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// The combined outcome. Precedence: usage, environment, failed, inconclusive, passed.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        const ORDER: [Outcome; 5] =
            [Outcome::Usage, Outcome::Environment, Outcome::Failed, Outcome::Inconclusive, Outcome::Passed];
        ORDER.into_iter().find(|o| *o == self || *o == other).unwrap_or(Self::Environment)
    }
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Passed,
            Verdict::Fail => Self::Failed,
            Verdict::Inconclusive => Self::Inconclusive,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.status())
    }
}

#[cfg(test)]
mod tests {
    use super::Outcome::{Environment, Failed, Inconclusive, Passed};

    #[test]
    fn the_graver_outcome_wins() {
        assert_eq!(Environment.and(Failed), Environment);
        assert_eq!(Inconclusive.and(Failed), Failed);
        assert_eq!(Passed.and(Inconclusive), Inconclusive);
        assert_eq!(Passed.and(Passed).status(), 0);
    }
}

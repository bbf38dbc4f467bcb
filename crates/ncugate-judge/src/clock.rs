//! The time that ages are counted to: now, or `SOURCE_DATE_EPOCH` (seconds since 1970), so that the same run renders to the
//! same bytes on any day. No verdict reads it.

use super::JudgeError;
use jiff::Timestamp;

/// Name of the variable, as <https://reproducible-builds.org/specs/source-date-epoch/> has it.
const FIXED: &str = "SOURCE_DATE_EPOCH";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    now: Timestamp,
}

impl Clock {
    /// Reads the variable, else the system's clock.
    ///
    /// # Errors
    /// The variable is not a count of seconds.
    pub fn read() -> Result<Self, JudgeError> {
        match std::env::var(FIXED) {
            Ok(text) => Self::fixed(&text).ok_or(JudgeError::Clock(text)),
            Err(_) => Ok(Self { now: Timestamp::now() }),
        }
    }

    fn fixed(text: &str) -> Option<Self> {
        let now = Timestamp::from_second(text.trim().parse().ok()?).ok()?;
        Some(Self { now })
    }

    pub fn now(self) -> Timestamp {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn a_fixed_moment_is_the_same_everywhere() {
        assert_eq!(Clock::fixed("1795305600").unwrap().now().to_string(), "2026-11-22T00:00:00Z");
        assert_eq!(Clock::fixed("tomorrow"), None);
    }
}

//! The time that ages and waivers are counted to: now, or `SOURCE_DATE_EPOCH` (seconds since 1970), so that the same run
//! renders to the same bytes on any day.

use super::JudgeError;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Name of the variable, as <https://reproducible-builds.org/specs/source-date-epoch/> has it.
const FIXED: &str = "SOURCE_DATE_EPOCH";

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    now: Timestamp,
    zone: Zone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    System,
    Utc,
}

impl Clock {
    /// Reads the variable, else the system's clock.
    ///
    /// # Errors
    /// The variable is not a count of seconds.
    pub fn read() -> Result<Self, JudgeError> {
        match std::env::var(FIXED) {
            Ok(text) => Self::fixed(&text).ok_or(JudgeError::Clock(text)),
            Err(_) => Ok(Self { now: Timestamp::now(), zone: Zone::System }),
        }
    }

    fn fixed(text: &str) -> Option<Self> {
        let now = Timestamp::from_second(text.trim().parse().ok()?).ok()?;
        Some(Self { now, zone: Zone::Utc })
    }

    /// The moment.
    pub fn now(self) -> Timestamp {
        self.now
    }

    /// Its day: where the reader is, in UTC for a fixed one.
    pub fn today(self) -> Date {
        let zone = match self.zone {
            Zone::System => TimeZone::system(),
            Zone::Utc => TimeZone::UTC,
        };
        self.now.to_zoned(zone).date()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Clock;

    #[test]
    fn a_fixed_moment_is_the_same_day_everywhere() {
        let clock = Clock::fixed("1795305600").unwrap();
        assert_eq!(
            (clock.now().to_string().as_str(), clock.today().to_string().as_str()),
            ("2026-11-22T00:00:00Z", "2026-11-22")
        );
        assert_eq!(Clock::fixed("tomorrow"), None);
    }
}

//! Time and folder of a command, read once. Everything below the commands gets them as values.

use crate::commands::CommandError;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::env;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the variable, as <https://reproducible-builds.org/specs/source-date-epoch/> has it.
const FIXED: &str = "SOURCE_DATE_EPOCH";

#[derive(Debug)]
pub struct Invocation {
    pub started: Timestamp,
    /// The reference time for ages of runs: the start, or `SOURCE_DATE_EPOCH` (seconds since 1970), so that the same run renders
    /// to the same bytes on any day. No verdict reads it.
    pub report_time: Timestamp,
    /// The working directory at the start; empty if it no longer exists.
    pub here: PathBuf,
    /// Changes the working directory: compilers, workers and commands of a phase work in the root of its project.
    pub enter: fn(&Path) -> io::Result<()>,
}

impl Invocation {
    /// Reads the clock, the working directory and the variable.
    ///
    /// # Errors
    /// The variable is not a count of seconds.
    pub fn read(enter: fn(&Path) -> io::Result<()>) -> Result<Self, CommandError> {
        let started = Timestamp::now();
        let report_time = match env::var(FIXED) {
            Ok(text) => fixed(&text)
                .ok_or_else(|| CommandError::Usage(format!("{FIXED} is '{text}', which is not a count of seconds")))?,
            Err(_) => started,
        };
        Ok(Self { started, report_time, here: env::current_dir().unwrap_or_default(), enter })
    }

    /// The day of the judgement, in UTC. Neither `SOURCE_DATE_EPOCH` nor `TZ` changes it: an environment variable must not decide
    /// whether a waiver holds.
    pub fn today(&self) -> Date {
        day(self.started)
    }
}

/// The day of a time, in UTC.
pub fn day(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

fn fixed(text: &str) -> Option<Timestamp> {
    Timestamp::from_second(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::{day, fixed};

    #[test]
    fn a_fixed_moment_is_the_same_everywhere() {
        let moment = fixed("1795305600").unwrap();
        assert_eq!(
            (moment.to_string().as_str(), day(moment)),
            ("2026-11-22T00:00:00Z", jiff::civil::date(2026, 11, 22))
        );
        assert_eq!(fixed("tomorrow"), None);
    }
}

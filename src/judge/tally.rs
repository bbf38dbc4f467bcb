//! Verdicts of a phase's requirements, counted.

use crate::model::Verdict;
use crate::number::counted;

/// Everything that a phase's verdict is made of.
#[derive(Default)]
pub struct VerdictTally {
    found: Vec<(Verdict, String)>,
}

impl VerdictTally {
    /// Counts one requirement; the reason is asked for where it does not hold.
    pub fn count(&mut self, verdict: Verdict, reason: impl FnOnce() -> String) {
        let reason = if verdict == Verdict::Pass { String::new() } else { reason() };
        self.found.push((verdict, reason));
    }

    /// All have to hold, with a sentence why they do or do not; nothing asked is inconclusive.
    pub fn verdict(&self) -> (Verdict, String) {
        let verdict = Verdict::all(self.found.iter().map(|(verdict, _)| *verdict));
        let mut same = self.found.iter().filter(|(other, _)| *other == verdict).map(|(_, reason)| reason.as_str());
        let first = same.next().unwrap_or_default();
        let (more, total) = (same.count(), self.found.len());
        let sentence = |what: &str| {
            let others = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            format!("{} of {} {what}: {first}{others}", more + 1, counted(total, "requirement"))
        };
        let reason = match (verdict, total) {
            (_, 0) => "the phase has no required gate, so nothing was judged".to_owned(),
            (Verdict::Fail, _) => sentence("failed"),
            (Verdict::Inconclusive, _) => sentence(if more == 0 { "is inconclusive" } else { "are inconclusive" }),
            (Verdict::Pass, 1) => "the one requirement holds".to_owned(),
            (Verdict::Pass, n) => format!("all {n} requirements hold"),
        };
        (verdict, reason)
    }
}

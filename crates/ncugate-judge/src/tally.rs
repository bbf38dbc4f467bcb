//! Counts the verdicts of a phase's requirements.

use ncugate_model::Verdict;
use ncugate_model::number::counted;

/// The verdicts that make up a phase's verdict.
#[derive(Default)]
pub struct VerdictTally {
    found: Vec<(Verdict, String)>,
    waived: usize,
    warned: usize,
}

impl VerdictTally {
    /// Counts one requirement; `reason` is called only if it does not hold.
    pub fn count(&mut self, verdict: Verdict, reason: impl FnOnce() -> String) {
        let reason = if verdict == Verdict::Pass { String::new() } else { reason() };
        self.found.push((verdict, reason));
    }

    /// Records that a requirement counts as held because it is waived.
    pub fn waived(&mut self) {
        self.waived += 1;
    }

    /// Records that a requirement is inconclusive but only warns, and so counts as held.
    pub fn warned(&mut self) {
        self.warned += 1;
    }

    /// `5 of 11 requirements hold, 6 are waived`
    fn held(&self) -> String {
        let total = self.found.len();
        let held = total.saturating_sub(self.waived + self.warned);
        let are = |count: usize| if count == 1 { "is" } else { "are" };
        let parts = [(self.waived, "waived"), (self.warned, "inconclusive with a warning")];
        let parts: Vec<String> = (parts.into_iter().filter(|(count, _)| *count > 0))
            .map(|(count, what)| format!("{count} {} {what}", are(count)))
            .collect();
        match (parts.is_empty(), total) {
            (true, 1) => "the only requirement holds".to_owned(),
            (true, n) => format!("all {n} requirements hold"),
            (false, n) => {
                let holds = if held == 1 { "holds" } else { "hold" };
                format!("{held} of {} {holds}, {}", counted(n, "requirement"), parts.join(", "))
            }
        }
    }

    /// Pass if all hold, with a sentence of explanation; inconclusive without requirements.
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
            (Verdict::Pass, _) => self.held(),
        };
        (verdict, reason)
    }
}

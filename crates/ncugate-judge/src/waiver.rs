//! Waivers: a measured shortfall that is excused for a limited time.
//!
//! A waiver excuses a measured shortfall, and noise. It never excuses a missing value or a wrong variant.

use super::bound_gate::VariantOutcome;
use super::case_outcome::CaseOutcome;
use super::results::InconclusiveKind;
use jiff::civil::Date;
use ncugate_model::{VariantId, Verdict, glob};
use ncugate_phase::config::Waiver;

/// The waivers of one gate.
pub struct Waivers<'a> {
    in_force: Vec<(&'a Waiver, globset::GlobMatcher)>,
    expired: Option<&'a Waiver>,
}

impl<'a> Waivers<'a> {
    /// The waivers that name `gate`.
    pub fn of(gate: &str, all: &'a [Waiver], today: Date) -> Self {
        let named = || all.iter().filter(|w| w.gate == gate);
        Self {
            in_force: named().filter(|w| w.holds_on(today)).filter_map(|w| Some((w, glob(&w.variant).ok()?))).collect(),
            expired: named().find(|w| today > w.expires),
        }
    }

    /// The waiver that excuses a row, if every reason against a pass can be excused.
    pub fn excuse(&self, row: &VariantOutcome, id: &VariantId) -> Option<&'a Waiver> {
        if row.verdict == Verdict::Pass || row.cases.is_empty() || !row.outcomes().all(excusable) {
            return None;
        }
        self.in_force.iter().find(|(_, matcher)| matcher.is_match(&id.0)).map(|(waiver, _)| *waiver)
    }

    /// An expired waiver.
    pub fn expired(&self) -> Option<&'a Waiver> {
        self.expired
    }
}

fn excusable(case: &CaseOutcome) -> bool {
    match case.verdict {
        Verdict::Pass => true,
        Verdict::Fail => case.measured.is_some(),
        Verdict::Inconclusive => case.inconclusive == Some(InconclusiveKind::Noise),
    }
}

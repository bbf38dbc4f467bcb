//! The basis of a pass: required gates that judged the selected variant.

use super::results::GateResult;
use ncugate_model::{Scope, VariantId, Verdict};
use ncugate_phase::config::Phase;

/// The variant that a phase would use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<'v> {
    Selected(&'v VariantId),
    Nobody,
    /// No selection among launches of ncu reports: every gate counts for the variants that it judged.
    NotMade,
}

impl<'v> Choice<'v> {
    pub fn of(phase: &Phase, selected: Option<&'v VariantId>) -> Self {
        match selected {
            _ if phase.is_of_reports() => Self::NotMade,
            Some(id) => Self::Selected(id),
            None => Self::Nobody,
        }
    }
}

/// The required gates that judge the chosen variant, and those that do not.
pub struct SelectionBasis<'v> {
    choice: Choice<'v>,
    /// Number of required gates that judge it.
    judging: usize,
    /// The other required gates, with the reason.
    elsewhere: Vec<String>,
}

impl<'v> SelectionBasis<'v> {
    /// Looks for the selected variant among the cases of each required gate.
    pub fn new<'g>(choice: Choice<'v>, required: impl Iterator<Item = &'g GateResult>) -> Self {
        let mut grounds = Self { choice, judging: 0, elsewhere: Vec::new() };
        // a gate without cases already has a verdict that is not a pass
        for gate in required.filter(|gate| !gate.cases.is_empty()) {
            match choice {
                Choice::Selected(id) => match elsewhere(gate, id) {
                    None => grounds.judging += 1,
                    Some(why) => grounds.elsewhere.push(why),
                },
                Choice::NotMade => grounds.judging += 1,
                Choice::Nobody => {}
            }
        }
        grounds
    }

    /// Downgrades a pass if no required gate judged the chosen variant.
    pub fn hold(&self, verdict: &mut Verdict, reason: &mut String) {
        if *verdict != Verdict::Pass || (self.choice != Choice::Nobody && self.judging > 0) {
            return;
        }
        *verdict = Verdict::Inconclusive;
        *reason = match self.choice {
            Choice::Selected(id) => format!("no required gate judged the selected variant {id}; otherwise {reason}"),
            Choice::Nobody => {
                format!("no variant is selected, so no variant to use was judged; otherwise {reason}")
            }
            Choice::NotMade => format!("no required gate judged a launch; otherwise {reason}"),
        };
    }

    /// `the selected variant a is not judged by 'b' (on = \"c\")`; `None` if every required gate judged it.
    pub fn caution(&self) -> Option<String> {
        let Choice::Selected(id) = self.choice else { return None };
        (!self.elsewhere.is_empty())
            .then(|| format!("the selected variant {id} is not judged by {}", self.elsewhere.join(", ")))
    }
}

/// Why a gate does not judge a variant; `None` if it does.
fn elsewhere(gate: &GateResult, id: &VariantId) -> Option<String> {
    let (name, on) = (&gate.name, &gate.on);
    match gate.of(id) {
        None => Some(format!("'{name}' (on = \"{on}\")")),
        Some(Verdict::Pass) => None,
        Some(Verdict::Fail | Verdict::Inconclusive) if *on == Scope::Any && gate.waived.is_none() => {
            (gate.verdict == Verdict::Pass).then(|| format!("'{name}' (on = \"any\", held by other variants)"))
        }
        Some(Verdict::Fail | Verdict::Inconclusive) => None,
    }
}

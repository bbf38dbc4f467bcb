//! What a pass rests on: required gates that judged the variant that is selected.

use super::results::GateResult;
use ncugate_model::{Scope, VariantId, Verdict};
use ncugate_phase::config::Phase;

/// What a phase would use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<'v> {
    Selected(&'v VariantId),
    Nobody,
    /// Nothing is selected among launches of ncu reports: every gate speaks for what it judged.
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

/// How required gates stand to what is chosen.
pub struct SelectionBasis<'v> {
    choice: Choice<'v>,
    /// Required gates that it is judged by.
    judging: usize,
    /// The others, with why not.
    elsewhere: Vec<String>,
}

impl<'v> SelectionBasis<'v> {
    /// Looks for the selected variant among the cases of each required gate.
    pub fn new<'g>(choice: Choice<'v>, required: impl Iterator<Item = &'g GateResult>) -> Self {
        let mut grounds = Self { choice, judging: 0, elsewhere: Vec::new() };
        // a gate without any case has a verdict of its own, which is not a pass
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

    /// Takes a pass back that no required gate of what is chosen gave.
    pub fn hold(&self, verdict: &mut Verdict, reason: &mut String) {
        if *verdict != Verdict::Pass || (self.choice != Choice::Nobody && self.judging > 0) {
            return;
        }
        *verdict = Verdict::Inconclusive;
        *reason = match self.choice {
            Choice::Selected(id) => format!("no required gate judged the selected variant {id}; otherwise {reason}"),
            Choice::Nobody => {
                format!("no variant is selected, so nothing that would be used was judged; otherwise {reason}")
            }
            Choice::NotMade => format!("no required gate judged a launch; otherwise {reason}"),
        };
    }

    /// `the selected variant a is not judged by 'b' (on = \"c\")`; none where every required gate judged it.
    pub fn caution(&self) -> Option<String> {
        let Choice::Selected(id) = self.choice else { return None };
        (!self.elsewhere.is_empty())
            .then(|| format!("the selected variant {id} is not judged by {}", self.elsewhere.join(", ")))
    }
}

/// Why a gate says nothing of a variant; none where it does.
fn elsewhere(gate: &GateResult, id: &VariantId) -> Option<String> {
    let (name, on) = (&gate.name, &gate.on);
    match gate.of(id) {
        None => Some(format!("'{name}' (on = \"{on}\")")),
        Some(Verdict::Pass) => None,
        Some(Verdict::Fail | Verdict::Inconclusive) if *on == Scope::Any && gate.waived.is_none() => {
            (gate.verdict == Verdict::Pass).then(|| format!("'{name}' (on = \"any\", which others hold)"))
        }
        Some(Verdict::Fail | Verdict::Inconclusive) => None,
    }
}

//! What a pass rests on: required gates that judged the variant that is selected.

use super::results::GateResult;
use crate::model::{Scope, VariantId, Verdict};

/// How required gates stand to the variant that is selected.
pub struct Grounds<'v> {
    selected: Option<&'v VariantId>,
    /// Required gates that it is judged by.
    judging: usize,
    /// The others, with why not.
    elsewhere: Vec<String>,
}

impl<'v> Grounds<'v> {
    /// Looks for the selected variant among the cases of each required gate.
    pub fn new<'g>(selected: Option<&'v VariantId>, required: impl Iterator<Item = &'g GateResult>) -> Self {
        let mut grounds = Self { selected, judging: 0, elsewhere: Vec::new() };
        // a gate without any case has a verdict of its own, which is not a pass
        for gate in required.filter(|gate| !gate.cases.is_empty()) {
            match selected.map(|id| elsewhere(gate, id)) {
                Some(None) => grounds.judging += 1,
                Some(Some(why)) => grounds.elsewhere.push(why),
                None => {}
            }
        }
        grounds
    }

    /// Takes a pass back that no required gate of the selected variant gave.
    pub fn hold(&self, verdict: &mut Verdict, reason: &mut String) {
        if *verdict != Verdict::Pass || (self.selected.is_some() && self.judging > 0) {
            return;
        }
        *verdict = Verdict::Inconclusive;
        *reason = match self.selected {
            Some(id) => format!("no required gate judged the selected variant {id}; otherwise {reason}"),
            None => format!("no variant is selected, so nothing that would be used was judged; otherwise {reason}"),
        };
    }

    /// `the selected variant a is not judged by 'b' (on = \"c\")`; none where every required gate judged it.
    pub fn caution(&self) -> Option<String> {
        let id = self.selected.filter(|_| !self.elsewhere.is_empty())?;
        Some(format!("the selected variant {id} is not judged by {}", self.elsewhere.join(", ")))
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

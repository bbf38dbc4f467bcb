//! Waivers of the command line, for a regression that is accepted in one change and not in the phase file.

use super::{Gate, Phase, Waiver};
use jiff::civil::Date;
use ncugate_model::nearest;
use std::str::FromStr;

/// Owner of a waiver of the command line.
const OWNER: &str = "--waive";

/// A part that stands for every phase or every gate.
const ALL: &str = "*";

/// A waiver for today: `PHASE/GATE: REASON`, in which `*` is every phase or every gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaiverRequest {
    phase: String,
    gate: String,
    reason: String,
}

/// The phase has no such gate.
#[derive(Debug, thiserror::Error)]
#[error("--waive names the gate '{gate}', which phase '{phase}' does not have{hint}")]
pub struct UnknownGate {
    gate: String,
    phase: String,
    hint: String,
}

impl FromStr for WaiverRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (phase, rest) = text.split_once('/').ok_or("write it as PHASE/GATE: REASON")?;
        let (gate, reason) = rest.split_once(": ").ok_or("write it as PHASE/GATE: REASON")?;
        let [phase, gate, reason] = [phase, gate, reason].map(|part| part.trim().to_owned());
        if phase.is_empty() || gate.is_empty() {
            return Err("name the phase and the gate: PHASE/GATE: REASON".to_owned());
        }
        if !Waiver::is_reason(&reason) {
            return Err(format!("give a reason of at least {} words", Waiver::FEWEST_WORDS));
        }
        Ok(Self { phase, gate, reason })
    }
}

impl Phase {
    /// Adds the waivers that name this phase. They hold on `today` only.
    ///
    /// # Errors
    /// A waiver of this phase names a gate that it does not have.
    pub fn waive(&mut self, requests: &[WaiverRequest], today: Date) -> Result<(), UnknownGate> {
        let names: Vec<_> =
            self.gates.iter().chain(self.gate_plan.gates()).map(|gate: &Gate| gate.name.clone()).collect();
        for request in requests.iter().filter(|request| request.phase == ALL || request.phase == self.name) {
            let named = names.iter().filter(|name| request.gate == ALL || name.as_str() == request.gate);
            let waivers: Vec<Waiver> = named
                .map(|gate| Waiver {
                    gate: gate.clone(),
                    variant: ALL.into(),
                    reason: request.reason.as_str().into(),
                    owner: OWNER.into(),
                    expires: today,
                    line: 0,
                })
                .collect();
            if waivers.is_empty() && request.gate != ALL && request.phase != ALL {
                let near = nearest(&request.gate, names.iter().map(|name| name.as_str()));
                let hint = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
                return Err(UnknownGate { gate: request.gate.clone(), phase: self.name.clone(), hint });
            }
            self.gate_plan.waivers.extend(waivers);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use jiff::civil::date;
    use ncugate_fixtures::root;

    fn waived(request: &str) -> Result<Vec<(String, Date)>, String> {
        let today = date(2026, 6, 15);
        let mut phase = config::load(std::path::Path::new("configs/softmax.toml"), &root(), today).unwrap();
        let request: WaiverRequest = request.parse()?;
        phase.waive(&[request], today).map_err(|error| error.to_string())?;
        Ok(phase.gate_plan.waivers.iter().map(|waiver| (waiver.gate.to_string(), waiver.expires)).collect())
    }

    #[test]
    fn a_request_names_a_phase_a_gate_and_a_reason() {
        let today = date(2026, 6, 15);
        let one = waived("softmax/no slower than plain: narrow rows are rare").unwrap();
        assert_eq!(one, [("no slower than plain".to_owned(), today)]);
        assert_eq!(waived("softmax/*: a label by ada").unwrap().len(), 3);
        assert_eq!(waived("*/no spills: a label by ada").unwrap().len(), 1);
        assert!(waived("other/no spills: a label by ada").unwrap().is_empty(), "another phase");
        let near = waived("softmax/no spill: a label by ada").unwrap_err();
        assert!(near.contains("did you mean 'no spills'?"), "{near}");
        for wrong in [
            "softmax",
            "softmax/no spills",
            "softmax/no spills: why not",
            "/no spills: a label by ada",
            "softmax/: a b c",
        ] {
            assert!(waived(wrong).is_err(), "{wrong}");
        }
    }
}

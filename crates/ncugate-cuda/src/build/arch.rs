//! Architectures that nvcc compiles for.

use super::error::BuildError;
use ncugate_model::ComputeCapability;
use std::fmt;
use std::str::FromStr;

/// An architecture with machine code: `sm_90`, `sm_90a`, `sm_120f`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Arch {
    major: u32,
    minor: u32,
    suffix: &'static str,
}

impl Arch {
    /// The plain architecture of a compute capability.
    pub const fn of(capability: ComputeCapability) -> Self {
        Self { major: capability.major, minor: capability.minor, suffix: "" }
    }

    /// This architecture with the suffix of `phase`, if both are of one chip and this one has none: a kernel for `sm_90a` is
    /// also meant when `sm_90` is asked for.
    #[must_use]
    pub fn with_suffix_of(self, phase: Option<&Self>) -> Self {
        let own = |phase: &&Self| self.suffix.is_empty() && phase.capability() == self.capability();
        phase.filter(own).cloned().unwrap_or(self)
    }

    pub const fn capability(&self) -> ComputeCapability {
        ComputeCapability::new(self.major, self.minor)
    }
}

impl FromStr for Arch {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let wrong = || BuildError::Arch { text: text.to_owned() };
        let rest = text.strip_prefix("sm_").ok_or_else(wrong)?;
        let digits = rest.trim_end_matches(|c: char| !c.is_ascii_digit());
        let suffix = match &rest[digits.len()..] {
            "" => "",
            "a" => "a",
            "f" => "f",
            _ => return Err(wrong()),
        };
        if !(2..=3).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        let number: u32 = digits.parse().map_err(|_| wrong())?;
        Ok(Self { major: number / 10, minor: number % 10, suffix })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}{}", self.major, self.minor, self.suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_capabilities_agree() {
        for (text, capability) in [("sm_90", (9, 0)), ("sm_90a", (9, 0)), ("sm_89", (8, 9)), ("sm_120f", (12, 0))] {
            let arch: Arch = text.parse().unwrap();
            assert_eq!((arch.capability(), arch.to_string().as_str()), (capability.into(), text));
        }
        assert_eq!(Arch::of(ComputeCapability::new(10, 3)).to_string(), "sm_103");
    }

    #[test]
    fn the_suffix_of_a_phase_stays_for_the_same_chip() {
        let arch = |text: &str| text.parse::<Arch>().unwrap();
        let asked = |text: &str, phase: &str| arch(text).with_suffix_of(Some(&arch(phase))).to_string();
        assert_eq!(asked("sm_90", "sm_90a"), "sm_90a");
        assert_eq!(asked("sm_100", "sm_90a"), "sm_100");
        assert_eq!(asked("sm_120f", "sm_120a"), "sm_120f");
        assert_eq!(arch("sm_90").with_suffix_of(None).to_string(), "sm_90");
    }

    #[test]
    fn a_text_that_is_not_an_architecture_is_refused() {
        for text in ["", "90", "sm_", "sm_9", "sm_90x", "sm_9é", "compute_90", "sm_9000", "sm_a90", "sm_90aa", "native"]
        {
            assert!(text.parse::<Arch>().is_err(), "{text}");
        }
    }
}

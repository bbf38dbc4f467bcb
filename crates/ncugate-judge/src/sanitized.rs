//! Results of compute-sanitizer as a part of correctness.

use super::results::Correctness;
use ncugate_model::number::counted;
use ncugate_model::{BuildRecord, SanitizerOutcome, SanitizerRecord, SanitizerTool, VariantId};
use ncugate_phase::config::{CheckSettings, Phase};
use ncugate_phase::plan::{Method, Plan};
use std::collections::{BTreeMap, HashMap};

/// Findings of a variant that a reason shows.
const SHOWN: usize = 3;

/// What a tool's record means under the phase's suppressions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SanitizerVerdict {
    Clean,
    /// A finding counts; the reason names tool, shape, kernel, line and address.
    Found {
        reason: String,
    },
    /// The tool came to no result.
    Unknown {
        reason: String,
    },
}

impl SanitizerVerdict {
    pub fn of(record: &SanitizerRecord, settings: &CheckSettings) -> Self {
        let SanitizerRecord { tool, shape, .. } = record;
        match &record.outcome {
            SanitizerOutcome::Clean => Self::Clean,
            SanitizerOutcome::Failed { reason } => {
                Self::Unknown { reason: format!("compute-sanitizer {tool} has no result at shape '{shape}': {reason}") }
            }
            SanitizerOutcome::Found { findings, unlisted, failure } => {
                let counting: Vec<_> = findings.iter().filter(|finding| !settings.suppresses(*tool, finding)).collect();
                let shown: Vec<String> = counting.iter().take(SHOWN).map(ToString::to_string).collect();
                let more = counting.len().saturating_sub(SHOWN);
                let more = if more > 0 { format!("; and {} more", counted(more, "finding")) } else { String::new() };
                match (shown.is_empty(), unlisted, failure) {
                    (false, ..) => Self::Found {
                        reason: format!("compute-sanitizer {tool} at shape '{shape}': {}{more}", shown.join("; ")),
                    },
                    (true, 0, None) if !findings.is_empty() => Self::Clean,
                    (true, _, Some(failure)) => Self::Unknown {
                        reason: format!(
                            "compute-sanitizer {tool} at shape '{shape}': every listed finding is suppressed, but it did not come to its end: {failure}"
                        ),
                    },
                    (true, _, None) => Self::Unknown {
                        reason: format!(
                            "compute-sanitizer {tool} at shape '{shape}': every listed finding is suppressed, but {unlisted} were not listed"
                        ),
                    },
                }
            }
        }
    }
}

/// Adds the results of compute-sanitizer to the proofs. A finding makes a variant wrong. A right variant without a result of a
/// tool that the phase names, or with a failed one, is unproven. Variants with the same machine code and launches share
/// results. External commands are not launched under compute-sanitizer.
pub fn name_sanitized(
    mut proofs: BTreeMap<VariantId, Correctness>,
    (phase, plan): (&Phase, &Plan),
    records: &[SanitizerRecord],
    builds: &[BuildRecord],
) -> BTreeMap<VariantId, Correctness> {
    let mut tools: Vec<SanitizerTool> = phase.check.sanitize.clone();
    tools.extend(records.iter().map(|record| record.tool));
    tools.sort_unstable();
    tools.dedup();
    if tools.is_empty() {
        return proofs;
    }
    let shares: HashMap<&VariantId, &VariantId> =
        builds.iter().filter_map(|build| Some((&build.variant, build.shares.as_ref()?))).collect();
    let mut known: HashMap<(SanitizerTool, &VariantId), Vec<&SanitizerRecord>> = HashMap::new();
    for record in records {
        known.entry((record.tool, &record.variant)).or_default().push(record);
    }
    let launched = plan.variants.iter().filter(|variant| match &variant.method {
        Method::Kernel(_) | Method::Function(_) => true,
        Method::Command(_) | Method::Captured(_) => false,
    });
    for id in launched.map(|variant| &variant.id) {
        let measured_as = shares.get(id).copied().unwrap_or(id);
        for tool in &tools {
            let verdicts = match known.get(&(*tool, measured_as)) {
                Some(records) => records.iter().map(|record| SanitizerVerdict::of(record, &phase.check)).collect(),
                None => {
                    let reason = format!("not launched under compute-sanitizer {tool}");
                    vec![SanitizerVerdict::Unknown { reason }]
                }
            };
            let Some(proof) = proofs.get_mut(id) else { continue };
            for verdict in verdicts {
                match (verdict, &proof) {
                    (SanitizerVerdict::Found { reason }, _) => proof.replace_by(Correctness::Wrong { reason }),
                    (SanitizerVerdict::Unknown { reason }, Correctness::Proven { .. }) => {
                        *proof = Correctness::Unproven { reason };
                    }
                    (SanitizerVerdict::Unknown { .. } | SanitizerVerdict::Clean, _) => {}
                }
            }
        }
    }
    proofs
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::{SanitizerFinding, ShapeName};
    use ncugate_phase::config::Suppression;

    fn finding(kernel: &str) -> SanitizerFinding {
        SanitizerFinding {
            what: "Invalid __global__ read of size 4 bytes".to_owned(),
            kernel: Some(kernel.to_owned()),
            line: Some("copy.cu:12".to_owned()),
            details: vec!["Access at 0x7f00 is out of bounds".to_owned()],
            count: 32,
        }
    }

    fn verdict(outcome: SanitizerOutcome, suppressed: &[&str]) -> SanitizerVerdict {
        let suppression = |kernel: &&str| Suppression {
            tool: SanitizerTool::Memcheck,
            kernel: (*kernel).into(),
            reason: "reads are padded".into(),
        };
        let settings = CheckSettings { sanitize: Vec::new(), suppressed: suppressed.iter().map(suppression).collect() };
        let (variant, shape) = (VariantId("v".into()), ShapeName("s".into()));
        let tool = SanitizerTool::Memcheck;
        SanitizerVerdict::of(&SanitizerRecord { variant, shape, tool, version: None, outcome }, &settings)
    }

    #[test]
    fn a_finding_has_kernel_line_and_address_in_its_reason() {
        let found = SanitizerOutcome::Found { findings: vec![finding("copy(float *)")], unlisted: 0, failure: None };
        let expected = "compute-sanitizer memcheck at shape 's': Invalid __global__ read of size 4 bytes in `copy(float *)` \
                        at copy.cu:12, Access at 0x7f00 is out of bounds (32 reports)";
        assert_eq!(verdict(found, &[]), SanitizerVerdict::Found { reason: expected.to_owned() });
    }

    #[test]
    fn a_suppression_excuses_what_it_names_and_nothing_that_was_not_listed() {
        let found = |kernels: &[&str], unlisted| SanitizerOutcome::Found {
            findings: kernels.iter().map(|kernel| finding(kernel)).collect(),
            unlisted,
            failure: None,
        };
        assert_eq!(verdict(found(&["copy(int)"], 0), &["copy*"]), SanitizerVerdict::Clean);
        assert!(
            matches!(verdict(found(&["copy(int)", "sum(int)"], 0), &["copy*"]), SanitizerVerdict::Found { reason } if reason.contains("sum") && !reason.contains("copy("))
        );
        assert!(matches!(verdict(found(&["copy(int)"], 5), &["copy*"]), SanitizerVerdict::Unknown { .. }));
        assert!(matches!(verdict(found(&[], 0), &["*"]), SanitizerVerdict::Unknown { .. }), "damaged record");
        let nameless = SanitizerFinding { kernel: None, ..finding("x") };
        let nameless = SanitizerOutcome::Found { findings: vec![nameless], unlisted: 0, failure: None };
        assert!(matches!(verdict(nameless, &["*"]), SanitizerVerdict::Found { .. }));
        // The launch ended at the suppressed finding, and nothing is known of what follows.
        let ended = |kernel| SanitizerOutcome::Found {
            findings: vec![finding(kernel)],
            unlisted: 0,
            failure: Some("it timed out".to_owned()),
        };
        let unknown = verdict(ended("copy(int)"), &["copy*"]);
        assert!(matches!(unknown, SanitizerVerdict::Unknown { reason } if reason.ends_with("its end: it timed out")));
        assert!(matches!(verdict(ended("sum(int)"), &["copy*"]), SanitizerVerdict::Found { .. }));
    }
}

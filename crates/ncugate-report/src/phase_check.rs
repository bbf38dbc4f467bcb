//! The checks of a phase without a GPU, for programs.

use ncugate_judge::architectures::ArchitectureGap;
use ncugate_judge::kernel_ratchet::LibraryResources;
use ncugate_judge::{GroupKind, StaticCheck, StaticGroup, VariantFacts};
use ncugate_model::{BuildOutcome, BuildRecord, CleanText, Level, Verdict};
use ncugate_phase::plan::{Plan, Variant, VariantRole};
use serde::Serialize;
use std::io;

/// The result of `check` for a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PhaseCheck {
    /// The phase's file.
    pub config: String,
    /// How it ended: `pass`, `fail`, `inconclusive`.
    pub outcome: &'static str,
    pub candidates: usize,
    pub baselines: usize,
    /// The target architecture; none if nothing was built.
    pub arch: Option<String>,
    /// Notes, one sentence each.
    pub notes: Vec<String>,
    /// Problems that belong to no gate.
    pub problems: Vec<String>,
    /// Preconditions and gates that could be judged.
    pub judged: Vec<StaticVerdict>,
    /// Gates that could not be judged, and the missing inputs. The names of tiers, stages and the fallback precede those
    /// of their gates.
    pub not_judged: Vec<(String, String)>,
    pub builds: Vec<VariantBuild>,
    /// The variants that were built, as kernels.
    #[serde(skip)]
    pub built: LibraryResources,
    /// What a variant lost on one of several architectures; with the last of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<ArchitectureGap>,
}

/// A precondition or a gate that could be judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StaticVerdict {
    pub name: CleanText,
    /// The owner of the gate: `tier 'minimum'`, `stage 'one'` or `fallback`; none for a gate of the phase and for a
    /// precondition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Whether a failure fails the phase.
    pub level: Level,
    pub verdict: Verdict,
    pub reason: CleanText,
}

/// How a variant was built.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantBuild {
    pub variant: String,
    /// `built`, `failed`, `refused` or `not needed`.
    pub outcome: &'static str,
    pub reason: Option<String>,
    /// Facts from build, launch and chip.
    #[serde(flatten)]
    pub facts: VariantFacts,
}

impl PhaseCheck {
    /// Adds the results of the builds.
    pub fn take_builds(&mut self, plan: &Plan, builds: &[BuildRecord]) {
        let row = |(variant, build): (&Variant, &BuildRecord)| {
            let (outcome, reason) = match &build.outcome {
                BuildOutcome::NotNeeded => ("not needed", None),
                BuildOutcome::Built { .. } => ("built", None),
                BuildOutcome::Failed { message } => ("failed", Some(message.clone())),
                BuildOutcome::Refused { reasons, .. } => ("refused", Some(reasons.join("\n"))),
            };
            VariantBuild { variant: variant.id.0.to_string(), outcome, reason, facts: VariantFacts::default() }
        };
        self.builds = plan.variants.iter().zip(builds).map(row).collect();
        self.candidates = plan.variants.iter().filter(|variant| variant.standing == VariantRole::Candidate).count();
    }

    /// Adds the gates and the facts of variants that the build decides.
    pub fn take_gates(&mut self, gates: &StaticCheck) {
        for group in &gates.groups {
            let of = (group.kind != GroupKind::Phase).then_some(&group.name);
            self.judged.extend(group.judged.iter().map(|gate| StaticVerdict {
                name: gate.name.clone(),
                of: of.cloned(),
                level: gate.level,
                verdict: gate.verdict,
                reason: gate.reason.clone(),
            }));
            self.not_judged.extend(group.unjudged.iter().map(|gate| {
                let name = of.map_or_else(|| gate.name.to_string(), |of| format!("{of}: {}", gate.name));
                (name, gate.reason.clone())
            }));
        }
        let is_optional = |group: &&StaticGroup| !group.required && group.kind != GroupKind::Fallback;
        let optional = gates.groups.iter().filter(is_optional);
        let out = optional
            .filter_map(|group| Some(format!("{} is out of reach: {}", group.name, group.impossible.as_ref()?)));
        self.notes.extend(out);
        self.notes.extend(gates.narrow.iter().cloned());
        self.problems.extend(gates.problems());
        self.notes.extend(gates.left());
        for (build, facts) in self.builds.iter_mut().zip(&gates.facts) {
            build.facts = facts.clone();
        }
    }
}

/// The variants of phases as CSV, a row each; a value that a variant does not have is empty.
///
/// # Errors
/// The table cannot be written.
pub fn csv(checks: &[PhaseCheck], out: &mut dyn io::Write) -> Result<(), csv::Error> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(HEAD.split(' '))?;
    for (check, build) in checks.iter().flat_map(|check| check.builds.iter().map(move |build| (check, build))) {
        let VariantFacts { shape, registers, spills, shared_mem, theoretical_occupancy, blocks_per_sm, limiters } =
            &build.facts;
        let shape = shape.as_ref().map(ToString::to_string).unwrap_or_default();
        let numbers = [registers, spills, shared_mem, theoretical_occupancy, blocks_per_sm];
        let cell = |value: &&Option<f64>| value.map_or_else(String::new, |number| number.to_string());
        let names = [&check.config, check.arch.as_deref().unwrap_or_default(), &build.variant, build.outcome];
        let names = names.into_iter().map(str::to_owned);
        let names = names.chain([shape]);
        table.write_record(names.chain(numbers.iter().map(cell)).chain([limiters.join(" ")]))?;
    }
    table.flush()?;
    Ok(())
}

const HEAD: &str =
    "config arch variant outcome shape registers spills shared_mem theoretical_occupancy blocks_per_sm limiters";

//! What each defect of an inversion phase did, out of a judged run: the file that [`SignatureBook`] reads.
//!
//! [`SignatureBook`]: crate::explain::SignatureBook

use super::rule_answers::with_diagnosis;
use crate::explain::{
    DeepProfiles, DefectSignature, Diagnosis, Finding, Inversion, MeasuredChip, MeasuredCost, RuleBook, SignatureBook,
    SignatureCounter,
};
use jiff::civil::Date;
use ncugate_judge::{Correctness, JudgeError, JudgedRun, PhaseRun};
use ncugate_model::VariantId;
use ncugate_model::disk::open;
use ncugate_model::stats::{Pairing, Resampler, compare};
use ncugate_phase::config::RuleKind;
use ncugate_phase::plan::{Method, Variant, VariantRole};
use std::path::Path;

/// Why a run says nothing of defects.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// It is not an inversion, or not measured.
    #[error("the run has no signatures: {0}")]
    None(&'static str),
    /// It cannot be read.
    #[error(transparent)]
    Judge(#[from] JudgeError),
}

/// Most bytes of a file of signatures.
const MAX_BYTES: u64 = 4 << 20;

/// Defects whose cost is known to a phase.
#[derive(Debug)]
pub struct KnownSignatures {
    /// Those of its own inversions, then those that ship.
    pub book: SignatureBook,
    /// Why inversions that it names cannot be read.
    pub problems: Vec<String>,
}

impl KnownSignatures {
    /// Reads the inversions that the phase of a run names; its paths are relative to the root of the project.
    pub fn of(session: &JudgedRun<'_>) -> Self {
        let phase = session.measurements().phase();
        let (mut own, mut problems) = (Vec::new(), Vec::new());
        for path in &phase.signatures {
            match own_inversion(&phase.root.join(path), session.today()) {
                Ok(inversion) => own.push(inversion),
                Err(reason) => problems.push(format!(
                    "findings are not compared with the signatures of {}, which cannot be read: {reason}",
                    path.display()
                )),
            }
        }
        Self { book: SignatureBook::shipped().with(own), problems }
    }
}

/// The inversion of a run's folder, or of a file that was written of one.
///
/// # Errors
/// Neither is there, or it is something else: why.
pub fn own_inversion(path: &Path, today: Date) -> Result<Inversion, String> {
    if path.is_dir() {
        let run = PhaseRun::load(path).map_err(|error| error.to_string())?;
        let session = JudgedRun::of_stored(&run, today).map_err(|error| error.to_string())?;
        return inversion(&session).map_err(|error| error.to_string());
    }
    let bytes = open::named(path, MAX_BYTES).map_err(|error| error.to_string())?;
    let text = open::text_of(bytes).map_err(|error| error.to_string())?;
    Inversion::parse(&text, RuleBook::shipped())
}

/// The defects of a run, at the shape of its objective: candidates that differ from the first baseline in one parameter or the flags, are
/// proven correct and slower than it, and that a rule names first.
///
/// # Errors
/// A run without a baseline, a GPU or such candidates, and one that cannot be read.
pub fn inversion(session: &JudgedRun<'_>) -> Result<Inversion, SignatureError> {
    let measured = session.measurements();
    let (phase, plan, run) = (measured.phase(), measured.plan(), measured.run());
    let gpu =
        run.manifest.fingerprint.gpu.as_ref().ok_or(SignatureError::None("it does not say which GPU measured"))?;
    let good = plan.baselines().next().ok_or(SignatureError::None("it has no baseline"))?;
    let kernel = match &good.method {
        Method::Kernel(kernel) => kernel.source.display().to_string(),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => {
            return Err(SignatureError::None("its baseline is not a kernel"));
        }
    };
    let deep = DeepProfiles::read(run, plan, measured.capability());
    let seen = measured.quantities().filled_from(&deep.quantities);
    let mut defects = with_diagnosis(session, &seen, &[], SignatureBook::shipped(), |diagnosis| {
        let candidates = plan.variants.iter().filter(|variant| variant.standing == VariantRole::Candidate);
        candidates.filter_map(|variant| defect(session, diagnosis, variant, good)).collect::<Vec<DefectSignature>>()
    })?;
    if defects.is_empty() {
        return Err(SignatureError::None("no candidate has one defect that the baseline lacks and that a rule names"));
    }
    defects.sort_by(|a, b| b.cost.percent.total_cmp(&a.cost.percent));
    Ok(Inversion {
        family: phase.name.clone(),
        kernel,
        shape: phase.objective.shape.0.to_string(),
        without: good.id.0.to_string(),
        chip: MeasuredChip {
            name: gpu.name.clone(),
            compute_capability: gpu.compute_capability.to_string(),
            sms: gpu.sms,
        },
        defects,
    })
}

fn defect(
    session: &JudgedRun<'_>,
    diagnosis: &Diagnosis<'_>,
    variant: &Variant,
    good: &Variant,
) -> Option<DefectSignature> {
    let measured = session.measurements();
    let shape = &measured.phase().objective.shape;
    let proven = |id: &VariantId| matches!(measured.correctness().get(id), Some(Correctness::Proven { .. }));
    if !proven(&variant.id) || !proven(&good.id) {
        return None;
    }
    let findings = diagnosis.findings(std::slice::from_ref(&variant.id));
    let is_cause = |found: &&Finding| &found.shape == shape && found.kind == RuleKind::Defect;
    let first = findings.iter().find(is_cause)?;
    first.saving.as_ref()?.pair.as_ref().filter(|pair| pair.variant == good.id)?;
    let (with, without) = (diagnosis.traits(&variant.id, shape), diagnosis.traits(&good.id, shape));
    let counters = DefectSignature::counters(&|name| without.get(name).copied(), &|name| with.get(name).copied());
    if counters.is_empty() {
        return None;
    }
    Some(DefectSignature {
        defect: variant.id.0.to_string(),
        rule: first.rule.clone(),
        cost: cost(session, &variant.id, &good.id)?,
        opposite: opposite(diagnosis.rules, &first.rule)?,
        counters: counters.into_iter().map(rounded).collect(),
    })
}

/// How much more time one variant takes than another, by the rounds in which both were timed.
fn cost(session: &JudgedRun<'_>, with: &VariantId, without: &VariantId) -> Option<MeasuredCost> {
    let measured = session.measurements();
    let (quantities, shape) = (measured.quantities(), &measured.phase().objective.shape);
    let (with, without) = (quantities.samples(with, shape)?, quantities.samples(without, shape)?);
    let ratio = compare(with, without, Pairing::Rounds, &Resampler::default()).ok()?.median_ratio;
    let percent = |ratio: f64| six_digits(100.0 * (ratio - 1.0));
    Some(MeasuredCost {
        percent: percent(ratio.value),
        low: percent(ratio.interval.low),
        high: percent(ratio.interval.high),
    })
}

/// The first advice of a rule that names no number of the kernel at hand.
fn opposite(rules: &RuleBook, id: &str) -> Option<String> {
    let rule = rules.rules().iter().find(|rule| rule.id == id)?;
    let plain = rule.advice.iter().find(|advice| advice.names().is_empty())?;
    Some(plain.text().to_owned())
}

fn rounded(counter: SignatureCounter) -> SignatureCounter {
    let (without, with) = (six_digits(counter.without), six_digits(counter.with));
    SignatureCounter { without, with, ..counter }
}

/// What a file needs: six significant digits.
fn six_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(5 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

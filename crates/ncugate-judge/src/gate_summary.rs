//! Summarizes the cases of a judged gate: the deciding case in numbers and words, and the number of cases that hold.

use super::results::{Case, GateResult, SampleOrigin};
use ncugate_model::number::{self, Number};
use ncugate_model::{CleanText, Scope, ShapeName, VariantId, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

/// The case that decided a gate, and its cases by verdict.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct GateSummary {
    /// Why, next to the numbers of the same gate: `short by 1.311`.
    pub why: CleanText,
    /// The judged variants and the number of cases that hold, unless only the selected variant is judged.
    pub scope_note: Option<CleanText>,
    /// Measured value of the case that decided.
    pub measured: Option<Number>,
    /// Its limit.
    pub limit: Option<Number>,
    /// Shape and limit of every case of the variant that decided.
    pub limits: Vec<(ShapeName, Number)>,
    /// Distance inside the limit; negative outside.
    pub margin: Option<Number>,
    /// Margin over limit, held to -1 to 1.
    pub margin_share: Option<f64>,
    /// Interval of the difference between measured and limit, added to the limit: the gate is decided if the limit is
    /// outside. It is not an interval of the measured value, whose noise may be common to both sides.
    pub interval: Option<(Number, Number)>,
    /// Samples behind the measured value.
    pub samples: usize,
    /// Origin of the samples: the sweep, which selects the variant, or the confirmation, taken after the selection; null if
    /// the gate reads no samples of the run.
    pub judged_by: Option<SampleOrigin>,
    /// Variant that decided.
    pub variant: Option<VariantId>,
    /// Shape that decided.
    pub shape: Option<ShapeName>,
    /// Cases by verdict.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Cases by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Counts {
    /// Cases that pass.
    #[serde(rename = "passing")]
    pub pass: usize,
    /// Cases that fail.
    #[serde(rename = "failing")]
    pub fail: usize,
    /// Cases that are inconclusive.
    pub inconclusive: usize,
}

impl Counts {
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Pass => &mut counts.pass,
                Verdict::Fail => &mut counts.fail,
                Verdict::Inconclusive => &mut counts.inconclusive,
            } += 1;
        }
        counts
    }
}

impl GateSummary {
    pub fn of(gate: &GateResult) -> Self {
        let counts = Counts::of(gate.cases.iter().map(|case| case.outcome.verdict));
        let Some(case) = gate.deciding_case() else {
            let (why, scope_note) = (gate.reason.clone(), scope_note(gate, counts, None));
            return Self { why, scope_note: scope_note.map(CleanText::from), counts, ..Self::default() };
        };
        let outcome = &case.outcome;
        let finite = |value: Option<f64>| value.filter(|v| v.is_finite());
        let (limit, margin) = (finite(outcome.limit), finite(outcome.margin));
        let own = gate.cases.iter().filter(|other| other.variant == case.variant);
        Self {
            why: why(gate, case).into(),
            scope_note: notes(scope_note(gate, counts, Some(case)), outcome.origin).map(CleanText::from),
            measured: finite(outcome.measured).map(Number::new),
            limit: limit.map(Number::new),
            limits: own.filter_map(|own| Some((own.shape.clone(), Number::new(finite(own.outcome.limit)?)))).collect(),
            margin: margin.map(Number::new),
            margin_share: margin.zip(limit).map(|(margin, limit)| share(margin, limit)),
            interval: outcome.interval.map(|(low, high)| (Number::new(low), Number::new(high))),
            samples: outcome.samples,
            judged_by: outcome.origin,
            variant: Some(case.variant.clone()),
            shape: Some(case.shape.clone()),
            counts,
        }
    }
}

/// `on each, decided at mission; 88 pass, 2 fail`; `None` if only the selected variant is judged.
fn scope_note(gate: &GateResult, counts: Counts, deciding: Option<&Case>) -> Option<String> {
    let scope = match &gate.on {
        Scope::Selected => return None,
        scope @ (Scope::Each | Scope::Any | Scope::Matching(_) | Scope::Best(_)) => scope,
    };
    let decided = deciding.map_or_else(String::new, |case| format!(", decided at {}", case.shape));
    let open = match counts.inconclusive {
        0 => String::new(),
        open => format!(", {open} inconclusive"),
    };
    let pairs = gate.judged_pairs().map_or_else(String::new, |pairs| format!("; {pairs}"));
    Some(format!("on {scope}{decided}; {} pass, {} fail{open}{pairs}", counts.pass, counts.fail))
}

/// Notes on the scope and on the samples used.
fn notes(scope: Option<String>, origin: Option<SampleOrigin>) -> Option<String> {
    let samples = origin.map(|origin| match origin {
        SampleOrigin::Sweep => "judged by the sweep's samples".to_owned(),
        SampleOrigin::Confirmation => "judged by the confirmation's samples".to_owned(),
    });
    let notes: Vec<String> = scope.into_iter().chain(samples).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The reason, shortened if the row already shows variant, measured value and limit.
fn why(gate: &GateResult, deciding: &Case) -> String {
    if deciding.outcome.verdict != gate.verdict {
        return gate.reason.to_string();
    }
    let undecided = gate.undecided().map_or_else(String::new, |undecided| format!("; {undecided}"));
    match &gate.on {
        Scope::Selected | Scope::Best(_) => why_selected(gate, deciding) + &undecided,
        Scope::Each | Scope::Matching(_) if gate.verdict == Verdict::Pass => {
            let variants = gate.cases.chunk_by(|a, b| a.variant == b.variant).count();
            format!("holds for {}", number::counted(variants, "variant"))
        }
        Scope::Each | Scope::Any | Scope::Matching(_) if gate.verdict == Verdict::Fail => {
            // The note on the scope names a single variant.
            let is_named = gate.on.to_string() == deciding.variant.0.as_str();
            let who = if is_named { String::new() } else { format!("{}: ", deciding.variant) };
            missed(gate, deciding).map_or_else(|| gate.reason.to_string(), |missed| format!("{who}{missed}{undecided}"))
        }
        Scope::Each | Scope::Any | Scope::Matching(_) => gate.reason.to_string(),
    }
}

fn why_selected(gate: &GateResult, case: &Case) -> String {
    let shapes = gate.cases.iter().filter(|c| c.variant == case.variant).count();
    match case.outcome.verdict {
        Verdict::Pass if shapes == 1 => format!("holds at shape {}", case.shape),
        Verdict::Pass => format!("holds at {}", number::counted(shapes, "shape")),
        _ => match missed(gate, case) {
            Some(missed) => format!("{missed} at shape {}", case.shape),
            None => gate.reason_of(case).unwrap_or_else(|| gate.reason.to_string()),
        },
    }
}

/// How a case that fails misses its limit: `short by 1.311`; none without numbers.
fn missed(gate: &GateResult, case: &Case) -> Option<String> {
    let outcome = &case.outcome;
    let (measured, limit, margin) = (outcome.measured?, outcome.limit?, outcome.margin?);
    let by = number::distance(margin.abs(), &gate.unit);
    (outcome.verdict == Verdict::Fail).then(|| match measured.total_cmp(&limit) {
        std::cmp::Ordering::Less => format!("short by {by}"),
        std::cmp::Ordering::Equal => "exactly at the limit".to_owned(),
        std::cmp::Ordering::Greater => format!("over by {by}"),
    })
}

/// Margin divided by limit, clamped to -1 to 1; for a limit of zero, the sign of the margin.
fn share(margin: f64, limit: f64) -> f64 {
    if limit == 0.0 {
        return if margin == 0.0 { 0.0 } else { margin.signum() };
    }
    (margin / limit.abs()).clamp(-1.0, 1.0)
}

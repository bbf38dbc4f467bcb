//! Go/no-go conditions on workload and chip.

use super::context::{capability, dtype};
use super::results::PreconditionResult;
use ncugate_model::number::counted;
use ncugate_model::{ComputeCapability, Verdict};
use ncugate_phase::config::{Phase, Precondition, Shape};

/// Judges the go/no-go conditions on dimensions of every shape, `dtype` of the first input, and `cc`.
pub fn preconditions(phase: &Phase, cc: Option<ComputeCapability>) -> Vec<PreconditionResult> {
    phase.gate_plan.preconditions.iter().map(|precondition| judged(precondition, phase, cc)).collect()
}

fn judged(precondition: &Precondition, phase: &Phase, cc: Option<ComputeCapability>) -> PreconditionResult {
    let shapes = &phase.workload.shapes;
    let found: Vec<(Verdict, String)> = shapes.iter().map(|shape| at_shape(precondition, phase, cc, shape)).collect();
    let verdict = Verdict::all(found.iter().map(|(verdict, _)| *verdict));
    let reason = match (verdict, found.into_iter().find(|(other, _)| *other == verdict)) {
        (Verdict::Pass, _) => format!("held at {}", counted(shapes.len(), "shape")),
        (_, Some((_, reason))) => reason,
        (_, None) => "the phase has no shape".to_owned(),
    };
    let condition = precondition.condition.text().into();
    PreconditionResult { name: precondition.name.clone(), condition, verdict, reason: reason.into() }
}

fn at_shape(
    precondition: &Precondition,
    phase: &Phase,
    cc: Option<ComputeCapability>,
    shape: &Shape,
) -> (Verdict, String) {
    let mut names = shape.scope();
    names.extend(cc.map(|cc| ("cc".to_owned(), capability(cc))));
    names.extend(dtype(phase, shape).map(|dtype| ("dtype".to_owned(), dtype)));
    match precondition.condition.eval_bool(&names) {
        Ok(true) => (Verdict::Pass, String::new()),
        Ok(false) => (Verdict::Fail, format!("'{}' is false at shape '{}'", precondition.condition, shape.name)),
        Err(error) => (Verdict::Inconclusive, format!("{error}, at shape '{}'", shape.name)),
    }
}

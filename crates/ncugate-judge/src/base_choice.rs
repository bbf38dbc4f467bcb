//! Selects the variant that represents the base: its only variant, or the best one by the objective, ranked like
//! candidates.

use super::context::EvalContext;
use super::results::Judgement;
use ncugate_model::{Better, VariantId};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::is_of_base;

/// The base variant, by the measurements so far.
///
/// # Errors
/// No variant can represent the base; the message says why.
pub fn base_in(context: &EvalContext<'_>) -> Result<usize, String> {
    let phase = context.phase;
    if let Some(reason) = phase.base.as_ref().and_then(|base| base.absent()) {
        return Err(reason);
    }
    let variants = context.plan.variants.iter().enumerate();
    let all: Vec<usize> = variants.filter(|(_, variant)| is_of_base(phase, &variant.id)).map(|(at, _)| at).collect();
    match (all.as_slice(), context.ranked(&all).first()) {
        ([], _) => Err("no variant of the base is measured".to_owned()),
        ([only], _) | (_, Some(only)) => Ok(*only),
        (several, None) => Err(format!("none of the {} variants of the base is correct and measured", several.len())),
    }
}

/// The base variant of a finished judgement. `None` if no variant of the base is correct and measured.
pub fn base_of(phase: &Phase, judgement: &Judgement) -> Option<VariantId> {
    let all = judgement.variants.iter().filter(|result| is_of_base(phase, &result.variant));
    let measured = all.filter_map(|result| Some((result, result.objective?)));
    let best = measured.min_by(|(a, first), (b, second)| {
        let by_value = match phase.objective.better {
            Better::Higher => second.total_cmp(first),
            Better::Lower | Better::Context => first.total_cmp(second),
        };
        let by_doubt = a.doubt.is_some().cmp(&b.doubt.is_some());
        by_doubt.then(by_value).then_with(|| a.variant.cmp(&b.variant))
    });
    best.map(|(result, _)| result.variant.clone())
}

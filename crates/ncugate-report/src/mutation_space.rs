//! The parameters that an agent can change, and how far.

use super::sweep::sweep;
use indexmap::IndexMap;
use ncugate_judge::JudgedRun;
use ncugate_model::ShapeName;
use ncugate_model::expr::Value;
use ncugate_model::stats::Resampler;
use serde::Serialize;

/// Parameters by name, in the order of the phase.
pub type MutationSpace = IndexMap<String, ParameterRange>;

/// The values of a parameter.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ParameterRange {
    /// The values of the sweep, else those of the candidates.
    pub values: Vec<Value>,
    /// The next value beyond the end of the range, if the best variant has the value at that end and it is clearly better
    /// than its neighbour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend_to: Option<Value>,
}

/// The mutation space of a run, with the edges that its sweep found at a shape.
pub fn mutation_space(session: &JudgedRun<'_>, shape: &ShapeName, resampler: &Resampler) -> MutationSpace {
    let measured = session.measurements();
    let (phase, plan) = (measured.phase(), measured.plan());
    let mut space: MutationSpace = IndexMap::new();
    for (name, values) in &phase.sweep.axes {
        space.insert(name.clone(), ParameterRange { values: values.clone(), extend_to: None });
    }
    for (name, value) in plan.candidates().flat_map(|variant| &variant.params) {
        let range = space.entry(name.clone()).or_default();
        if !phase.sweep.axes.iter().any(|(axis, _)| axis == name) && !range.values.contains(value) {
            range.values.push(value.clone());
        }
    }
    let results = (session.judgement(), measured.quantities());
    for edge in sweep(phase, plan, results, shape, resampler).edges {
        if let Some(range) = space.get_mut(edge.parameter.as_str()) {
            range.extend_to = beyond(&range.values, edge.value.as_str());
        }
    }
    space
}

/// The value that continues whole numbers beyond the one at an end: with their ratio if it is constant, else with the
/// step at that end. None unless the continuation is a positive whole number.
fn beyond(values: &[Value], end: &str) -> Option<Value> {
    let mut numbers = values.iter().map(Value::as_integer).collect::<Option<Vec<i64>>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    let end: i64 = end.parse().ok()?;
    if numbers.first() == Some(&end) {
        numbers.reverse();
    }
    let [.., beside, last] = numbers.as_slice() else { return None };
    if *last != end {
        return None;
    }
    let is_ratio = numbers.windows(2).all(|pair| pair[0].checked_mul(*last) == pair[1].checked_mul(*beside));
    let (product, step) = (last.checked_mul(*last)?, last.checked_sub(*beside)?);
    let next = match is_ratio && *beside != 0 && product % beside == 0 {
        true => product / beside,
        false => last.checked_add(step)?,
    };
    (next > 0).then_some(Value::Int(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(values: &[i64], end: i64) -> Option<i64> {
        let values: Vec<Value> = values.iter().copied().map(Value::Int).collect();
        beyond(&values, &end.to_string())?.as_integer()
    }

    #[test]
    fn a_range_continues_with_its_ratio_or_with_its_last_step() {
        assert_eq!(next(&[16, 32, 64], 64), Some(128));
        assert_eq!(next(&[64, 16, 32], 16), Some(8));
        assert_eq!(next(&[32, 64], 32), Some(16));
        assert_eq!(next(&[64, 72, 80, 88, 96], 96), Some(104));
        assert_eq!(next(&[128, 192, 256], 256), Some(320));
        assert_eq!(next(&[128, 192, 256], 128), Some(64));
        assert_eq!((next(&[1, 2, 3], 1), next(&[1, 2, 4], 1)), (None, None));
        assert_eq!((next(&[16, 32, 64], 32), next(&[16], 16), next(&[0, 1], 0)), (None, None, None));
        assert_eq!(beyond(&[Value::Text("off".into()), Value::Text("on".into())], "on"), None);
    }
}
